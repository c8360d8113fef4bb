# What the user adds: FLOWERBOX_MOUNTS and FLOWERBOX_ARGS.
# shellcheck shell=sh

add_mount() {
    line=$1
    mode=ro
    case $line in
        *:ro) line=${line%:ro} ;;
        *:rw)
            mode=rw
            line=${line%:rw}
            ;;
    esac
    source=${line%%:*}
    target=${line#*:}
    case $target in
        *:*) misused "FLOWERBOX_MOUNTS: $1: a mount is SOURCE[:TARGET][:ro|:rw]" ;;
        /*) ;;
        *) misused "FLOWERBOX_MOUNTS: $1: both paths must be absolute, and the only options are ro and rw" ;;
    esac
    case $source in
        /*) ;;
        *) misused "FLOWERBOX_MOUNTS: $1: both paths must be absolute" ;;
    esac
    case /$source$target/ in
        */../* | */./*) misused "FLOWERBOX_MOUNTS: $1: write the paths without . and .." ;;
    esac
    if [ ! -e "$source" ]; then
        misused "FLOWERBOX_MOUNTS: there is no $source"
    fi
    if [ -d "$source" ]; then
        physical=$(real_folder "$source")
    else
        physical=$(real_folder "$(dirname "$source")")/$(basename "$source")
    fi
    if [ -S "$source" ] || [ -b "$source" ] || [ -c "$source" ]; then
        misused "FLOWERBOX_MOUNTS: $source is a socket or a device, which would open the box"
    fi
    if refused "$physical" || refused "$target"; then
        misused "FLOWERBOX_MOUNTS: $1: this place is not mapped"
    fi
    for folder in "$project" "$second" "$trees" "$desk"; do
        if [ -n "$folder" ] && { inside "$target" "$folder" || inside "$folder" "$target"; }; then
            misused "FLOWERBOX_MOUNTS: $1: this would hide the project or its fences"
        fi
    done
    map "$physical" "$target" "$mode"
}
while IFS= read -r line; do
    if [ -n "$line" ]; then
        add_mount "$line"
    fi
done <<END
${FLOWERBOX_MOUNTS:-}
END

set -f
for word in ${FLOWERBOX_ARGS:-}; do
    case $word in
        --network=host | --network=container:* | --network=ns:*)
            misused "FLOWERBOX_ARGS: $word would open the box"
            ;;
        --network=?*)
            [ "$FLOWERBOX_NETWORK" = open ] || misused "FLOWERBOX_ARGS: $word contradicts FLOWERBOX_NETWORK=none"
            ;;
        --add-host=?* | --dns=?* | --dns-search=?* | --gpus=?* | --shm-size=?* | --ulimit=?* | --label=?* | --platform=?*) ;;
        *) misused "FLOWERBOX_ARGS: $word is not among --network= --add-host= --dns= --dns-search= --gpus= --shm-size= --ulimit= --label= --platform=" ;;
    esac
    add "$word"
done
set +f
