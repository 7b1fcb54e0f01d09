#!/bin/sh
# Build once a night at NIGHTLY_AT (default 02:30, in the time zone TZ); arguments are those of `tree-builder build`.
# NIGHTLY_NOW=1 builds at the start as well. A missed night is not made up for: the next run sees all changes anyway.
set -eu

child=
stop() {
    [ -z "$child" ] || kill -TERM "$child" 2>/dev/null || true
    [ -z "$child" ] || wait "$child" || true
    exit 143
}
trap stop TERM INT

build() {
    code=0
    tree-builder build "$@" &
    child=$!
    wait "$child" || code=$?
    child=
    case "$code" in
        0) echo "nightly: published" ;;
        3) echo "nightly: published, some documents failed: see tree-builder status" >&2 ;;
        4) echo "nightly: wrong settings, nothing was tried; correct them" >&2 ;;
        75) echo "nightly: another run has the corpus, left to it" ;;
        *) echo "nightly: nothing published (exit code $code); the next night tries again" >&2 ;;
    esac
}

[ "${NIGHTLY_NOW:-0}" = 0 ] || build "$@"
while :; do
    now=$(date +%s)
    next=$(date -d "today ${NIGHTLY_AT:-02:30}" +%s)
    [ "$next" -gt "$now" ] || next=$(date -d "tomorrow ${NIGHTLY_AT:-02:30}" +%s)
    sleep $((next - now)) &
    child=$!
    wait "$child"
    child=
    build "$@"
done
