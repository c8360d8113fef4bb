# Limits of the box, by default.
# shellcheck shell=sh

memory=${FLOWERBOX_MEMORY:-}
if [ -z "$memory" ]; then
    # Three quarters of the engine's machine, in MiB since shells count in 64 bits at best.
    case $machine_memory in
        '' | *[!0-9]*) memory=4g ;;
        *) memory=$((machine_memory * 3 / 4194304))m ;;
    esac
fi
case $machine_cpus in
    '' | *[!0-9]*) machine_cpus=1 ;;
esac
add --read-only --cap-drop=ALL --security-opt=no-new-privileges
add --pids-limit="${FLOWERBOX_PIDS:-1024}" --memory="$memory" --cpus="${FLOWERBOX_CPUS:-$machine_cpus}"
size=${FLOWERBOX_TMP:-1g}
add --tmpfs "/tmp:exec,nosuid,nodev,mode=1777,size=$size"
if [ "$kind" = podman ]; then
    # It knows no owner of a tmpfs; nobody else is in the box.
    add --tmpfs "/home/flower:exec,nosuid,nodev,mode=1777,size=$size"
else
    add --tmpfs "/home/flower:exec,nosuid,nodev,mode=0700,uid=${who%%:*},gid=${who##*:},size=$size"
fi
add --user "$who" --hostname=flowerbox --stop-timeout=20 --pull=never
if [ "$FLOWERBOX_NETWORK" = none ]; then
    add --network=none
elif [ "$works" = yes ]; then
    say "the network is open: what runs in the box reaches every host that this machine reaches (FLOWERBOX_NETWORK=none closes it)"
fi
selinux=
if [ "$(cat /sys/fs/selinux/enforce 2>/dev/null)" = 1 ]; then
    selinux=,z
fi

map() { # SOURCE TARGET ro|rw
    add -v "$1:$2:$3$selinux"
}
