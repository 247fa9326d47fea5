# SPDX-License-Identifier: Apache-2.0
"""embedded_rows.py - ROOT: tools/embed.py writes every row of a kernel table as it is, and refuses rows that it cannot store."""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = sys.argv[1]
CALLS = os.path.join(ROOT, "src/device/calls.def")
LARGE = [0, 255, 256, 65535, 65536, 2**24 - 1, 2**24, 2**32, 2**40, 2**56, 2**63 - 1]


def embed(paths, folder):
    out = os.path.join(folder, "out.c")
    run = subprocess.run([sys.executable, os.path.join(ROOT, "tools/embed.py"), "kernels", out, CALLS] + paths,
                         capture_output=True, text=True)
    if run.returncode:
        return None, run.stderr
    with open(out, encoding="utf-8") as file:
        return file.read(), ""


def read_back(text):
    """Rows of each table as they are in the C text: sizes from bytes, times, counts of kernels."""
    arrays = {name: values.split(",") for name, values in re.findall(r"^static const \w+ (\w+)\[\] = \{([^{}]*)\};$", text, re.M)}
    tables = []
    for n_rows, is_sorted, row_bytes, widths, label in re.findall(r", (\d+), \d+, ([01]), (\d+), \{([\d, ]+)\}, (\w+)_sizes, ", text):
        widths, rows = [int(width) for width in widths.split(",")], []
        data, times, launches = (arrays[f"{label}_{name}"] for name in ("sizes", "times", "launches"))
        at = iter(map(int, data))
        for row in range(int(n_rows)):
            sizes = [sum(next(at) << 8 * byte for byte in reversed(range(width))) for width in widths]
            rows.append(sizes + [float(times[row].rstrip("f")), int(launches[row])])
        if sum(widths) != int(row_bytes) or len(data) != int(n_rows) * int(row_bytes):
            sys.exit(f"{label}: {len(data)} bytes, {n_rows} rows of {row_bytes} bytes, widths {widths}")
        if (is_sorted == "1") != (rows == sorted(rows, key=lambda row: row[:-2])):
            sys.exit(f"{label}: sorted: {is_sorted}")
        tables.append(rows)
    return tables


def table(rows, op="gemm"):
    return {"runtime": "torch-eager", "op": op, "pass": "forward", "variant": "nn", "dtype": "bf16", "kind": "measured",
            "source": "test", "date": "2026-11", "rows": rows}


def profile(folder, tables):
    path = os.path.join(folder, "in.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"base": "a-device", "kernels": tables}, file)
    return [path]


def check_same(wanted, found, what):
    if wanted != found:
        bad = next((i for i, (a, b) in enumerate(zip(wanted, found)) if a != b), None)
        sys.exit(f"{what}: {len(found)} tables, expected {len(wanted)}; the first that differs is {bad}")
    return sum(map(len, wanted))


def check_refused(folder, row, reason):
    text, errors = embed(profile(folder, [table([[1, 2, 3, 4, 1e-6, 1], row])]), folder)
    if text is not None or reason not in errors or "row 1" not in errors:
        sys.exit(f"{row}: expected a refusal with '{reason}', got {errors!r}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        made = [table([[a, b, 1, b, 2.5e-6, 65535], [1, 0, 7, a, 1.0, 0]]) for a in LARGE for b in LARGE] + [table([[3, 9, 1e-9, 1]], "softmax")]
        rows = check_same([t["rows"] for t in made], read_back(embed(profile(folder, made), folder)[0]), "made rows")
        files = sorted(glob.glob(os.path.join(ROOT, "data/kernels/*.json")))
        kept = []
        for path in files:
            with open(path, encoding="utf-8") as file:
                kept += [t["rows"] for t in json.load(file)["kernels"] if t["rows"]]
        rows += check_same(kept, read_back(embed(files, folder)[0]), "data/kernels")
        for row, reason in (([1, 2, 3, 2**63, 1e-6, 1], "a size"), ([1, -2, 3, 4, 1e-6, 1], "a size"), ([1, 2.5, 3, 4, 1e-6, 1], "a size"),
                            ([1, 2, 3, 1e-6, 1], "5 numbers"), ([1, 2, 3, 4, 0, 1], "a time"), ([1, 2, 3, 4, 1e6, 1], "a time"),
                            ([1, 2, 3, 4, 1e-6, 65536], "kernels"), ([1, 2, 3, 4, 1e-6, 1.5], "kernels")):
            check_refused(folder, row, reason)
        text, errors = embed(profile(folder, [table([[1, 2, 3, 4, 1e-6, 1]] * 65536)]), folder)
        if text is not None or "65536 rows" not in errors:
            sys.exit(f"a table of 65536 rows: {errors!r}")
    print(f"{rows} rows come back as they were; 9 tables are refused")


main()
