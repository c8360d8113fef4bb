# Layout: how a row and the total are printed.

print_row() {
    printf '%6d %6d  %s\n' "$1" "$2" "$3"
}

# print_total FILES LINES WORDS
print_total() {
    if [ "$1" -gt 2 ]; then
        print_row "$2" "$3" total
    fi
}
