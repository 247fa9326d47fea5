# SPDX-License-Identifier: Apache-2.0
"""embed.py - turn data/ into C.

usage: embed.py models OUT.c models.tsv FILE.net...      the table of models, each layer text as an array
       embed.py profiles OUT.c FOLDER/FILE.json...       devices/, clusters/ and schema/ as minified arrays
       embed.py results OUT.c FILE.json...               results/ as minified arrays
       embed.py loading OUT.c datasets.tsv hosts.tsv shares.tsv lookups.tsv   datasets, hosts, shares of link bandwidth, random reads
       embed.py scales OUT.c calls.def scales.json       scales of the interpolation, in the order of calls.def
       embed.py trends OUT.c calls.def trends.json       networks of the trends, in the order of calls.def
       embed.py rules OUT.c factors.tsv workspaces.tsv   numbers of the model as members of structs
       embed.py laws OUT.c calls.def kernel_laws.tsv     laws of kernel times, their expressions as functions
       embed.py releases OUT.c features.def releases.tsv   which release brought a feature
       embed.py defaults OUT.c class-defaults.tsv        members of profiles that the class decides
       embed.py tables OUT.c FILE.tsv...                 tables that are read at run time, because users may replace them
       embed.py web OUT.c FILE...                        files of the web pages, index.html as one document; chart.min.js becomes chart.js
       embed.py program OUT.S PROGRAM                    a program, to be embedded into the static one
       embed.py cuda OUT.c FILE.cu...                    sources that are compiled at run time
       embed.py kernels OUT.c calls.def trends.json FILE.json...   kernel tables as arrays of numbers, by their base device
"""
import base64
import hashlib
import itertools
import json
import os
import re
import sys

COLUMNS = ["id", "family", "title", "definition", "source"]
PASSES = ["forward", "backward", "bwd_input", "bwd_weight", "update"]


def c_string(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def read_models(path, texts):
    """Rows of the table; the first id of "gpt2|gpt2-small" is the model's, the others are aliases."""
    models, aliases, seen = [], [], set()
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            line = line.rstrip("\n")
            if not line or line.startswith("#"):
                continue
            cells = line.split("\t")
            if len(cells) != len(COLUMNS) or not all(cells):
                sys.exit(f"{path}:{number}: {len(cells)} cells, expected {len(COLUMNS)}, none empty: {', '.join(COLUMNS)}")
            names = cells[0].split("|")
            for name in names:
                if name in seen:
                    sys.exit(f"{path}:{number}: '{name}' is there already")
                seen.add(name)
            if cells[3].endswith(".net") and cells[3] not in texts:
                sys.exit(f"{path}:{number}: {cells[3]} is not in data/meson.build")
            aliases += [(name, len(models)) for name in names[1:]]
            models.append([names[0]] + cells[1:])
    return models, aliases


def byte_rows(data):
    """Write bytes above 127 as character constants, which work for signed and unsigned char."""
    for start in range(0, len(data), 20):
        yield "    " + ",".join(str(byte) if byte < 128 else f"'\\x{byte:02x}'" for byte in data[start:start + 20]) + ","


def write_array(out, name, data):
    out.write(f"static const char {name}[] = {{\n" + "\n".join(byte_rows(data)) + "\n    0};\n")


def write_models(out, models, aliases, texts):
    out.write("/* Made by tools/embed.py from data/models; do not edit. */\n#include \"import/embedded.h\"\n\n")
    out.write("const cm_model_info cm__embedded_models[] = {\n")
    for row in models:
        out.write("    {" + ", ".join(map(c_string, row)) + "},\n")
    out.write(f"}};\nconst int32_t cm__n_embedded_models = {len(models)};\n\n")
    out.write("const cm__alias cm__embedded_aliases[] = {\n")
    for name, index in aliases:
        out.write(f"    {{{c_string(name)}, {index}}},\n")
    out.write(f"    {{0, 0}},\n}};\nconst int32_t cm__n_embedded_aliases = {len(aliases)};\n\n")
    for index, data in enumerate(texts.values()):
        write_array(out, f"text_{index}", data)
    out.write("\nconst cm__embedded_text cm__embedded_texts[] = {\n")
    for index, (name, data) in enumerate(texts.items()):
        out.write(f"    {{{c_string(name)}, text_{index}, {len(data)}}},\n")
    out.write(f"    {{0, 0, 0}},\n}};\nconst int32_t cm__n_embedded_texts = {len(texts)};\n")


def embed_models(out_path, table, paths):
    texts = {}
    for path in paths:
        with open(path, "rb") as file:
            texts[os.path.basename(path)] = file.read()
        if not texts[os.path.basename(path)].isascii():
            sys.exit(f"{path}: only ASCII is allowed here")
    models, aliases = read_models(table, texts)
    with open(out_path, "w", encoding="utf-8") as out:
        write_models(out, models, aliases, texts)


def read_json(path):
    def unique(pairs):
        members = dict(pairs)
        if len(members) != len(pairs):
            sys.exit(f"{path}: a member is there twice among {', '.join(key for key, _ in pairs)}")
        return members
    with open(path, encoding="utf-8") as file:
        try:
            tree = json.load(file, object_pairs_hook=unique)
        except ValueError as error:
            sys.exit(f"{path}: {error}")
    name = os.path.basename(path)[:-len(".json")]
    if tree.get("id", name) != name:
        sys.exit(f"{path}: its id is '{tree['id']}', not the file's name")
    return name, tree


def minified(tree):
    return json.dumps(tree, separators=(",", ":")).encode("ascii")


def write_profiles(out, kind, trees):
    """Sort families last, so that device indices have no gaps."""
    rows = []
    for name, tree in sorted(trees.items(), key=lambda item: (item[1].get("abstract", False) is True, item[0])):
        data, array = minified(tree), f"{kind}_text_{len(rows)}"
        write_array(out, array, data)
        rows.append([c_string(name), str(int(tree.get("abstract", False) is True)), array, str(len(data))])
    out.write(f"\nconst cm__embedded_profile cm__embedded_{kind}[] = {{\n")
    for row in rows:
        out.write("    {" + ", ".join(row) + "},\n")
    out.write(f"    {{0}},\n}};\nconst int32_t cm__n_embedded_{kind} = {len(rows)};\n\n")


def embed_profiles(out_path, paths):
    trees = {"devices": {}, "clusters": {}, "schema": {}}
    for path in paths:
        name, tree = read_json(path)
        trees[os.path.basename(os.path.dirname(path))][name] = tree
    with open(out_path, "w", encoding="utf-8") as out:
        out.write("/* Made by tools/embed.py from data; do not edit. */\n#include \"device/embedded.h\"\n\n")
        for folder, table in (("devices", "devices"), ("clusters", "clusters"), ("schema", "schemas")):
            write_profiles(out, table, trees[folder])


def call_sizes(path):
    """Names of each call's sizes, by the call's name, in the order of calls.def."""
    with open(path, encoding="utf-8") as file:
        rows = re.findall(r'^CALL\([A-Z0-9_]+, "(\w+)"(.*?)^END', file.read(), re.M | re.S)
    return {name: re.findall(r'SIZE\(\w+, \w+, "(\w+)"\)', sizes) for name, sizes in rows}


MOST = 65535  # rows of a table, shapes of an operator, kernels of a call: 16 bits


def check_rows(table, n_sizes):
    """Refuse numbers that the arrays of a table cannot hold."""
    rows, name = table["rows"], " ".join(table.get(key, "") for key in ("op", "pass", "runtime", "variant", "dtype"))
    if len(rows) > MOST:
        sys.exit(f"{name}: {len(rows)} rows; {MOST} are possible")
    for at, row in enumerate(rows):
        if len(row) != n_sizes + 2:
            sys.exit(f"{name}: row {at}: {len(row)} numbers, expected {n_sizes} sizes, a time and a count of kernels")
        if not all(type(size) is int and 0 <= size < 1 << 63 for size in row[:-2]):
            sys.exit(f"{name}: row {at}: a size is not a whole number from 0 to {(1 << 63) - 1}: {row}")
        if not 1e-9 <= row[-2] <= 1e5:
            sys.exit(f"{name}: row {at}: a time of {row[-2]} s")
        if row[-1] != int(row[-1]) or not 0 <= row[-1] <= MOST:
            sys.exit(f"{name}: row {at}: {row[-1]} kernels")


def sizes_of(rows):
    return [tuple(row[:-2]) for row in rows]


def widths_of(shapes):
    """Bytes of each column (src/device/row_sizes.h)."""
    return [max(1, (max(column).bit_length() + 7) // 8) for column in zip(*shapes)]


def packed(shapes, widths):
    return b"".join(size.to_bytes(width, "big") for shape in shapes for size, width in zip(shape, widths))


def short_time(seconds):
    """The number that cm__short_time() of src/device/kernels.h turns into this time; None: there is none."""
    tenths = round(seconds * 1e10)
    if tenths < 10000:
        return tenths if tenths / 1e10 == seconds else None
    digits, exponent = f"{seconds:.3e}".replace(".", "").split("e")
    number = 9000 + 9000 * (int(exponent) + 6) + int(digits)
    return number if number <= MOST and int(digits) / 10 ** (3 - int(exponent)) == seconds else None


def shared_shapes(tables):
    """By operator, the shapes of all its tables in order, if these and a number of two bytes per row take fewer bytes."""
    shared = {}
    for op in dict.fromkeys(table["op"] for table in tables):
        each = [sizes_of(table["rows"]) for table in tables if table["op"] == op]
        shapes = sorted(set(itertools.chain(*each)))
        bytes_shared = len(shapes) * sum(widths_of(shapes)) + 2 * sum(map(len, each))
        if bytes_shared < sum(len(rows) * sum(widths_of(rows)) for rows in each) and len(shapes) <= MOST:
            shared[op] = shapes
    return shared


def write_numbers(out, kind, name, values):
    out.write(f"static const {kind} {name}[] = {{{','.join(map(str, values))}}};\n")
    return name


def write_sizes(out, label, rows, shared):
    """Write the sizes or shapes of rows; return the members of the table that concern them."""
    if shared is None:
        widths = widths_of(rows)
        names = write_numbers(out, "uint8_t", f"{label}_sizes", packed(rows, widths)), "NULL"
    else:
        array, widths, numbers = shared
        names = array, write_numbers(out, "uint16_t", f"{label}_shapes", [numbers[row] for row in rows])
    return f"{sum(widths)}, {{{', '.join(map(str, widths))}}}, {', '.join(names)}"


def write_times(out, label, rows):
    short = [short_time(row[-2]) for row in rows]
    if None in short:
        return write_numbers(out, "float", f"{label}_times", [repr(float(row[-2])) + "f" for row in rows]) + ", NULL"
    return "NULL, " + write_numbers(out, "uint16_t", f"{label}_times", short)


def write_launches(out, label, rows):
    launches = [int(row[-1]) for row in rows]
    if max(launches) > 255:
        return "NULL, " + write_numbers(out, "uint16_t", f"{label}_launches", launches)
    return write_numbers(out, "uint8_t", f"{label}_launches", launches) + ", NULL"


def identifier(name):
    return re.sub(r"\W", "_", name).upper() or "NONE"


def variant(text):
    """The C expression of a variant; the compiler knows the names."""
    kernel = re.fullmatch(r"(flash1|flash|efficient|cudnn)(?:-(.*))?", text)
    name, form = (kernel[2] or "", kernel[1]) if kernel else (text.split(":") + [""])[:2]
    return f"CM__V({identifier(name)}, {identifier(form)})"


def types(text):
    """The C expression of types such as "bf16+fp32>fp32"."""
    operands, result = (text.split(">") + [""])[:2]
    first, others = (operands.split("+") + [operands])[:2]
    return "CM__TYPES({})".format(", ".join(("CM__" if t == "tf32" else "CM_") + t.upper() for t in (first, others, result or first)))


COMPONENTS = ["torch", "cudnn", "cuda", "jax"]  # of cm_component


def versions_of(software):
    """The initializer of cm_versions for {"torch": "2.11"}."""
    parts = {name: [int(part) for part in version.split(".")] for name, version in software.items()}
    return "{{" + ", ".join(str(256 * parts[name][0] + parts[name][1]) if name in parts else "0" for name in COMPONENTS) + "}}"


def write_table(out, label, table, number, calls, shared):
    """Write one table's arrays; return the initializer of its row."""
    rows, texts = table["rows"], [table.get(key, "") for key in ("runtime", "kind", "source", "date")]
    sizes = sizes_of(rows)
    members = [*map(c_string, texts), list(calls).index(table["op"]), PASSES.index(table["pass"]),
               variant(table.get("variant", "")), types(table["dtype"]), len(rows), number,
               versions_of(table["software"]), int(sizes == sorted(sizes)), int(table["trended"]),
               write_sizes(out, label, sizes, shared.get(table["op"])),
               write_times(out, label, rows), write_launches(out, label, rows)]
    return f"    {{{', '.join(map(str, members))}}},\n"


def write_device_tables(out, device, tables, numbers, calls):
    shared = {}
    for op, shapes in shared_shapes(tables).items():
        widths = widths_of(shapes)
        array = write_numbers(out, "uint8_t", f"d{device}_{op}_sizes", packed(shapes, widths))
        shared[op] = array, widths, {shape: number for number, shape in enumerate(shapes)}
    rows = [write_table(out, f"d{device}_{index}", table, next(numbers), calls, shared) for index, table in enumerate(tables)]
    out.write(f"static const cm__kernel_table tables_{device}[] = {{\n{''.join(rows)}}};\n")


def tables_of(path, trends):
    """The device and the tables of a file. A table's release is that of its source; trends belong to the tables that
    they were fitted to."""
    with open(path, encoding="utf-8") as file:
        tree = json.load(file)
    tables = [table for table in tree["kernels"] if table["rows"]]
    for table in tables:
        table["software"] = tree["sources"][table["source"].split(";")[0]]["software"]
        table["trended"] = trends["fitted_to"] == {"device": tree["base"], "runtime": table["runtime"], "software": table["software"]}
    return tree["base"], tables


def embed_kernels(out_path, calls_path, trends_path, paths):
    calls, devices = call_sizes(calls_path), {}
    with open(trends_path, encoding="utf-8") as file:
        trends = json.load(file)
    for device, tables in (tables_of(path, trends) for path in paths):
        devices.setdefault(device, []).extend(tables)
    for table in itertools.chain(*devices.values()):
        check_rows(table, len(calls[table["op"]]))
    with open(out_path, "w", encoding="utf-8") as out:
        out.write("/* Made by tools/embed.py from data/kernels; do not edit. */\n#include \"device/kernels.h\"\n\n")
        numbers = itertools.count(1)
        for d, tables in enumerate(devices.values()):
            write_device_tables(out, d, tables, numbers, calls)
        out.write("\nconst cm__embedded_kernels cm__all_embedded_kernels[] = {\n")
        for d, (device, tables) in enumerate(devices.items()):
            out.write(f"    {{{c_string(device)}, tables_{d}, {len(tables)}}},\n")
        out.write(f"    {{0}},\n}};\nconst int32_t cm__n_embedded_kernels = {len(devices)};\n")


FEATURES = ["aligned_1", "aligned_2", "aligned_3", "roofline", "intensity"]  # after the sizes; some calls have more
DISTANCES = ["noise", "alike", "variant", "dtype", "pass", "spread"]


def braced(values, suffix=""):
    return "{" + ", ".join(braced(v, suffix) if isinstance(v, list) else f"{float(v)!r}{suffix}" for v in values) + "}"


def scales_row(path, call, sizes, row):
    names = list(row["scales"])
    if names[:len(sizes) + len(FEATURES)] != sizes + FEATURES:
        sys.exit(f"{path}: {call}: scales are not of {', '.join(sizes + FEATURES)}")
    return "    {" + ", ".join(f"{float(row.get(key, 1))!r}" for key in DISTANCES) + f", {braced(row['scales'].values(), 'f')}}},\n"


def embed_scales(out_path, calls_path, path):
    calls = call_sizes(calls_path)
    with open(path, encoding="utf-8") as file:
        tree = json.load(file)
    facts = {key: fact["value"] for key, fact in tree["features"].items()}
    if not set(tree["calls"]) | set(facts["aligned"]) <= set(calls):
        sys.exit(f"{path}: its calls are not those of calls.def")
    aligned = [[sizes.index(name) + 1 for name in facts["aligned"].get(call, [])] or [0] for call, sizes in calls.items()]
    with open(out_path, "w", encoding="utf-8") as out:
        out.write("/* Made by tools/embed.py from data/scales.json; do not edit. */\n#include \"model/time/features.h\"\n\n"
                  "const cm__scales cm__call_scales[CM__CALLS] = {\n")
        out.writelines(scales_row(path, call, sizes, tree["calls"][call]) if call in tree["calls"] else "    {0},\n"
                       for call, sizes in calls.items())  # 0: the default's
        out.write(f"}};\n\nconst cm__scales cm__default_scales = {{{', '.join(repr(float(tree['default'].get(key, 1))) for key in DISTANCES)}, "
                  "{0}};\n\nconst cm__feature_data cm__feature_facts = {\n"
                  f"    {braced(facts['product_tiles'])},\n    {braced(facts['attention_blocks'])},\n"
                  f"    {float(tree['default']['scale'])!r}f, {float(facts['kinds_apart'])!r}f, {float(facts['joined_factor'])!r}f,\n"
                  f"    {{{', '.join('{' + ', '.join(map(str, row)) + '}' for row in aligned)}}},\n"
                  f"    {braced(facts['groups'].values())}, {facts['kept_bytes']},\n"
                  f"    {braced(facts['conv_tiles']['sides'])}, {braced(facts['conv_tiles']['tiles'])}, {facts['conv_tiles']['inner']},\n}};\n")


def joined(networks, *names):
    return [x for network in networks for name in names for x in network[name]]


def embed_trends(out_path, calls_path, path):
    calls = call_sizes(calls_path)
    with open(path, encoding="utf-8") as file:
        tree = json.load(file)["calls"]
    if not set(tree) <= set(calls):
        sys.exit(f"{path}: its calls are not those of calls.def")
    with open(out_path, "w", encoding="utf-8") as out:
        out.write("/* Made by tools/embed.py from data/trends.json; do not edit. */\n#include \"model/time/trend.h\"\n\n")
        for call, row in tree.items():
            if any(len(n["weights"]) != (row["inputs"] + row["hidden"]) * row["hidden"] or max(map(abs, n["weights"])) > 127 for n in row["networks"]):
                sys.exit(f"{path}: {call}: weights of another number, or larger than a byte")
            out.write(f"static const char *const {call}_words[] = {{{', '.join(map(c_string, row['words']))}}};\n"
                      f"static const int8_t {call}_weights[] = {{{','.join(map(str, joined(row['networks'], 'weights')))}}};\n"
                      f"static const float {call}_numbers[] = {braced(joined(row['networks'], 'scales', 'biases'), 'f')};\n")
        out.write("\nconst cm__trend_nets cm__trends[CM__CALLS] = {\n")
        out.writelines(f"    {{{tree[call]['inputs']}, {len(tree[call]['words'])}, {len(tree[call]['networks'])}, {tree[call]['hidden']}, {call}_words, "
                       f"{call}_weights, {call}_numbers}},\n" if call in tree else "    {0},\n" for call in calls)
        out.write("};\n")


def embed_results(out_path, paths):
    with open(out_path, "w", encoding="utf-8") as out:
        out.write("/* Made by tools/embed.py from data/results; do not edit. */\n#include \"validate/validate.h\"\n\n")
        rows = []
        for index, (name, tree) in enumerate(map(read_json, paths)):
            data = minified(tree)
            write_array(out, f"set_{index}", data)
            rows.append(f"    {{{c_string(name)}, set_{index}, {len(data)}}},\n")
        out.write(f"\nconst cm__embedded_set cm__embedded_sets[] = {{\n{''.join(rows)}    {{0}},\n}};\n")
        out.write(f"const int32_t cm__n_embedded_sets = {len(rows)};\n")


LOADING = {"datasets": ["id", "kind", "items", "each", "title", "source"],
           "hosts": ["id", "devices", "cores", "clock_hz", "boost_hz", "read_bytes_s", "images_s", "tokens_s", "name", "source"],
           "shares": ["id", "value", "source"],
           "lookups": ["class", "cycles", "chains", "sector", "together", "lanes", "apart", "sum", "point32", "point64", "drawn", "step", "bands", "usable", "reached", "clock_hz", "spread", "source"]}
NUMBERS = {"value", "cycles", "chains", "sector", "together", "lanes", "apart", "sum", "point32", "point64", "drawn", "step", "bands", "usable", "reached", "spread", "items", "each", "cores", "clock_hz", "boost_hz", "read_bytes_s", "images_s", "tokens_s"}


def table_rows(path, columns):
    """Convert a table of tab-separated cells to initializers; "-" is an unknown number."""
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            cells = line.rstrip("\n").split("\t")
            if line.startswith("#") or not line.strip():
                continue
            if len(cells) != len(columns) or not all(cells):
                sys.exit(f"{path}:{number}: {len(cells)} cells, expected {len(columns)}, none empty: {', '.join(columns)}")
            yield "    {" + ", ".join(("NAN" if cell == "-" else repr(float(cell))) if column in NUMBERS else c_string(cell)
                                      for column, cell in zip(columns, cells)) + "},\n"


def embed_loading(out_path, paths):
    with open(out_path, "w", encoding="utf-8") as out:
        out.write("/* Made by tools/embed.py from data; do not edit. */\n#include <math.h>\n#include \"model/parallel/comm.h\"\n"
                  "#include \"model/lookups.h\"\n#include \"model/step/loading.h\"\n\n")
        for path in paths:
            name = os.path.basename(path)[:-len(".tsv")]
            rows = list(table_rows(path, LOADING[name]))
            out.write(f"const cm__known_{name[:-1]} cm__known_{name}[] = {{\n{''.join(rows)}}};\n")
            out.write(f"const int32_t cm__n_known_{name} = {len(rows)};\n\n")


KINDS = ("spec", "measured", "fitted", "published", "assumed")


def rule_rows(path, columns):
    """Rows of a table of rules as dicts; each has a value, a kind and a source."""
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if line.startswith("#") or not line.strip():
                continue
            row = dict(zip(columns, line.rstrip("\n").split("\t")))
            if len(row) != len(columns) or not all(row.values()) or row["kind"] not in KINDS:
                sys.exit(f"{path}:{number}: expected {', '.join(columns)}, none empty, kind one of {', '.join(KINDS)}")
            yield row


def of_one_release(path, rows):
    """All rows; those that were measured with PyTorch with one release of it, because questions have one value of a rule."""
    rows = list(rows)
    releases = {row["software"] for row in rows} - {"-"}
    if len(releases) > 1:
        sys.exit(f"{path}: rows of PyTorch {' and '.join(sorted(releases))}: numbers of two releases would be mixed")
    return rows


def members(rows):
    return ", ".join(f".{row['rule']} = {float(row['value'])!r}" for row in rows)


def version_key(row):
    return row["component"], [int(part) for part in row["version"].split(".")]


def releases(path, features):
    """Rows of the table of releases, sorted by component and version, as initializers."""
    known = re.findall(r'^FEATURE\((\w+), +"([\w-]+)"\)', open(features, encoding="utf-8").read(), re.M)
    ids, rows = {name: member for member, name in known}, []
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if line.startswith("#"):
                continue
            row = dict(zip(["component", "version", "date", "feature", "source"], line.rstrip("\n").split("\t")))
            if len(row) != 5 or row["feature"] not in {*ids, "-"} or not re.fullmatch(r"20\d\d-[01]\d", row["date"]):
                sys.exit(f"{path}:{number}: expected component, version, date (2024-07), a feature of {features} or -, source")
            rows.append(row)
    if sorted(ids) != sorted(row["feature"] for row in rows if row["feature"] != "-"):
        sys.exit(f"{path}: one row for each feature of {features}")
    return "".join(f"    {{{c_string(r['component'])}, {c_string(r['version'])}, {c_string(r['date'])}, "
                   f"{'CM__FEATURE_' + ids[r['feature']] if r['feature'] in ids else 'CM__FEATURES'}}},\n" for r in sorted(rows, key=version_key)), len(rows)


def embed_releases(out_path, features, path):
    rows, count = releases(path, features)
    with open(out_path, "w", encoding="utf-8") as out:
        out.write("/* Made by tools/embed.py from data; do not edit. */\n#include \"graph/releases.h\"\n\n"
                  f"const cm__release cm__releases[] = {{\n{rows}}};\nconst int32_t cm__n_releases = {count};\n")


def embed_rules(out_path, factors, workspaces):
    versions = {}
    for row in rule_rows(workspaces, ["library", "version", "rule", "value", "kind", "source"]):
        versions.setdefault(row["version"], []).append(row)
    with open(out_path, "w", encoding="utf-8") as out:
        out.write("/* Made by tools/embed.py from data; do not edit. */\n#include \"model/memory/workspace.h\"\n"
                  "#include \"model/time/factors.h\"\n\n"
                  f"const cm__factors cm__time_factors = {{{members(of_one_release(factors, rule_rows(factors, ['rule', 'value', 'kind', 'software', 'program', 'source'])))}}};\n\n"
                  "const cm__cudnn_rules cm__cudnn_versions[] = {\n")
        out.writelines(f"    {{.version = {c_string(version)}, {members(rows)}}},\n" for version, rows in versions.items())
        out.write("};\n")


LAWS = ["rule", "op", "pass", "variant", "role", "form", "work", "steps", "value", "kind", "software", "program", "source"]
LAW_ROLES, LAW_FORMS = ["replace", "floor"], ["blocks", "serial", "loops"]
LAW_WORDS = {"ceil", "floor", "log2", "exp2", "fmin", "fmax", "fmod", "element", "cache"}


def law_function(out, path, row, number, sizes, column):
    """Write the function of an expression over the sizes of a call; return its name."""
    if row[column] == "-":
        return "NULL"
    unknown = set(re.findall(r"(?<![\w.])[A-Za-z_]\w*", row[column])) - set(sizes) - LAW_WORDS
    if unknown or not re.fullmatch(r"[\w\s.+*/()<>=!&|?:,-]+", row[column]):
        sys.exit(f"{path}: {row['rule']}: {column}: unknown in an expression: {', '.join(unknown) or row[column]}")
    text = re.sub(r"(?<![\w.])[A-Za-z_]\w*", lambda m: f"s[{sizes.index(m[0])}]" if m[0] in sizes else m[0], row[column])
    out.write(f"static double {column}_{number}(const double *s, double element, double cache)\n"
              f"{{\n    (void)element, (void)cache;\n    return {text};\n}}\n\n")
    return f"{column}_{number}"


def variants_of(text):
    """The number of variants, and their identifiers (variants.h); "*": all."""
    found = []
    for name, _, form in () if text == "*" else (word.partition(":") for word in text.split(",")):
        word = name.upper().replace("-", "_") or "NONE"
        found.append(f"CM__V({word}, {form.upper()})" if form else f"CM__V_{word}")
    return f"{len(found)}, {{{', '.join(found or ['0'])}}}"


def embed_laws(out_path, calls_path, path):
    calls, texts, first = call_sizes(calls_path), [], [0]
    rows = [{**row, "op": op} for row in of_one_release(path, rule_rows(path, LAWS)) for op in row["op"].split(",")]
    if not {row["op"] for row in rows} <= set(calls) or not {row["role"] for row in rows} <= set(LAW_ROLES) \
            or not {row["form"] for row in rows} <= set(LAW_FORMS) or not {row["pass"] for row in rows} <= {*PASSES, "*"}:
        sys.exit(f"{path}: an unknown call, pass, role or form")
    with open(out_path, "w", encoding="utf-8") as out:
        out.write("/* Made by tools/embed.py from data/kernel_laws.tsv; do not edit. */\n#include <math.h>\n#include \"model/time/laws.h\"\n\n")
        for call, sizes in calls.items():
            for row in sorted((r for r in rows if r["op"] == call), key=lambda r: LAW_ROLES.index(r["role"])):
                work, steps = (law_function(out, path, row, len(texts), sizes, column) for column in ("work", "steps"))
                pass_ = -1 if row["pass"] == "*" else PASSES.index(row["pass"])
                texts.append(f"    {{{c_string(row['rule'])}, {pass_}, CM__LAW_{row['role'].upper()}, {variants_of(row['variant'])}, "
                             f"&cm__law_{row['form']}, {work}, {steps}, {float(row['value'])!r}}},\n")
            first.append(len(texts))
        out.write(f"const cm__law cm__laws[] = {{\n{''.join(texts)}}};\n\nconst int16_t cm__first_laws[] = {{{', '.join(map(str, first))}}};\n")


def embed_defaults(out_path, path):
    with open(out_path, "w", encoding="utf-8") as out:
        rows = list(table_rows(path, ["class", "member", "text", "kind", "source"]))
        out.write("/* Made by tools/embed.py from data; do not edit. */\n#include \"device/defaults.h\"\n\n"
                  f"const cm__class_default cm__class_defaults[] = {{\n{''.join(rows)}}};\n"
                  f"const int32_t cm__n_class_defaults = {len(rows)};\n")


def embed_tables(out_path, paths):
    with open(out_path, "w", encoding="utf-8") as out:
        out.write("/* Made by tools/embed.py from data; do not edit. */\n#include \"device/price_list.h\"\n#include \"job/tables.h\"\n\n")
        for path in paths:
            with open(path, "rb") as file:
                rows = b"".join(line for line in file if not line.startswith(b"#"))
            out.write(f"const char cm__table_{os.path.basename(path)[:-len('.tsv')]}[] = {{\n"
                      + "\n".join(byte_rows(rows)) + "\n    0};\n")


TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".html": "text/html; charset=utf-8",
         ".json": "application/json", ".svg": "image/svg+xml"}


def one_document(files):
    """index.html with its style, scripts and icon inside, so that a browser needs one request for them. Returns it and
    the sources that its security policy allows: the hashes of these texts, {"style": [...], "script": [...]}."""
    allowed = {"style": [], "script": []}

    def inline(tag, names):
        text = b"\n".join(files[name] for name in names).decode()
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        allowed[tag].append(f"'sha256-{digest}'")
        return f"<{tag}>{text}</{tag}>"

    page = files["index.html"].decode()
    page = re.sub(r'<link rel="stylesheet" href="/([\w.]+)">', lambda m: inline("style", m.groups()), page)
    scripts = re.compile(r'(?:<script src="/[\w.]+"></script>\n)+')
    names = re.findall(r'<script src="/([\w.]+)">', page)
    page = scripts.sub("", page, 1)  # those of the head are for a page without a server; here, all follow the answer
    page = scripts.sub(lambda m: inline("script", names) + "\n", page)
    page = page.replace('<html lang="en">', '<html lang="en" data-answered>')  # src/serve/page.c
    icon = base64.b64encode(files["favicon.svg"]).decode()
    return page.replace('"/favicon.svg"', f'"data:image/svg+xml;base64,{icon}"').encode(), allowed


def embed_web(out_path, paths):
    files = {}
    for path in paths:
        with open(path, "rb") as file:
            files[os.path.basename(path).replace(".min.js", ".js")] = file.read()
    files["index.html"], allowed = one_document(files)
    with open(out_path, "w", encoding="utf-8") as out:
        out.write("/* Made by tools/embed.py from web; do not edit. */\n#include \"report/html/html.h\"\n\n")
        rows = []
        for index, (name, data) in enumerate(files.items()):
            write_array(out, f"file_{index}", data)
            rows.append(f"    {{{c_string(name)}, {c_string(TYPES[os.path.splitext(name)[1]])}, file_{index}, {len(data)}}},\n")
        out.write(f"\nconst cm__web_file cm__web_files[] = {{\n{''.join(rows)}}};\n")
        out.write(f"const int32_t cm__n_web_files = {len(rows)};\n")
        policy = "; ".join(f"{tag}-src 'self' {' '.join(hashes)}" for tag, hashes in allowed.items())
        out.write(f"const char cm__web_sources[] = {c_string(policy)};\n")


def embed_program(out_path, program):
    with open(out_path, "w", encoding="utf-8") as out:
        out.write(f'.section .rodata\n.globl cm__program, cm__program_end\ncm__program:\n.incbin "{program}"\ncm__program_end:\n'
                  '.section .note.GNU-stack,"",%progbits\n')


def embed_cuda(out_path, paths):
    with open(out_path, "w", encoding="utf-8") as out:
        out.write("/* Made by tools/embed.py from src/bench/backends/cuda/kernels; do not edit. */\n#include \"bench/backends/cuda/cuda.h\"\n\n")
        for index, path in enumerate(paths):
            with open(path, "rb") as file:
                write_array(out, f"text_{index}", file.read())
        out.write("\nconst cm__cuda_source cm__cuda_sources[] = {\n")
        for index, path in enumerate(paths):
            out.write(f"    {{{c_string(os.path.basename(path))}, text_{index}}},\n")
        out.write(f"}};\nconst int32_t cm__n_cuda_sources = {len(paths)};\n")


def main():
    commands = {"models": lambda out, *rest: embed_models(out, rest[0], rest[1:]),
                "profiles": lambda out, *rest: embed_profiles(out, rest),
                "results": lambda out, *rest: embed_results(out, rest),
                "loading": lambda out, *rest: embed_loading(out, rest),
                "scales": lambda out, *rest: embed_scales(out, *rest),
                "trends": lambda out, *rest: embed_trends(out, *rest),
                "rules": lambda out, *rest: embed_rules(out, *rest),
                "laws": lambda out, *rest: embed_laws(out, *rest),
                "releases": lambda out, *rest: embed_releases(out, *rest),
                "defaults": lambda out, *rest: embed_defaults(out, rest[0]),
                "tables": lambda out, *rest: embed_tables(out, rest),
                "web": lambda out, *rest: embed_web(out, rest),
                "program": lambda out, *rest: embed_program(out, rest[0]),
                "cuda": lambda out, *rest: embed_cuda(out, rest),
                "kernels": lambda out, *rest: embed_kernels(out, rest[0], rest[1], rest[2:])}
    if len(sys.argv) < 3 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    commands[sys.argv[1]](*sys.argv[2:])


main()
