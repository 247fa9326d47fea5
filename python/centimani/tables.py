# SPDX-License-Identifier: Apache-2.0
"""tables.py - answers as tables: in a terminal, in a notebook, and for pandas."""
from __future__ import annotations

import html
from typing import Any, Callable, Dict, Generic, Iterator, List, Mapping, Optional, Sequence, Tuple, TypeVar, overload

from . import plots
from .quantities import Quantity, bytes_text, number, seconds, span

T = TypeVar("T")
Column = Tuple[str, Callable[[Any], str]]
WORDS = ("model", "device", "precision", "objective", "most at", "recompute", "limited by", "not predicted", "lane", "part", "phase")


def _yes_no(value: Optional[bool]) -> str:
    return "-" if value is None else "yes" if value else "no"


def _ends(value: Any) -> str:
    return span(*value.interval, value.unit) if isinstance(value, Quantity) and value.interval else "-"


DEVICE: Column = ("device", lambda r: r.device)
BATCH: Column = ("batch", lambda r: str(r.batch))
STEP: Sequence[Column] = (("step", lambda r: seconds(r.step_time_s)), ("90 % interval", lambda r: _ends(r.step_time_s)),
                          ("samples/s", lambda r: number(r.throughput_samples_s)))
NEEDS: Sequence[Column] = (("needs", lambda r: bytes_text(r.peak_bytes)), ("fits", lambda r: _yes_no(r.fits)))
PREDICTED: Sequence[Column] = (DEVICE, BATCH, ("precision", lambda r: r.precision), *STEP,
                               ("MFU", lambda r: "-" if r.mfu is None else f"{100 * r.mfu:.1f} %"))


def _network(index: int, network: Mapping[str, Any]) -> Column:
    """The time of one of several networks."""
    times = "" if network["weight"] == 1 else f"*{network['weight']:g}"
    return network["model"] + times, lambda r: seconds(r.networks[index]["time_s"])


# The columns of each kind of answer.
COLUMNS: Dict[str, Sequence[Column]] = {
    "Graph": (("model", lambda r: r.model), ("parameters", lambda r: f"{r.params:,}"),
              ("FLOP forward", lambda r: f"{r.forward_flop:.4g}"), ("FLOP in all", lambda r: f"{r.training_flop:.4g}"),
              ("memory", lambda r: bytes_text(r.peak_bytes))),
    "Prediction": PREDICTED,
    "Explanation": (*PREDICTED, ("limited by", lambda r: r.bottleneck.split(";")[0])),
    "Ranked": (DEVICE, BATCH, *STEP, ("per USD", lambda r: number(r.samples_per_usd)),
               ("J/sample", lambda r: number(r.energy_j_per_sample)), ("fits", lambda r: _yes_no(r.fits))),
    "Job": (("devices", lambda r: str(r.n)), DEVICE, ("at", lambda r: r.provider or r.cluster or "-"),
            ("time", lambda r: seconds(r.job["time_s"])), ("USD", lambda r: number(r.job["cost_usd"])), *STEP[:2],
            ("fits", lambda r: _yes_no(r.fits))),
    "JobNetworks": (("devices", lambda r: str(r.n)), DEVICE, ("at", lambda r: r.provider or r.cluster or "-"),
                    ("time", lambda r: seconds(r.time_s)), ("90 % interval", lambda r: _ends(r.time_s)),
                    ("USD", lambda r: number(r.cost_usd)), ("fits", lambda r: _yes_no(r.fits))),
    "Networks": (DEVICE, ("time", lambda r: seconds(r.time_s)), ("90 % interval", lambda r: _ends(r.time_s)),
                 ("USD", lambda r: number(r.cost_usd)), ("fits", lambda r: _yes_no(r.fits))),
    "Memory": (DEVICE, BATCH, *NEEDS, ("most at", lambda r: r.peak_op or "-")),
    "Fit": (DEVICE, BATCH, *NEEDS, ("probability", lambda r: f"{100 * r.probability:.0f} %"),
            ("largest micro-batch", lambda r: "-" if r.largest_micro_batch is None else str(r.largest_micro_batch))),
    "Batch": (DEVICE, BATCH, ("objective", lambda r: r.objective), *NEEDS),
    "LookupRate": (DEVICE, ("look-ups/s", lambda r: number(r.lookups_s)), ("from", lambda r: number(r.lookups_s_low)),
                   ("to", lambda r: number(r.lookups_s_high)), ("limited by", lambda r: r.limited_by or "-"),
                   ("not predicted", lambda r: r.reason or "")),
    "Timeline": (("lane", lambda r: r.lane), ("part", lambda r: r.name), ("phase", lambda r: r.phase),
                 ("begins", lambda r: seconds(r.begin_s)), ("takes", lambda r: seconds(r.time_s)),
                 ("calls", lambda r: str(r.calls))),
    "Scale": (("devices", lambda r: str(r.n)), *STEP, ("efficiency", lambda r: f"{100 * r.efficiency:.0f} %"),
              ("fits", lambda r: _yes_no(r.fits))),
    "Plans": (*((name, lambda r, name=name: str(getattr(r, name))) for name in ("tp", "pp", "dp", "zero")),
              ("micro-batch", lambda r: str(r.micro_batch)), ("recompute", lambda r: r.recompute), *STEP,
              ("memory", lambda r: bytes_text(r.peak_bytes))),
}


class Row:
    """An entry of a list in an answer, with its members as attributes."""

    def __init__(self, members: Dict[str, Any]):
        self.__dict__.update(members)


def _flat(members: Mapping[str, Any], prefix: str = "") -> Dict[str, Any]:
    """Numbers and texts; an interval as two columns, members of a dict as columns NAME.MEMBER, lists left out."""
    flat: Dict[str, Any] = {}
    for name, value in members.items():
        if isinstance(value, Quantity):
            flat[prefix + name] = float(value)
            if value.interval:
                flat[f"{prefix}{name}_low"], flat[f"{prefix}{name}_high"] = value.interval
        elif isinstance(value, Mapping):
            flat.update(_flat(value, f"{prefix}{name}.") if name != "raw" else {})
        elif not isinstance(value, (list, tuple)):
            flat[prefix + name] = value
    return flat


class Table(Generic[T]):
    """A list of answers that shows itself as a table or a chart."""

    def __init__(self, rows: Sequence[T], kind: Optional[type] = None):
        self.rows: List[T] = list(rows)
        self.kind = kind or (type(rows[0]) if rows else None)

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, index: int) -> T: ...

    @overload
    def __getitem__(self, index: slice) -> "Table[T]": ...

    def __getitem__(self, index: Any) -> Any:
        """One answer, or with a slice a table of some: ranking[:5]."""
        return Table(self.rows[index], self.kind) if isinstance(index, slice) else self.rows[index]

    def __iter__(self) -> Iterator[T]:
        return iter(self.rows)

    def _cells(self) -> List[List[str]]:
        if not self.rows or self.kind is None:
            return []
        first = self.rows[0]
        kinds = "Job" * bool(getattr(first, "job", None)) + "Networks" * bool(getattr(first, "networks", None))
        name = kinds or self.kind.__name__
        columns = [*COLUMNS[name], *(_network(i, n) for i, n in enumerate(getattr(first, "networks", None) or []))]
        return [[title for title, _ in columns]] + [[show(r) for _, show in columns] for r in self.rows]

    def __str__(self) -> str:
        cells = self._cells()
        widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))] if cells else []
        return "\n".join("  ".join(text.ljust(w) if i == 0 else text.rjust(w) for i, (text, w) in
                                   enumerate(zip(row, widths))).rstrip() for row in cells)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        cells = self._cells()
        if not cells:
            return "<p>nothing</p>"
        side = ["left" if title in WORDS else "right" for title in cells[0]]

        def line(tag: str, row: List[str]) -> str:
            return "<tr>" + "".join(f'<{tag} style="text-align: {s}">{html.escape(c)}</{tag}>' for s, c in zip(side, row)) + "</tr>"
        notes = dict.fromkeys(note for row in self.rows for note in getattr(row, "warnings", None) or [])
        return (f"<table><thead>{line('th', cells[0])}</thead><tbody>{''.join(line('td', row) for row in cells[1:])}</tbody></table>"
                + "".join(f"<p>Warning: {html.escape(note)}</p>" for note in notes))

    def to_pandas(self) -> Any:
        """A DataFrame; needs pandas. `frame.attrs["units"]` has the units of its columns."""
        pandas = plots.needed("pandas", "to_pandas()")
        frame = pandas.DataFrame([_flat(vars(row)) for row in self.rows])
        frame.attrs["units"] = {name: value.unit for row in self.rows[:1] for name, value in vars(row).items() if isinstance(value, Quantity)}
        return frame

    def plot(self, ax: Any = None) -> Any:
        """A chart on `ax` or on new axes, which are returned; needs matplotlib."""
        return plots.draw(self, ax)
