# How the wrapper speaks, and how it writes words of a command.
# shellcheck shell=sh

say() { printf 'flowerbox: %s\n' "$*" >&2; }
fail() {
    say "$*"
    exit 1
}
misused() {
    say "$*"
    exit 2
}

# A word as a shell reads it back, in $quoted.
quote() {
    case $1 in
        *\'*) quoted=\'$(printf '%s' "$1" | sed "s/'/'\\\\''/g")\' ;;
        '' | *[!A-Za-z0-9_./:=,@%+-]*) quoted=\'$1\' ;;
        *) quoted=$1 ;;
    esac
}

options=
add() {
    for word; do
        quote "$word"
        options="$options $quoted"
    done
}
