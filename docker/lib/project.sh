# The project, its git folder, and the folder of records.
# shellcheck shell=sh

# Maps a project at its own path; its git folder is a mount of its own, or `mv .git` would get around what
# keeps its configuration and hooks as they are.
map_project() {
    map "$1" "$1" rw
    git_folder=$(git_folder_of "$1")
    if [ -z "$git_folder" ]; then
        return
    fi
    check_path "the git folder" "$git_folder"
    map "$git_folder" "$git_folder" rw
    if [ -f "$1/.git" ]; then
        map "$1/.git" "$1/.git" ro
        own_folder=$(cd "$1" && cd "$(sed -n 's/^gitdir: //p' .git | head -n 1)" && pwd -P)
        if [ -f "$own_folder/commondir" ]; then
            map "$own_folder/commondir" "$own_folder/commondir" ro
        fi
    fi
    if [ ! -f "$git_folder/config" ] && [ "$dry" = no ]; then
        : >"$git_folder/config"
        own "$git_folder/config"
    fi
    really make_folder "$git_folder/hooks"
    if [ "$FLOWERBOX_GIT_CONFIG" = ro ]; then
        for part in config hooks; do
            map "$git_folder/$part" "$git_folder/$part" ro
        done
        if [ ! -f "$git_folder/config.worktree" ] && [ "$dry" = no ] &&
            grep -qi worktreeconfig "$git_folder/config"; then
            : >"$git_folder/config.worktree"
            own "$git_folder/config.worktree"
        fi
        if [ -f "$git_folder/config.worktree" ]; then
            map "$git_folder/config.worktree" "$git_folder/config.worktree" ro
        fi
    fi
}
map_project "$project"
if [ -n "$second" ]; then
    map_project "$second"
fi
if ! inside "$here" "$project" && ! { [ -n "$second" ] && inside "$here" "$second"; }; then
    map "$here" "$here" rw
fi

# What git or a shell runs by itself: one line of sum and path a file.
self_running() {
    for folder in "$project" "$second"; do
        [ -n "$folder" ] || continue
        git_folder=$(git_folder_of "$folder")
        if [ -z "$git_folder" ]; then
            continue
        fi
        hooks=$(sed -n 's/^[[:space:]]*[Hh]ooks[Pp]ath[[:space:]]*=[[:space:]]*//p' "$git_folder/config" 2>/dev/null | head -n 1)
        case $hooks in
            '' | /* | '~'*) hooks=$git_folder/hooks ;;
            *) hooks=$folder/$hooks ;;
        esac
        {
            find "$git_folder/config" "$git_folder/config.worktree" "$git_folder/commondir" \
                "$git_folder/hooks" "$hooks" -type f || :
            find "$git_folder/modules" -type f \( -name config -o -path '*/hooks/*' \) || :
            find "$git_folder/worktrees" -type f -name config.worktree || :
            # Those that lead to another repository than this one.
            find "$git_folder/worktrees" -type f -name commondir -exec grep -Lx '\.\./\.\.' {} + || :
            if [ -n "$trees" ]; then
                find "$trees" -mindepth 2 -maxdepth 2 -name .git -type f \
                    -exec grep -LF "gitdir: $git_folder/worktrees/" {} + || :
                find "$trees" -mindepth 3 -maxdepth 3 -path '*/.git/config' -type f || :
            fi
        } 2>/dev/null | LC_ALL=C sort -u | while IFS= read -r file; do
            printf '%s %s\n' "$(cksum <"$file")" "$file"
        done
        printf 'git %s\n' "$git_folder"
    done
}

# The records lie outside the project for flower, and nowhere for the agent's tools.
if [ "$works" = yes ]; then
    really make_folder "$run_dir"
fi
if [ "$works" = yes ] || [ -d "$run_dir" ]; then
    map "$run_dir" /var/lib/flower/runs rw
    if inside "$run_dir" "$project" || { [ -n "$second" ] && inside "$run_dir" "$second"; }; then
        really mkdir -p "$room_shown/empty"
        map "$room_shown/empty" "$run_dir" ro
    fi
    add -e FLOWER_RUN_DIR=/var/lib/flower/runs
fi
