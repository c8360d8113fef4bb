# A private folder for this run, what a signal does, and what a killed wrapper left.
# shellcheck shell=sh

if [ -n "${XDG_RUNTIME_DIR:-}" ] && [ -w "${XDG_RUNTIME_DIR:-}" ] && [ "$(uname -s)" = Linux ]; then
    rooms=$XDG_RUNTIME_DIR/flowerbox
else
    # In the home folder, which every engine's machine can see.
    rooms=${XDG_STATE_HOME:-${HOME:?is not set}/.local/state}/flower/box
fi
check_path "the private folder" "$rooms/run"
name=$(uname -n).$$
container=flowerbox-$name
room_shown=$rooms/$name

room=      # Removed at the end.
contained= # There is, or may be, a container of ours.
client=    # What is waited for.
stage=     # What it is.
asked=     # The code of the signal that has asked for an end.

# Waits for the program in the background that $client names, and leaves its code in $code. A shell hears of
# a signal only while it waits like this, not while a program runs in the foreground.
wait_for_client() {
    while :; do
        code=0
        wait "$client" || code=$?
        # A signal ends the waiting, not what is waited for.
        kill -0 "$client" 2>/dev/null || break
    done
    # Some shells have collected it by themselves in between and tell its code only now; others know it no more.
    again=0
    wait "$client" 2>/dev/null || again=$?
    if [ "$again" != 127 ]; then
        code=$again
    fi
    client=
    if [ "$stage" != run ] && [ -n "$asked" ]; then
        exit "$asked"
    fi
}

pass_on() { # SIGNAL CODE
    if [ -z "$client" ]; then
        exit "$2"
    elif [ "$stage" = run ]; then
        "$engine" kill --signal "$1" "$container" >/dev/null 2>&1 || kill -s "$1" "$client" 2>/dev/null || :
    else
        asked=$2
        kill -s TERM "$client" 2>/dev/null || :
    fi
}

finish() {
    if [ -n "$contained" ]; then
        "$engine" rm "$container" >/dev/null 2>&1 ||
            { "$engine" stop "$container" && "$engine" rm -f "$container"; } >/dev/null 2>&1 || :
    fi
    if [ -n "$room" ]; then
        rm -rf "$room"
    fi
}

# A killed wrapper could remove neither its folder nor its container, and may not have ended the box.
clear_room() { # ROOM
    left=flowerbox-${1##*/}
    if [ "$("$engine" inspect --format '{{.State.Running}}' "$left" 2>/dev/null)" = true ]; then
        say "a box goes on whose flowerbox was killed; '$engine stop $left' ends it"
        return
    fi
    "$engine" rm "$left" >/dev/null 2>&1 || :
    rm -rf "$1"
}

# Runs something only when it is meant.
really() {
    [ "$dry" = yes ] || "$@"
}

# Writes what comes in to a file of the private folder.
keep() { # FILE
    (umask 077 && cat >"$1") 2>/dev/null || fail "$1 cannot be written; is the disk full?"
}

if [ "$dry" = no ]; then
    # Before there is anything to remove.
    trap finish EXIT
    trap 'pass_on HUP 129' HUP
    trap 'pass_on INT 130' INT
    trap 'pass_on TERM 143' TERM
    for old in "$rooms/$(uname -n)".*; do
        if [ -d "$old" ] && [ "$old" != "$room_shown" ] && ! kill -0 "${old##*.}" 2>/dev/null; then
            clear_room "$old"
        fi
    done
    rm -rf "$room_shown"
    (umask 077 && mkdir -p "$rooms" && mkdir "$room_shown") 2>/dev/null ||
        fail "the private folder $room_shown cannot be made; is the disk full?"
    room=$room_shown
fi
