# Worktrees of --isolate and the workbench that goes with them, at the places where flower has them outside.
# shellcheck shell=sh

# The name of a folder's project in flower's state folder: its characters but letters and digits as `-`; of a
# long one the beginning and a number. Fails for a path whose characters can be written in several ways, of
# which flower takes one that no shell can compute.
project_key() { # FOLDER
    {
        if [ "$(uname -s)" = Darwin ]; then
            printf '%s' "$1" | iconv -f UTF-8-MAC -t UTF-8
        else
            printf '%s' "$1"
        fi
    } | od -An -v -tu1 | LC_ALL=C awk '
        function shown(c) {
            if (c >= 48 && c <= 57) return c - 48
            if (c >= 65 && c <= 90) return substr("ABCDEFGHIJKLMNOPQRSTUVWXYZ", c - 64, 1)
            if (c >= 97 && c <= 122) return substr("abcdefghijklmnopqrstuvwxyz", c - 96, 1)
            return "-"
        }
        { for (i = 1; i <= NF; i++) byte[count++] = $i }
        END {
            for (at = 0; at < count;) {
                c = byte[at++]
                more = c < 128 ? 0 : c < 192 ? -1 : c < 224 ? 1 : c < 240 ? 2 : 3
                if (more < 0) exit 3
                if (more > 0) c -= more == 1 ? 192 : more == 2 ? 224 : 240
                for (; more > 0; more--) {
                    if (byte[at] < 128 || byte[at] > 191) exit 3
                    c = c * 64 + byte[at++] - 128
                }
                # Marks that belong to the letter before them.
                if (c >= 768 && c <= 879) exit 3
                key = key shown(c)
                hash = (hash * 31 + c) % 4294967296
            }
            if (length(key) > 200) {
                if (hash >= 2147483648) hash = 4294967296 - hash
                for (digits = ""; hash > 0 || digits == ""; hash = int(hash / 36))
                    digits = substr("0123456789abcdefghijklmnopqrstuvwxyz", hash % 36 + 1, 1) digits
                key = substr(key, 1, 200) "-" digits
            }
            print key
        }'
}

# Maps a folder of these at its own path, unless the project shows it already.
map_place() { # FOLDER ro|rw
    for folder in "$project" "$second"; do
        if [ -n "$folder" ] && inside "$1" "$folder"; then
            return
        fi
    done
    check_path "the folder" "$1"
    map "$1" "$1" "$2"
    places="$places$1$newline"
}

trees=
desk=
places=
map_isolation() {
    place=${workspace:-$here}
    case ${XDG_STATE_HOME:-} in
        /*) state=$XDG_STATE_HOME ;;
        *) state=${HOME:-}/.local/state ;;
    esac
    if ! key=$(project_key "$place"); then
        [ "$isolate" = no ] || fail "--isolate: $place has characters in its name that cannot be mapped"
        return
    fi
    trees=$state/flower/worktrees/$key
    if [ "$isolate" = yes ]; then
        really make_folder "$trees"
        really chmod 0700 "$trees" || :
    fi
    if [ -d "$trees" ]; then
        # git writes down where a worktree is, and in the box there are no links on the way.
        trees=$(real_folder "$trees")
        case $trees in
            */flower/worktrees/"$key") state=${trees%/flower/worktrees/"$key"} ;;
            *) fail "$state/flower/worktrees leads elsewhere by a link; set XDG_STATE_HOME to the place itself" ;;
        esac
    fi
    beside=$(dirname "$place")
    beside=${beside%/}/.flower-$(basename "$place")
    away=$state/flower/workbenches/$key
    if [ "$isolate" = yes ]; then
        if [ -e "$beside" ] || { [ -w "$(dirname "$place")" ] && [ ! -e "$away" ]; }; then
            desk=$beside
        else
            desk=$away
        fi
        really make_folder "$desk"
    fi
    if [ "$isolate" = yes ] || [ -d "$trees" ]; then
        map_place "$trees" rw
    fi
    for folder in "$beside" "$away"; do
        if [ "$folder" = "$desk" ]; then
            map_place "$folder" rw
        elif [ -d "$folder" ]; then
            # A brief at the other place is only told.
            map_place "$folder" ro
        fi
    done
    if [ -n "$places" ]; then
        add -e "XDG_STATE_HOME=$state"
    fi
}
if [ "$works" = yes ]; then
    map_isolation
fi

# What was made for nothing goes again.
leave_no_empty_place() {
    if [ "$isolate" = yes ]; then
        rmdir "$trees" "$desk" 2>/dev/null || :
    fi
}
