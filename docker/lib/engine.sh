# Docker or podman, and who one is in the box.
# shellcheck shell=sh

engine=${FLOWERBOX_ENGINE:-}
if [ -z "$engine" ]; then
    for candidate in docker podman; do
        if command -v "$candidate" >/dev/null; then
            engine=$candidate
            break
        fi
    done
    [ -n "$engine" ] || fail "neither docker nor podman is installed; flower also runs without a box"
elif ! command -v "$engine" >/dev/null; then
    fail "FLOWERBOX_ENGINE: there is no program $engine"
fi
case $("$engine" --version 2>/dev/null) in
    *podman*) kind=podman ;;
    *) kind=docker ;;
esac
if [ "$kind" = podman ]; then
    about='{{.Host.CPUs}}|{{.Host.MemTotal}}|rootless={{.Host.Security.Rootless}}'
else
    about='{{.NCPU}}|{{.MemTotal}}|{{.SecurityOptions}}{{.OperatingSystem}}'
fi
if ! facts=$("$engine" info --format "$about" 2>&1); then
    fail "$engine does not answer; is its daemon running? It says: $(printf '%s\n' "$facts" | tail -n 1)"
fi
machine_cpus=${facts%%|*}
machine_memory=${facts#*|}
machine_memory=${machine_memory%%|*}

caller=$(id -u)
owner=$(owner_of "$project")
case $kind:$facts in
    podman:*rootless=true*)
        add --userns=keep-id
        who=$caller:$(id -g)
        ;;
    docker:*name=rootless*) who=0:0 ;;
    docker:*'Docker Desktop'*) who=$caller:$(id -g) ;;
    *)
        if [ "$(uname -s)" = Darwin ]; then
            who=$caller:$(id -g)
        else
            who=$owner
            if [ "${owner%%:*}" != "$caller" ]; then
                say "$project belongs to user ${owner%%:*}, so the box runs as that user"
            fi
        fi
        ;;
esac
