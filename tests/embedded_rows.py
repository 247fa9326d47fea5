# SPDX-License-Identifier: Apache-2.0
"""embedded_rows.py - ROOT: tools/embed.py writes every row of a kernel table unchanged, and refuses rows that it cannot store."""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = sys.argv[1]
CALLS, TRENDS = os.path.join(ROOT, "src/device/calls.def"), os.path.join(ROOT, "data/trends.json")
LARGE = [0, 255, 256, 65535, 65536, 2**24 - 1, 2**24, 2**32, 2**40, 2**56, 2**63 - 1]
TIMES = [1e-9, 6.4e-7, 9.999e-7, 9.9999e-7, 1e-6, 1.234e-6, 9.999e-6, 1e-5, 1.2345e-5, 0.9999, 2.535, 2.536, 1e5]


def embed(paths, folder):
    out = os.path.join(folder, "out.c")
    run = subprocess.run([sys.executable, os.path.join(ROOT, "tools/embed.py"), "kernels", out, CALLS, TRENDS] + paths,
                         capture_output=True, text=True)
    if run.returncode:
        return None, run.stderr
    with open(out, encoding="utf-8") as file:
        return file.read(), ""


MEMBERS = re.compile(r", (?P<n_rows>\d+), \d+, \{\{[\d, ]+\}\}, (?P<sorted>[01]), [01], (?P<row_bytes>\d+), \{(?P<widths>[\d, ]+)\}, (?P<sizes>\w+), (?P<shapes>\w+), "
                     r"(?P<time_s>\w+), (?P<times>\w+), (?P<launches>\w+), (?P<many>\w+)\},$", re.M)


def time_of(number):
    """As cm__short_time() in src/device/kernels.c."""
    above = number - 10000
    return number / 1e10 if above < 0 else (1000 + above % 9000) / 10 ** (9 - above // 9000)


def sizes_of(data, widths):
    at = iter(data)
    return [sum(next(at) << 8 * byte for byte in reversed(range(width))) for width in widths]


def read_back(text):
    """Rows of each table in the C text: sizes from bytes, times, counts of kernels."""
    arrays = {name: values.split(",") for name, values in re.findall(r"^static const \w+ (\w+)\[\] = \{([^{}]*)\};$", text, re.M)}
    tables = []
    for found in MEMBERS.finditer(text):
        n_rows, row_bytes = int(found["n_rows"]), int(found["row_bytes"])
        widths, data = [int(width) for width in found["widths"].split(",")], list(map(int, arrays[found["sizes"]]))
        shapes = list(range(n_rows)) if found["shapes"] == "NULL" else list(map(int, arrays[found["shapes"]]))
        launches = arrays[found["many"] if found["launches"] == "NULL" else found["launches"]]
        times = [time_of(int(x)) for x in arrays[found["times"]]] if found["time_s"] == "NULL" else \
                [float(x.rstrip("f")) for x in arrays[found["time_s"]]]
        rows = [sizes_of(data[shape * row_bytes:(shape + 1) * row_bytes], widths) + [times[row], int(launches[row])]
                for row, shape in enumerate(shapes)]
        if sum(widths) != row_bytes or len(data) % row_bytes or not len(rows) == len(times) == len(launches) == n_rows:
            sys.exit(f"{found[0]}: {len(data)} bytes, {len(rows)} rows, {len(times)} times, {len(launches)} counts")
        if (found["sorted"] == "1") != (rows == sorted(rows, key=lambda row: row[:-2])):
            sys.exit(f"{found[0]}: sorted: {found['sorted']}")
        tables.append(rows)
    return tables


def table(rows, op="gemm"):
    return {"runtime": "torch-eager", "op": op, "pass": "forward", "variant": "nn", "dtype": "bf16", "kind": "measured",
            "source": "test", "date": "2026-11", "rows": rows}


def profile(folder, tables):
    path = os.path.join(folder, "in.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"base": "a-device", "kernels": tables, "sources": {"test": {"software": {"torch": "2.11"}}}}, file)
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
        made += [table([[at, 1, time, 1] for at, time in enumerate(TIMES)], "softmax")] + [table([[1, 1, time, 1]], "softmax") for time in TIMES]
        alike = [table([[900, 901, 902, 903, 1e-6, 1], [900 + i, 901, 902, 903, 2e-6, 2]]) for i in range(1, 4)]
        rows = 0
        for tables in made, alike, alike[:1]:
            rows += check_same([t["rows"] for t in tables], read_back(embed(profile(folder, tables), folder)[0]), "made rows")
        if ["_shapes" in embed(profile(folder, tables), folder)[0] for tables in (alike, alike[:1])] != [True, False]:
            sys.exit("shapes are not shared exactly where this takes fewer bytes")
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
