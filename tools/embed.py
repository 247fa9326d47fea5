# SPDX-License-Identifier: Apache-2.0
"""embed.py - turn data/models into C: models.tsv into a table, each .net text into an array.

usage: embed.py OUT.c models.tsv FILE.net...
"""
import os
import sys

COLUMNS = ["id", "family", "title", "definition", "source"]


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
    for start in range(0, len(data), 20):
        yield "    " + ",".join(str(byte) for byte in data[start:start + 20]) + ","


def write(out, models, aliases, texts):
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
        out.write(f"static const char text_{index}[] = {{\n" + "\n".join(byte_rows(data)) + "\n    0};\n")
    out.write("\nconst cm__embedded_text cm__embedded_texts[] = {\n")
    for index, (name, data) in enumerate(texts.items()):
        out.write(f"    {{{c_string(name)}, text_{index}, {len(data)}}},\n")
    out.write(f"    {{0, 0, 0}},\n}};\nconst int32_t cm__n_embedded_texts = {len(texts)};\n")


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    texts = {}
    for path in sys.argv[3:]:
        with open(path, "rb") as file:
            texts[os.path.basename(path)] = file.read()
        if not texts[os.path.basename(path)].isascii():
            sys.exit(f"{path}: only ASCII is allowed here")
    models, aliases = read_models(sys.argv[2], texts)
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        write(out, models, aliases, texts)


main()
