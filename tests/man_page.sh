#!/bin/sh
# man_page.sh - PAGE: check that the page formats without a warning, mentions every option, and lists common ones first.
page=$1
root=$(dirname "$page")/..
command -v man >/dev/null || { echo "man is not installed (Debian: man-db, groff)"; exit 1; }
warnings=$(LC_ALL=C.UTF-8 MANWIDTH=100 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null)
[ -z "$warnings" ] || { echo "$warnings"; exit 1; }
status=0
for option in $(sed -n 's/^OPT("\(--[a-z-]*\)".*/\1/p' "$root/cli/options.def"); do
    grep -q -- "$(echo "$option" | sed 's/-/\\\\-/g')" "$page" || { echo "$page does not tell of $option"; status=1; }
done
# Options that most users need come first.
first=$(sed -n '/^\.SH DESCRIPTION/,/^\.SH MORE OPTIONS/p' "$page")
for option in $(tr '\n' ' ' <"$root/cli/options.def" | sed 's/OPT("/\n&/g' | sed -n 's/^OPT("\(--[a-z-]*\)".*FOR_MOST.*/\1/p'); do
    echo "$first" | grep -q -- "$(echo "$option" | sed 's/-/\\\\-/g')" || { echo "$page does not list $option in OPTIONS"; status=1; }
done
exit $status
