#!/bin/sh
# Suite: each case compares what wordcount prints with what it should print.
# usage: sh test.sh [BEGINNING OF CASE NAMES]
cd "$(dirname -- "$0")" || exit 2
home=$(pwd)
room=$(mktemp -d) || exit 2
trap 'rm -rf "$room"' EXIT
cd "$room" || exit 2

only=${1-}
cases=0
failed=0

# check NAME EXPECTED FILE...: runs wordcount on the files.
check() {
    name=$1
    expected=$2
    shift 2
    case $name in
    "$only"*) ;;
    *) return 0 ;;
    esac
    cases=$((cases + 1))
    actual=$(sh "$home/wordcount" "$@" 2>&1) && code=0 || code=$?
    actual=$(printf '%s\nexit %d' "$actual" "$code")
    if [ "$actual" = "$expected" ]; then
        echo "ok    $name"
    else
        failed=$((failed + 1))
        echo "FAIL  $name"
        printf '%s\n' "$expected" | sed 's/^/      expected: /'
        printf '%s\n' "$actual" | sed 's/^/      actual:   /'
    fi
}

printf 'one two\nthree\n' >a.txt
printf 'four\tfive  six\n' >b.txt
printf 'seven\neight' >c.txt
: >empty.txt

check lines-with-newlines '     2      3  a.txt
exit 0' a.txt
check lines-last-without-newline '     2      2  c.txt
exit 0' c.txt
check lines-of-an-empty-file '     0      0  empty.txt
exit 0' empty.txt
check words-between-tabs-and-spaces '     1      3  b.txt
exit 0' b.txt
check total-of-two-files '     2      3  a.txt
     1      3  b.txt
     3      6  total
exit 0' a.txt b.txt
check total-of-three-files '     2      3  a.txt
     1      3  b.txt
     0      0  empty.txt
     3      6  total
exit 0' a.txt b.txt empty.txt
check missing-file 'wordcount: nowhere.txt: no such file
     2      3  a.txt
exit 1' nowhere.txt a.txt

echo "$cases cases, $failed failed"
[ "$cases" -gt 0 ] && [ "$failed" -eq 0 ]
