# The image, built where it is missing or of another source.
# shellcheck shell=sh

present=$("$engine" image inspect --format '{{ index .Config.Labels "flower.source-hash" }}' "$image" 2>/dev/null) || present=none
if [ -f "$checkout/Cargo.toml" ] && [ -x "$checkout/docker/build" ]; then
    wanted=$("$checkout/docker/build" --hash)
    build=no
    if [ "$present" = none ]; then
        build=yes
    elif [ "$present" != "$wanted" ] && [ -z "${FLOWER_IMAGE:-}" ]; then
        build=yes
    elif [ "$present" != "$wanted" ]; then
        # An image with a name of its own may hold more than ours, and is its owner's to build.
        say "the image $image is not of this source; docker/build or your own Dockerfile makes it anew"
    fi
    if [ "$build" = yes ] && [ "$dry" = no ]; then
        say "building the image $image"
        stage=build
        FLOWERBOX_ENGINE=$engine FLOWER_IMAGE=$image "$checkout/docker/build" </dev/null &
        client=$!
        wait_for_client
        # It has said why.
        [ "$code" = 0 ] || exit 1
    fi
elif [ "$present" = none ]; then
    fail "there is no image $image, and no source in $checkout to build it from"
fi
