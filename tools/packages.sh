#!/bin/sh
# packages.sh - install missing packages among the named Debian packages, without asking.
installed() { dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null | grep -qx installed; }
apt() { $sudo env DEBIAN_FRONTEND=noninteractive apt-get -qq -y "$@" </dev/null; }

missing=
for package; do installed "$package" || missing="$missing $package"; done
[ -z "$missing" ] && exit 0

if ! command -v apt-get >/dev/null; then
    echo "make: this is not Debian; if the build fails, install what these packages hold:$missing" >&2
    exit 0
fi
sudo=
if [ "$(id -u)" -ne 0 ]; then
    sudo=sudo
    if ! command -v sudo >/dev/null; then
        echo "make: neither root nor sudo; ask an administrator to run: apt-get install$missing" >&2
        exit 1
    fi
fi
echo "installing$missing" >&2
# Update the package lists only if the installation fails with the present ones.
apt install --no-install-recommends $missing >/dev/null 2>&1 && exit 0
apt update && apt install --no-install-recommends $missing >/dev/null && exit 0
echo "make: could not install$missing" >&2
exit 1
