# What was asked: leaves the words for flower in "$@", with the paths of the box.
# shellcheck shell=sh

image=${FLOWER_IMAGE:-flowerbox}

dry=no
if [ "${1:-}" = --dry-run ]; then
    dry=yes
    shift
fi

here=$(pwd -P) || fail "the current directory is gone"
command=
object=
isolate=no
run_dir=
workspace=
count=$#
verbatim=no
skip_value=no
while [ "$count" -gt 0 ]; do
    word=$1
    shift
    count=$((count - 1))
    value=
    if [ "$verbatim" = yes ]; then
        set -- "$@" "$word"
        continue
    fi
    case $word in
        --) verbatim=yes ;;
        -r | --run-dir | -w | --workspace)
            [ "$count" -gt 0 ] || misused "$word needs a folder"
            value=$1
            shift
            count=$((count - 1))
            ;;
        --run-dir=* | --workspace=*) value=${word#*=} ;;
        -r?* | -w?*)
            value=${word#-?}
            value=${value#=}
            ;;
        -[vW]*[rw]*) misused "$word: write -r and -w apart from other flags" ;;
        -h | --help | -V | --version)
            # Only in front of a command: behind one they may belong to it, and it matters no more.
            [ -n "$command" ] || command=help
            ;;
        -b | --output | --budget | --max-turns | --max-time | --engine | --lang | --color)
            if [ -z "$command" ]; then
                skip_value=yes
                set -- "$@" "$word"
                continue
            fi
            ;;
        --isolate) isolate=yes ;;
        -*) ;;
        *)
            if [ -z "$command" ] && [ "$skip_value" = no ]; then
                case $word in
                    go | once | run | demo | config | gate | setup | doctor | sessions | report | completions | help)
                        command=$word
                        ;;
                    *) command=go ;;
                esac
            elif [ "$skip_value" = no ]; then
                object=${object:-$word}
            fi
            ;;
    esac
    skip_value=no
    case $word in
        -r* | --run-dir | --run-dir=*)
            [ -n "$value" ] || misused "-r needs a folder"
            run_dir=$value
            set -- "$@" -r /var/lib/flower/runs
            ;;
        -w* | --workspace | --workspace=*)
            [ -n "$value" ] || misused "-w needs a folder"
            [ "$dry" = yes ] || mkdir -p "$value" || fail "the workspace $value cannot be made"
            workspace=$(real_folder "$value") || fail "the workspace $value is no folder"
            set -- "$@" -w "$workspace"
            ;;
        *) set -- "$@" "$word" ;;
    esac
done
command=${command:-go}
case $command in
    go | once | run) works=yes ;;
    *) works=no ;;
esac

case ${FLOWERBOX_NETWORK:=open} in
    open | none) ;;
    *) misused "FLOWERBOX_NETWORK is open or none, not $FLOWERBOX_NETWORK" ;;
esac
case ${FLOWERBOX_GIT_CONFIG:=ro} in
    ro | rw) ;;
    *) misused "FLOWERBOX_GIT_CONFIG is ro or rw, not $FLOWERBOX_GIT_CONFIG" ;;
esac

project=$(project_of "$here")
check_path "the project" "$project"
if [ -n "$workspace" ] && ! inside "$workspace" "$project"; then
    second=$(project_of "$workspace")
    check_path "the workspace" "$second"
else
    second=
fi

run_dir=${run_dir:-runs}
case $run_dir in
    /*) ;;
    *) run_dir=$here/$run_dir ;;
esac
if [ -d "$run_dir" ]; then
    run_dir=$(real_folder "$run_dir")
elif [ -d "$(dirname "$run_dir")" ]; then
    run_dir=$(real_folder "$(dirname "$run_dir")")/$(basename "$run_dir")
fi
check_path "the run folder" "$run_dir"
case $run_dir/ in
    */../* | */./*) fail "the run folder $run_dir: write it without . and .., since its parent does not exist yet" ;;
esac
for folder in "$project" "$second" "$here"; do
    if [ -n "$folder" ] && inside "$folder" "$run_dir"; then
        fail "the run folder $run_dir holds the project; records need a folder of their own"
    fi
done
