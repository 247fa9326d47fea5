#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_notebook.py - [--rewrite] LIBRARY NOTEBOOK...: run the code cells of notebooks without Jupyter and compare the
outputs with the stored ones. --rewrite stores the outputs instead.

Cells of one notebook share their variables. A cell's output is what it prints, then the value of its last expression:
as HTML where it has such a form, and a chart as an image. Of images only their presence is compared.
"""
import ast
import base64
import contextlib
import io
import json
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(source, names):
    """The outputs of one cell, as nbformat 4 stores them."""
    tree = ast.parse(source)
    last = ast.Expression(tree.body.pop().value) if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, outputs = io.StringIO(), []
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), names)
        value = eval(compile(last, "cell", "eval"), names) if last else None
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": lines(printed.getvalue())})
    if value is not None:
        outputs.append(shown(value))
    return outputs


def shown(value):
    if hasattr(value, "figure"):
        image = io.BytesIO()
        value.figure.savefig(image, format="png", dpi=80)
        return {"data": {"image/png": base64.b64encode(image.getvalue()).decode() + "\n"}, "metadata": {}, "output_type": "display_data"}
    data = {"text/plain": lines(repr(value))}
    if hasattr(value, "_repr_html_"):
        data["text/html"] = lines(value._repr_html_())
    return {"data": data, "execution_count": None, "metadata": {}, "output_type": "execute_result"}


def without_images(outputs):
    """Another version of a library draws other pixels."""
    return [{**o, "data": {k: "image" if k == "image/png" and len(v) > 2000 else v for k, v in o["data"].items()}} if "data" in o else o
            for o in outputs]


def lines(text):
    return text.splitlines(keepends=True)


def main():
    words = sys.argv[1:]
    rewrite = words[0] == "--rewrite"
    library, *paths = words[rewrite:]
    os.environ["MPLBACKEND"] = "agg"
    os.environ["CENTIMANI_LIBRARY"] = str(pathlib.Path(library).resolve())
    sys.path.insert(0, str(ROOT / "python"))
    failed = 0
    for path in paths:
        notebook, names = json.loads(pathlib.Path(path).read_text()), {}
        cells = [c for c in notebook["cells"] if c["cell_type"] == "code"]
        assert cells, f"{path}: no code"
        for number, cell in enumerate(cells, 1):
            got = run("".join(cell["source"]), names)
            if rewrite:
                cell["outputs"] = got
            elif without_images(got) != without_images(cell["outputs"]):
                failed += 1
                print(f"{path}: code cell {number}\nexpected {json.dumps(cell['outputs'], indent=1)}\n"
                      f"got {json.dumps(got, indent=1)}")
        if rewrite:
            pathlib.Path(path).write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")
    sys.exit(failed > 0)


main()
