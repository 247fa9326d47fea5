#!/bin/sh
# include_direction.sh - ROOT: check that layers include only what ARCHITECTURE.md allows, and that no folders include
# each other in a cycle.
cd "$1" || exit 1
failed=0

# layer FOLDER REGEX: the includes of FOLDER's files, as written, must match the extended regular expression.
layer() {
    bad=$(grep -nEr --include='*.[ch]' --include='*.def' '^[[:space:]]*#[[:space:]]*include "' "$1" |
        grep -vE "include \"($2)\"")
    [ -z "$bad" ] && return
    printf '%s may not include:\n%s\n' "$1" "$bad"
    failed=1
}
layer include    'centimani\.h'
layer src/base   'centimani\.h|base/[a-z_]+\.h'
layer src/device 'centimani\.h|base/[a-z_]+\.h|device/[a-z_/]+\.(h|def)'
layer src/graph  'centimani\.h|base/[a-z_]+\.h|graph/[a-z_/]+\.(h|def)'
layer src/import 'centimani\.h|base/[a-z_]+\.h|graph/[a-z_/]+\.(h|def)|import/[a-z_/]+\.(h|def)'
layer src/model  'centimani\.h|base/[a-z_]+\.h|graph/[a-z_/]+\.(h|def)|device/[a-z_/]+\.(h|def)|model/[a-z_/]+\.(h|def)'
layer src/model/dispatch 'centimani\.h|base/[a-z_]+\.h|graph/[a-z_/]+\.(h|def)|device/[a-z_/]+\.(h|def)|model/dispatch/[a-z_]+\.h'
layer src/plan   'centimani\.h|base/[a-z_]+\.h|graph/[a-z_/]+\.(h|def)|device/[a-z_/]+\.(h|def)|model/[a-z_/]+\.(h|def)|plan/[a-z_]+\.h'
layer src/validate 'centimani\.h|base/[a-z_]+\.h|graph/[a-z_/]+\.h|device/[a-z_/]+\.h|model/(question|time/roofline)\.h|validate/[a-z_]+\.h'
layer src/bench  'centimani(_backend)?\.h|base/[a-z_]+\.h|device/[a-z_/]+\.(h|def)|model/dispatch/dispatch\.h|bench/[a-z_/]+\.(h|def)'
layer src/rank   'graph/(runtimes|training/options)\.h|centimani\.h|base/[a-z_]+\.h|device/[a-z_/]+\.h|model/[a-z_/]+\.h|rank/[a-z_]+\.h'
layer src/job    'centimani\.h|base/[a-z_]+\.h|graph/graph\.h|device/[a-z_/]+\.h|model/[a-z_/]+\.h|plan/search\.h|rank/(close|parallel|where)\.h|job/[a-z_]+\.h'
layer src/timeline 'centimani\.h|base/[a-z_]+\.h|device/[a-z_/]+\.(h|def)|timeline/[a-z_]+\.(h|def)'
layer src/serve  'base/[a-z_]+\.h|report/html/html\.h|serve/[a-z_]+\.h'
layer src/report 'centimani\.h|base/[a-z_]+\.h|report/[a-z_/]+\.h'
layer src/bench/backends/cuda 'centimani_backend\.h|base/[a-z_]+\.h|bench/backends/cuda/[a-z_/]+\.h'
layer cli        'centimani\.h|base/(file|text)\.h|report/report\.h|serve/serve\.h|cli\.h|answer\.h|mcp\.h|values\.h|options\.def'
# No folder has more than 32 C files: more are divided into rooms.
many=$(find src cli tests tools bench examples -name '*.c' | sed 's:/[^/]*$::' | sort | uniq -c | awk '$1 > 32')
[ -n "$many" ] && printf 'folders with too many files:\n%s\n' "$many" && failed=1
# Subfolders of one layer must not include each other in a cycle.
python3 tools/include_rooms.py src/device src/graph src/import src/model src/bench src/report || failed=1
exit $failed
