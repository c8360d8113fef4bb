# Harmless settings, which are variables of the container.
# shellcheck shell=sh

for name in TERM COLORTERM NO_COLOR COLUMNS LINES CI FLOWER_LANG FLOWER_WINDOW FLOWER_ENGINE FLOWER_NO_PROBE \
    FLOWER_NO_UPDATE FLOWER_NO_HANDOVER FLOWER_TRUST_PROJECT; do
    eval "value=\${$name+set}"
    if [ -n "$value" ]; then
        add -e "$name"
    fi
done
# The box has one locale, and a shell complains about any other in LC_ALL.
locale=${LC_ALL:-${LC_MESSAGES:-${LANG:-}}}
if [ -n "$locale" ]; then
    add -e "LANG=$locale" -e LC_CTYPE=C.UTF-8
fi
keys=0
git_setting() {
    add -e "GIT_CONFIG_KEY_$keys=$1" -e "GIT_CONFIG_VALUE_$keys=$2"
    keys=$((keys + 1))
}
git_setting safe.directory "$project"
if [ -n "$second" ]; then
    git_setting safe.directory "$second"
fi
if [ "$FLOWERBOX_GIT_CONFIG" = ro ]; then
    # It would write into the configuration, and every `git worktree add` and `git branch` would fail.
    git_setting branch.autoSetupMerge false
fi
if command -v git >/dev/null; then
    for name in user.name user.email; do
        value=$(git config --global --get "$name" 2>/dev/null) || value=
        if [ -n "$value" ]; then
            git_setting "$name" "$value"
        fi
    done
fi
add -e "GIT_CONFIG_COUNT=$keys"
