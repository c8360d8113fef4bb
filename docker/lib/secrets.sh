# Keys and settings of the user, as files for flower alone; it finds them in /run/flower, each as what it is.
#   env           what the environment held: counts as the environment of flower
#   named.env     the file that FLOWER_ENV names
#   project.env   the project's .env where that holds a key; what tools see of it has none
#   config/ claude/ checkout/   the user's folder, Claude Code's settings, the checkout's .env
# shellcheck shell=sh

box=$room_shown/box
make_box() {
    (umask 077 && mkdir -p "$box/config" "$box/claude" "$box/checkout") 2>/dev/null ||
        fail "$box cannot be made; is the disk full?"
}
really make_box
map "$box" /run/flower ro

# A value in the form that every reader of such files reads the same way.
env_line() { # NAME VALUE
    case $2 in
        *"$newline"*) fail "$1 has a line break, which a file of settings cannot hold" ;;
        [\'\"]* | *[\'\"]) fail "$1 begins or ends with a quote, which a file of settings cannot hold" ;;
        *[!A-Za-z0-9_./:@%+=,-]*)
            case $2 in
                *\'*) printf '%s="%s"\n' "$1" "$2" ;;
                *) printf "%s='%s'\n" "$1" "$2" ;;
            esac
            ;;
        *) printf '%s=%s\n' "$1" "$2" ;;
    esac
}

environment_lines() {
    for name in $(env | sed -n 's/^\([A-Za-z_][A-Za-z0-9_]*\)=.*/\1/p' | LC_ALL=C sort -u); do
        case $name in
            FLOWER_ENV | FLOWER_HOME | FLOWER_IMAGE | FLOWER_BOX | FLOWER_RUN_DIR | FLOWER_SKIP_LOG | FLOWERBOX_*) ;;
            ANTHROPIC_* | CLAUDE_CODE_* | FLOWER_* | [a-z]*_proxy | [A-Z]*_PROXY)
                eval "value=\$$name"
                # shellcheck disable=SC2154 # Set by the line above.
                env_line "$name" "$value"
                ;;
        esac
    done
}
held=$(environment_lines) || exit 1
write_environment() { printf '%s\n' "$held" | keep "$box/env"; }
really write_environment

# A file of the user's: mapped, or copied where the box runs as somebody who may not read it.
lend() { # FILE NAME-IN-BOX
    [ -f "$1" ] || return 0
    if reads_as_caller; then
        really touch "$box/$2"
        map "$1" "/run/flower/$2" ro
    elif [ "$dry" = no ]; then
        [ -r "$1" ] || fail "$1 cannot be read"
        keep "$box/$2" <"$1"
    fi
}
reads_as_caller() { [ "${who%%:*}" = "$caller" ] || [ "$who" = 0:0 ]; }

# --- files of settings ------------------------------------------------------------------------------

# What a link leads to, so that one file is known as one.
real_file() { # FILE
    followed=$1
    while [ -L "$followed" ]; do
        link=$(readlink "$followed")
        case $link in
            /*) followed=$link ;;
            *) followed=$(dirname "$followed")/$link ;;
        esac
    done
    printf '%s/%s\n' "$(real_folder "$(dirname "$followed")")" "$(basename "$followed")"
}

own_env=
if [ -f "$here/.env" ]; then
    own_env=$(real_file "$here/.env")
fi
if [ -n "${FLOWER_ENV:-}" ]; then
    if [ ! -r "$FLOWER_ENV" ]; then
        say "FLOWER_ENV: $FLOWER_ENV cannot be read"
        add -e "FLOWER_ENV=$FLOWER_ENV"
    elif [ "$(real_file "$FLOWER_ENV")" = "$own_env" ]; then
        add -e "FLOWER_ENV=$here/.env"
    else
        lend "$(real_file "$FLOWER_ENV")" named.env
        add -e FLOWER_ENV=/run/flower/named.env
    fi
fi

# Keys in the project's own .env are for flower and not for the agent's tools, who get the file without
# them. A file that is in git is left as it is: what it holds is in the history, too.
tokens='ANTHROPIC_API_KEY|ANTHROPIC_AUTH_TOKEN|ANTHROPIC_CUSTOM_HEADERS|CLAUDE_CODE_OAUTH_TOKEN'
# A line that is switched off holds a key as well.
token_line="^[[:space:]#]*(export[[:space:]]+)?($tokens)[[:space:]]*="
hide_tokens() {
    [ -n "$own_env" ] || return 0
    seen=no
    if inside "$own_env" "$project" || { [ -n "$second" ] && inside "$own_env" "$second"; }; then
        LC_ALL=C grep -Eq "$token_line" "$own_env" || return 0
        seen=yes
    fi
    if [ "$seen" = yes ] && [ -n "$(git_folder_of "$project")" ] && command -v git >/dev/null &&
        git -C "$here" -c core.fsmonitor=false ls-files --error-unmatch .env >/dev/null 2>&1; then
        say ".env holds a token and is in git, so whatever runs in the box can read it"
        return
    fi
    lend "$own_env" project.env
    if [ "$seen" = yes ]; then
        really write_shown
        map "$room_shown/project.env" "$own_env" ro
    fi
}
write_shown() {
    { LC_ALL=C grep -Ev "$token_line" "$own_env" || :; } | keep "$room/project.env"
}
hide_tokens

lend "${HOME:-/nonexistent}/.claude/settings.json" claude/settings.json
lend "${HOME:-/nonexistent}/.claude/settings.local.json" claude/settings.local.json
if [ "$checkout/.env" != "$here/.env" ]; then
    lend "$checkout/.env" checkout/.env
fi
if [ -n "${SSL_CERT_FILE:-}" ] && [ -f "${SSL_CERT_FILE:-}" ]; then
    lend "$SSL_CERT_FILE" certificates.pem
    add -e SSL_CERT_FILE=/run/flower/certificates.pem
fi

# --- the user's folder ------------------------------------------------------------------------------

config=${XDG_CONFIG_HOME:-${HOME:-/nonexistent}/.config}/flower

# Is a key anywhere that flower looks for one? If not, it offers to set one up.
has_credentials() {
    credential='^[[:space:]]*(export[[:space:]]+)?(ANTHROPIC_API_KEY|ANTHROPIC_AUTH_TOKEN|FLOWER_GATE)[[:space:]]*=.'
    if printf '%s\n' "$held" | LC_ALL=C grep -Eq "$credential"; then
        return 0
    fi
    for file in "${FLOWER_ENV:-}" "$own_env" "$config/.env" "$checkout/.env"; do
        if [ -f "$file" ] && LC_ALL=C grep -Eq "$credential" "$file"; then
            return 0
        fi
    done
    for file in "${HOME:-}/.claude/settings.json" "${HOME:-}/.claude/settings.local.json"; do
        if [ -f "$file" ] && LC_ALL=C grep -Eq '"ANTHROPIC_(API_KEY|AUTH_TOKEN)"' "$file"; then
            return 0
        fi
    done
    return 1
}

lend_folder=ro
if [ "$command" = setup ] || { [ "$command" = config ] && [ "$object" = trust ]; } ||
    { [ "$works" = yes ] && [ -t 0 ] && ! has_credentials; }; then
    lend_folder=rw
fi
# Where the box runs as somebody else, that is a copy, and what it writes there is taken over at the end.
borrowed=
copy_folder() { # FOLDER
    (umask 077 && mkdir -p "$1" && cp -RL "$config/." "$1") 2>/dev/null || fail "$config cannot be read"
}
if [ "$lend_folder" = rw ]; then
    really make_folder_of_caller "$config"
    if reads_as_caller; then
        map "$config" /run/flower/config rw
    else
        borrowed=$room_shown/config
        really copy_folder "$borrowed"
        map "$borrowed" /run/flower/config rw
    fi
elif [ -d "$config" ]; then
    if reads_as_caller; then
        map "$(real_folder "$config")" /run/flower/config ro
    else
        really copy_folder "$box/config"
    fi
fi

take_over_folder() {
    [ -n "$borrowed" ] || return 0
    for file in "$borrowed"/* "$borrowed"/.[!.]*; do
        taken=$config/${file##*/}
        if [ -f "$file" ] && [ ! -L "$file" ] && ! cmp -s "$file" "$taken"; then
            (umask 077 && cp "$file" "$taken.$$" && mv "$taken.$$" "$taken") || say "$taken could not be written"
        fi
    done
}

give_room() {
    if [ "$caller" = 0 ] && [ "$who" != 0:0 ]; then
        chown -R "$who" "$room"
    elif ! reads_as_caller; then
        # Nobody outside gets through the folder above, which stays 0700.
        chmod -R a+rX "$room/box"
        [ ! -f "$room/project.env" ] || chmod a+r "$room/project.env"
        [ -z "$borrowed" ] || chmod -R a+rwX "$borrowed"
    fi
}
really give_room
