#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""merge_tables.py TABLES.json NEW.json...

Adds the kernel tables of other profiles to those of a profile with the same runtime and device, in place. A call that
both contain keeps the newer time. Rows are sorted, so that the result does not depend on the order of the runs.
"""
import json
import pathlib
import sys

KEY = ("runtime", "op", "pass", "variant", "dtype")


def merged(tables, new):
    """Add the rows of `new` to `tables`, a dict by key; returns the number of new rows and of replaced ones."""
    added = replaced = 0
    for table in new:
        key = tuple(table[k] for k in KEY)
        into = tables.setdefault(key, {**table, "rows": []})
        count = len(into["dims"])
        rows = {tuple(row[:count]): row for row in into["rows"]}
        for row in table["rows"]:
            replaced += tuple(row[:count]) in rows
            added += tuple(row[:count]) not in rows
            rows[tuple(row[:count])] = row
        into["rows"] = [rows[sizes] for sizes in sorted(rows)]
        into["date"] = max(into["date"], table["date"])
    return added, replaced


def written(profile, tables):
    """One line per table, as in the files of data/kernels."""
    def dump(value):
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    parts = []
    for name, value in profile.items():
        if name == "kernels":
            rows = ",\n".join(dump(tables[key]) for key in sorted(tables))
            parts.append(f'"kernels":[\n{rows}\n]')
        else:
            parts.append(f"{dump(name)}:{dump(value)}")
    return "{" + ",\n".join(parts) + "}\n"


def main():
    path, *others = map(pathlib.Path, sys.argv[1:])
    profile = json.loads(path.read_text())
    tables = {tuple(t[k] for k in KEY): t for t in profile["kernels"]}
    for other in others:
        new = json.loads(other.read_text())
        added, replaced = merged(tables, new["kernels"])
        print(f"{other}: {added} new rows, {replaced} replaced")
    path.write_text(written(profile, tables))


if __name__ == "__main__":
    main()
