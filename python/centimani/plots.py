# SPDX-License-Identifier: Apache-2.0
"""plots.py - answers as charts of matplotlib, which is imported by them only."""
from __future__ import annotations

import importlib
from typing import Any, Callable, Dict, List, Tuple

from .errors import CentimaniError
from .quantities import number

COLOURS = ("#0b57a4", "#c2571a", "#2d7a46", "#7a3e9d", "#00778a", "#a32c46", "#6a7783")
FREE = "#e3e7ea"
PHASES = ("forward", "backward", "recompute", "update", "communication", "launch")
CATEGORIES = {"input_output": "activations", "weights_biases": "weights", "gradients": "gradients", "algorithm": "optimizer state",
              "ephemeral": "workspace"}  # as in the page (web/step_figures.js)


def needed(name: str, asked: str) -> Any:
    """An optional package."""
    try:
        return importlib.import_module(name)
    except ImportError:
        package = name.split(".")[0]
        raise CentimaniError(f"{asked} needs {package}: pip install {package}") from None


def _axes(ax: Any, rows: int, title: str) -> Any:
    if ax is None:
        ax = needed("matplotlib.pyplot", "plot()").subplots(figsize=(8, 1.2 + 0.32 * rows), layout="constrained")[1]
    ax.set_title(title, loc="left", fontsize="medium")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax


def _names(ax: Any, names: List[str]) -> None:
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.5, -0.5)


def _log(axis: Any, places: Tuple[int, ...] = (1, 2, 5)) -> None:
    """Ticks at 1, 2 and 5 times the powers of ten, as plain numbers."""
    ticker = needed("matplotlib.ticker", "plot()")
    axis.set_major_locator(ticker.LogLocator(subs=places))
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: number(value)))
    axis.set_minor_locator(ticker.NullLocator())


def _legend(ax: Any) -> None:
    ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize="small")


def _intervals(rows: List[Any], ax: Any) -> Any:
    """A dot per prediction, a bar per 90 % interval: what a ranking is by, or the throughput."""
    first = rows[0]
    if "value" in first:
        values = [(r["value"], *r["interval"]) for r in rows]
    else:
        values = [(r.throughput_samples_s, *r.throughput_samples_s.interval) for r in rows]
    names = [(f"{r.n} × " if getattr(r, "n", 1) > 1 else "") + r.device + (f", {r.provider}" if getattr(r, "job", None) and r.provider else "")
             for r in rows]
    ax = _axes(ax, len(rows), f"{first.model}: prediction and 90 % interval")
    for y, (value, low, high) in enumerate(values):
        ax.plot([low, high], [y, y], color=COLOURS[0], alpha=0.35, linewidth=7, solid_capstyle="round")
        ax.plot([value], [y], "o", color=COLOURS[0])
    _names(ax, names)
    ax.set_xscale("log")
    _log(ax.xaxis)
    ax.set_xlabel(first.raw.get("unit", "samples/s"))
    ax.grid(axis="x", color=FREE)
    ax.set_axisbelow(True)
    return ax


def _memory(rows: List[Any], ax: Any) -> Any:
    ax = _axes(ax, len(rows) + 2, f"{rows[0].model}: memory at the peak")
    ends = [0.0] * len(rows)
    for i, (key, name) in enumerate(CATEGORIES.items()):
        sizes = [r.categories[key] / 2**30 for r in rows]
        ax.barh(range(len(rows)), sizes, left=ends, color=COLOURS[i], label=name, height=0.6)
        ends = [e + s for e, s in zip(ends, sizes)]
    free = [max(0.0, max(level["capacity_bytes"] or 0 for level in r.levels) / 2**30 - e) for r, e in zip(rows, ends)]
    ax.barh(range(len(rows)), free, left=ends, color=FREE, label="free", height=0.6)
    _names(ax, [f"{r.device}, batch {r.batch}" for r in rows])
    ax.set_xlabel("GiB")
    _legend(ax)
    return ax


def _scale(rows: List[Any], ax: Any) -> Any:
    ax = _axes(ax, 9, "throughput on several devices, and 90 % intervals")
    n, rate = [r.n for r in rows], [r.throughput_samples_s for r in rows]
    ax.fill_between(n, [v.low for v in rate], [v.high for v in rate], color=COLOURS[0], alpha=0.2, linewidth=0)
    ax.plot(n, rate, "o-", color=COLOURS[0], label="predicted")
    ax.plot(n, [rate[0] * k / n[0] for k in n], "--", color=COLOURS[-1], label="linear")
    for k, v, row in zip(n, rate, rows):
        ax.annotate(f"{100 * row.efficiency:.0f} %", (k, v), xytext=(6, -12), textcoords="offset points", fontsize="small")
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    _log(ax.yaxis)
    ax.set_xticks(n, [str(k) for k in n])
    ax.set_xlabel("devices")
    ax.set_ylabel("samples/s")
    ax.legend(frameon=False)
    return ax


CHARTS: Dict[str, Callable[[List[Any], Any], Any]] = {
    "Ranked": _intervals, "Prediction": _intervals, "Explanation": _intervals, "Memory": _memory, "Fit": _memory, "Scale": _scale}


def draw(table: Any, ax: Any) -> Any:
    """The chart of a table. Candidates that are not ranked are left out."""
    name = table.kind.__name__ if table.kind else ""
    rows = [r for r in table.rows if name != "Ranked" or r.rank]
    if name not in CHARTS or not rows:
        kinds = ", ".join(sorted({kind.lower() for kind in CHARTS} | {"timeline"}))
        raise CentimaniError(f"there is no chart of {name or 'an empty table'}; there is one of: {kinds}")
    return CHARTS[name](rows, ax)


def timeline(step: Any, ax: Any) -> Any:
    """The lanes of one step; a colour for each phase."""
    lanes = step.lanes
    ax = _axes(ax, 2 * len(lanes) + 2, f"{step.model} on {step.device}, batch {step.batch}: one step")
    for i, phase in enumerate(PHASES):
        parts = [p for p in step.slices if p["phase"] == phase]
        if parts:
            ax.barh([lanes.index(p["lane"]) for p in parts], [p["time_s"] * 1e3 for p in parts],
                    left=[p["begin_s"] * 1e3 for p in parts], color=COLOURS[-1] if phase == "launch" else COLOURS[i], label=phase, height=0.7,
                    antialiased=False)
    _names(ax, lanes)
    ax.set_xlabel("ms")
    _legend(ax)
    return ax
