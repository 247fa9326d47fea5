#!/bin/sh
# install.sh - BUILD SOURCE: check that 'meson install' of BUILD is complete: the program runs, shells find its
# completions, man finds its page, and a small program builds with pkg-config and the static or the shared library.
set -e
build=$1 source=$2
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
DESTDIR=$root meson install -C "$build" --no-rebuild --quiet >/dev/null
find_one() { found=$(find "$root" -path "*$1" | head -1); [ -n "$found" ] || { echo "no $1 is installed"; exit 1; }; }

cat >"$root/small.c" <<'END'
#include <stdio.h>
#include <centimani.h>
int main(void)
{
    cm_ranking     *ranking;
    cm_rank_options options = {.devices = "nvidia-h200,nvidia-t4"};
    if (cm_rank("resnet18", &options, &ranking, NULL)) return 1;
    puts(cm_device_get_info(cm_ranking_entry(ranking, 0)->device)->id);
    cm_ranking_free(ranking);
    return 0;
}
END
find_one /pkgconfig/centimani.pc
PKG_CONFIG_PATH=$(dirname "$found"):$PKG_CONFIG_PATH
export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR="$root"
library=$(dirname "$(dirname "$found")")
expect() { [ "$2" = nvidia-h200 ] || { echo "$1 said '$2'"; exit 1; }; }

# shellcheck disable=SC2046 # flags must be split into words
cc "$root/small.c" -o "$root/shared" $(pkg-config --cflags --libs centimani)
expect 'with the shared library' "$(LD_LIBRARY_PATH=$library "$root/shared")"
rm "$library"/libcentimani.so*
# shellcheck disable=SC2046
cc "$root/small.c" -o "$root/archive" $(pkg-config --cflags --libs centimani)
expect 'with the archive' "$("$root/archive")"

find_one /bin/centimani
"$found" rank resnet18 --devices nvidia-h200,nvidia-t4 | grep -q '^best  *nvidia-h200'
find_one /man/man1/centimani.1
cmp "$found" "$source/man/centimani.1"
find_one /bash-completion/completions/centimani
bash -n "$found"
find_one /zsh/site-functions/_centimani
head -1 "$found" | grep -q '^#compdef centimani'
