# Looks whether the box sees what it must, runs it, and tells how it ended.
# shellcheck shell=sh

terminal=
if [ -t 0 ] && [ -t 1 ]; then
    terminal=-t
fi

if [ "$dry" = yes ]; then
    shown="$engine run --name $container -i${terminal:+ -t}$options"
    for word in -w "$here" "$image" "$@"; do
        quote "$word"
        shown="$shown $quoted"
    done
    printf '%s\n' "$shown"
    exit 0
fi

# Before money is spent: are these the folders that the box sees, and may its user write there?
probe() { # FOLDER-HERE FOLDER-IN-BOX, as many as there are
    mark=.flowerbox-probe.$$
    pairs=$#
    while [ "$pairs" -gt 0 ]; do
        (: >"$1/$mark") 2>/dev/null || fail "$1 cannot be written"
        own "$1/$mark"
        set -- "$@" "$1" "$2"
        shift 2
        pairs=$((pairs - 2))
    done
    stage=probe
    contained=yes
    # shellcheck disable=SC2016 # For the shell in the box.
    look='mark=$1; shift; while [ $# -gt 0 ]; do cd "$2" && echo seen | cat >"$mark" && mv "$mark" "$mark.seen" || exit 1; shift 2; done'
    eval "\"\$engine\" run --rm --name \"\$container\" --entrypoint /bin/sh $options -w \"\$here\" \"\$image\" -c \"\$look\" probe \"\$mark\" \"\$@\" >\"\$room/said\" 2>&1 </dev/null &"
    client=$!
    wait_for_client
    unseen=
    while [ $# -gt 0 ]; do
        if [ -f "$1/$mark.seen" ]; then
            rm -f "$1/$mark.seen"
        else
            rm -f "$1/$mark"
            unseen=${unseen:-$1}
        fi
        shift 2
    done
    if [ "$code" -ne 0 ] && [ -n "$unseen" ]; then
        fail "the box, which runs as user ${who%%:*}, cannot work in $unseen of user $(owner_of "$unseen"): $(tail -n 1 "$room/said")"
    elif [ -n "$unseen" ]; then
        fail "the engine's machine does not see $unseen; share it with that machine (colima start --mount $unseen:w)"
    fi
}
if [ "$works" = yes ]; then
    probed() {
        set -- "${workspace:-$here}" "${workspace:-$here}" "$run_dir" /var/lib/flower/runs
        if [ "$isolate" = yes ]; then
            set -- "$@" "$trees" "$trees" "$desk" "$desk"
        fi
        probe "$@"
    }
    probed
fi
self_running | keep "$room/before"

# Not `--rm`: what ended the box is asked afterwards.
stage=run
contained=yes
exec 3<&0
eval "\"\$engine\" run --name \"\$container\" -i \$terminal $options -w \"\$here\" \"\$image\" \"\$@\" <&3 &"
client=$!
wait_for_client
stage=ended

take_over_folder
leave_no_empty_place
# A file of this name in the git folder itself points git to another configuration, and a file that does not
# exist yet cannot be held by a mount. Moved away, it does nothing.
for folder in "$project" "$second"; do
    git_folder=
    [ -z "$folder" ] || git_folder=$(git_folder_of "$folder")
    if [ -n "$git_folder" ] && [ -e "$git_folder/commondir" ] && ! grep -qF "$git_folder/commondir" "$room/before"; then
        mv "$git_folder/commondir" "$git_folder/commondir.planted"
        say "$git_folder/commondir was made while the box ran and would lead git elsewhere; it is now commondir.planted"
    fi
done
self_running | keep "$room/after"
LC_ALL=C diff "$room/before" "$room/after" | sed -n 's/^[<>] [^/]*//p' | LC_ALL=C sort -u |
    while IFS= read -r file; do
        say "changed while the box ran, and run by git itself: $file"
    done

case $code in
    125) fail "$engine could not start the box (its code 125)" ;;
    126 | 127) fail "$engine could not run flower in the image $image (its code $code)" ;;
    137)
        if [ "$("$engine" inspect --format '{{.State.OOMKilled}}' "$container" 2>/dev/null)" = true ]; then
            fail "the box needed more than its limit of memory, $memory, and was killed (FLOWERBOX_MEMORY sets another)"
        fi
        fail "the box was killed from outside"
        ;;
esac
exit "$code"
