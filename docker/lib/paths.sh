# Folders: what may be mapped, whose they are, and where a repository has its git folder.
# shellcheck shell=sh

inside() { # PATH FOLDER: is it the folder, or in it
    case $1 in
        "$2" | "${2%/}"/*) return 0 ;;
        *) return 1 ;;
    esac
}

home_real=$(cd "${HOME:-/nonexistent}" 2>/dev/null && pwd -P) || home_real=/nonexistent

# A folder that must not be mapped: the box's own system would be hidden by it, or every key of the user's
# would be in the agent's reach.
refused() {
    case $1 in
        / | /usr | /usr/local | /usr/bin | /usr/bin/* | /usr/sbin | /usr/sbin/* | /usr/lib* | /usr/local/bin | /usr/local/bin/*) ;;
        /etc | /etc/* | /bin | /bin/* | /sbin | /sbin/* | /lib* | /boot | /boot/* | /proc | /proc/*) ;;
        /sys | /sys/* | /dev | /dev/* | /opt/flower | /opt/flower/* | /run | /run/flower | /run/flower/*) ;;
        /var | /var/run | /var/run/* | /var/lib | /var/lib/flower | /var/lib/flower/* | /tmp | /home/flower) ;;
        *) inside "$home_real" "$1" || return 1 ;;
    esac
}

newline='
'
check_path() { # WHAT PATH
    case $2 in
        *:*) fail "$1 $2: container engines cannot map a path with a colon" ;;
        *"$newline"*) fail "$1: a path with a line break cannot be mapped" ;;
    esac
    if refused "$2"; then
        fail "$1 $2: this folder is not mapped, since it holds more than a project; work in a folder of its own"
    fi
}

real_folder() { (cd "$1" && pwd -P); }

# The git folder that counts for FOLDER, also where `.git` is a file (a worktree, a submodule); empty for none.
git_folder_of() {
    if [ -d "$1/.git" ]; then
        printf '%s\n' "$1/.git"
    elif [ -f "$1/.git" ]; then
        (
            cd "$1"
            named=$(sed -n 's/^gitdir: //p' .git | head -n 1)
            cd "$named" 2>/dev/null || exit 0
            if [ -f commondir ]; then
                cd "$(cat commondir)" 2>/dev/null || exit 0
            fi
            pwd -P
        )
    fi
}

# The nearest folder with a `.git` that may be mapped, else the folder itself.
project_of() {
    folder=$1
    while [ "$folder" != / ]; do
        if [ -e "$folder/.git" ] && ! refused "$folder"; then
            printf '%s\n' "$folder"
            return
        fi
        folder=$(dirname "$folder")
    done
    printf '%s\n' "$1"
}

owner_of() { stat -c %u:%g "$1" 2>/dev/null || stat -f %u:%g "$1"; }

# Makes a folder that is to be mapped: an engine would make it as root.
make_folder() {
    if [ ! -d "$1" ]; then
        make_folder_of_caller "$1"
        own "$1"
    fi
}
make_folder_of_caller() {
    mkdir -p "$1" 2>/dev/null || fail "the folder $1 cannot be made; is the disk full, or may you not write there?"
}

own() {
    if [ "$caller" = 0 ] && [ "$who" != 0:0 ]; then
        chown "$who" "$1"
    fi
}
