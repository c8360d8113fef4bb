# Counting: how many lines and words a file has.

count_lines() {
    counted=0
    while IFS= read -r line; do
        counted=$((counted + 1))
    done <"$1"
    echo "$counted"
}

count_words() {
    awk '{ words += NF } END { print words + 0 }' "$1"
}
