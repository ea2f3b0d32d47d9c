#!/usr/bin/env bash
# What the tests of the study app need from the system: Chromium and PostgreSQL, from Debian's
# packages. Does nothing where both are there, and never fails: tests that miss one of them say so.
set -u

missing() {
    [ -x /usr/bin/chromium ] || echo chromium
    ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null 2>&1 \
        || echo postgresql
}

packages=$(missing | tr '\n' ' ')
[ -n "$packages" ] || exit 0

by_hand="  sudo apt-get install --no-install-recommends $packages"
if ! command -v apt-get >/dev/null 2>&1; then
    echo "make system: without apt-get, install these yourself: $packages(tests that need them are skipped)" >&2
    exit 0
fi
if [ "$(id -u)" != 0 ]; then
    printf 'make system: only root can install packages; tests that need them are skipped until\n%s\n' \
        "$by_hand" >&2
    exit 0
fi

echo "make system: installing $packages(once, a minute or two)"
export DEBIAN_FRONTEND=noninteractive
# PostgreSQL's package would start a server of its own; the tests start theirs.
settings=/etc/postgresql-common/createcluster.d
mkdir -p "$settings"
printf 'create_main_cluster = false\nstart_conf = manual\n' >"$settings/while-installing.conf"
log=$(mktemp)
trap 'rm -f "$log" "$settings/while-installing.conf"' EXIT
wait_for_others="-o DPkg::Lock::Timeout=120"
# shellcheck disable=SC2086  # words on purpose
if apt-get $wait_for_others update >"$log" 2>&1 \
    && apt-get $wait_for_others install --yes --no-install-recommends $packages >>"$log" 2>&1; then
    exit 0
fi
tail -n 15 "$log" >&2
printf 'make system: apt-get failed (see above); tests that need them are skipped until\n%s\n' \
    "$by_hand" >&2
exit 0
