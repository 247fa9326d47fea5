# SPDX-License-Identifier: Apache-2.0
"""results.py - answers as dataclasses, and as tables in a terminal or a notebook. Units are SI, in the field names."""
from __future__ import annotations

import html
from dataclasses import dataclass, field, fields
from typing import Any, Callable, Dict, Generic, Iterator, List, Optional, Sequence, Tuple, Type, TypeVar

T = TypeVar("T")


def from_json(kind: Type[T], answer: Dict[str, Any]) -> T:
    """Fill the fields that the dataclass has; `raw` keeps the whole answer."""
    names = {f.name for f in fields(kind)} - {"raw"}  # type: ignore[arg-type]
    return kind(**{k: v for k, v in answer.items() if k in names}, raw=answer)  # type: ignore[call-arg]


class Shown:
    """Shows an answer as a table of one row in a terminal's print() and in a notebook."""

    def __str__(self) -> str:
        return str(Table([self]))

    def _repr_html_(self) -> str:
        return Table([self])._repr_html_()


@dataclass
class Graph(Shown):
    """The work of one training step."""
    model: str = ""
    source: str = ""
    batch: int = 0
    precision: str = ""
    optimizer: str = ""
    params: int = 0
    buffers: int = 0
    forward_flop: float = 0.0
    training_flop: float = 0.0
    nodes: int = 0
    peak_bytes: float = 0.0
    ops: Dict[str, int] = field(default_factory=dict)
    warnings: List[str] = field(default_factory=list)
    unsupported: List[str] = field(default_factory=list)
    raw: Dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass
class Prediction(Shown):
    """The time of one step on one device."""
    model: str = ""
    device: str = ""
    runtime: str = ""
    precision: str = ""
    batch: int = 0
    step_time_s: float = 0.0
    device_time_s: float = 0.0
    host_time_s: float = 0.0
    throughput_samples_s: float = 0.0
    interval_s: Tuple[float, float] = (0.0, 0.0)
    mfu: Optional[float] = None
    kernels: int = 0
    peak_bytes: float = 0.0
    share: Dict[str, float] = field(default_factory=dict)
    seq: Optional[int] = None
    tokens_s: Optional[float] = None
    warnings: List[str] = field(default_factory=list)
    raw: Dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass
class Ranked(Prediction):
    """One entry of a ranking."""
    price_hour: Optional[float] = None
    price_basis: Optional[str] = None
    provider: Optional[str] = None
    samples_per_usd: Optional[float] = None
    energy_j_per_sample: Optional[float] = None
    fits: Optional[bool] = None
    tied_with_next: bool = False


@dataclass
class LookupRate(Shown):
    """Random look-ups per second of a device, or the reason why they are not predicted."""
    device: str = ""
    lookups_s: Optional[float] = None
    lookups_s_low: Optional[float] = None
    lookups_s_high: Optional[float] = None
    limited_by: Optional[str] = None
    table_bytes: Optional[float] = None
    traffic_bytes: Optional[float] = None
    reason: Optional[str] = None
    raw: Dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass
class Memory(Shown):
    """Whether a step fits, and what the memory is used for."""
    model: str = ""
    device: str = ""
    batch: int = 0
    precision: str = ""
    peak_bytes: float = 0.0
    fits: Optional[bool] = None
    verdict: str = ""  # "fits", "does not fit" or "unsure"
    probability: Optional[float] = None
    interval_bytes: Tuple[float, float] = (0.0, 0.0)
    alternatives: List[Dict[str, Any]] = field(default_factory=list)
    peak_op: Optional[str] = None
    categories: Dict[str, float] = field(default_factory=dict)
    levels: List[Dict[str, Any]] = field(default_factory=list)
    warnings: List[str] = field(default_factory=list)
    raw: Dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass
class Fit(Memory):
    """Whether a step fits. True in a condition if the verdict is "fits": assert centimani.fits(...)."""
    answer: str = ""
    largest_micro_batch: Optional[int] = None
    shortfall_bytes: float = 0.0
    remedies: List[Dict[str, Any]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return self.verdict == "fits"

    def __repr__(self) -> str:
        """The reason that a failed assertion prints."""
        level = self.levels[0] if self.levels else {}
        said = (f"{self.model}, batch {self.batch}, {self.precision}, on {self.device}: {self.verdict}, "
                f"needs {bytes_text(level.get('used_bytes', self.peak_bytes))} of {bytes_text(level.get('capacity_bytes'))}")
        for one in self.alternatives or [{"name": "probability that it fits", "probability": self.probability or 0.0}]:
            said += f"; {one['name']}: {100 * one['probability']:.0f} %"
        most = self.largest_micro_batch
        return said + ("" if self or not most else f"; largest micro-batch that fits: {most}")


@dataclass
class Batch(Shown):
    """The batch size to train with on a device, and the sizes it was chosen from."""
    model: str = ""
    device: str = ""
    batch: int = 0
    objective: str = ""
    precision: str = ""
    candidates: List[Dict[str, Any]] = field(default_factory=list)
    peak_bytes: float = 0.0
    fits: Optional[bool] = None
    warnings: List[str] = field(default_factory=list)
    raw: Dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass
class Explanation(Prediction):
    """Shares of a step's time."""
    bottleneck: str = ""
    ops: List[Dict[str, Any]] = field(default_factory=list, repr=False)
    sensitivity: List[Dict[str, Any]] = field(default_factory=list, repr=False)


class Listed:
    """Shows one of its members, a list, as a table."""
    _list = ""

    def __str__(self) -> str:
        return str(Table([Row(row) for row in getattr(self, self._list)], LISTS[type(self)]))

    def _repr_html_(self) -> str:
        return Table([Row(row) for row in getattr(self, self._list)], LISTS[type(self)])._repr_html_()


@dataclass
class Scale(Listed):
    """How training scales over several devices."""
    _list = "points"
    model: str = ""
    device: str = ""
    mode: str = ""
    points: List[Dict[str, Any]] = field(default_factory=list)
    warnings: List[str] = field(default_factory=list)
    raw: Dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass
class Plan(Listed):
    """Parallel plans for training on many devices, best first."""
    _list = "best"
    model: str = ""
    device: str = ""
    best: List[Dict[str, Any]] = field(default_factory=list)
    evaluated: int = 0
    feasible: int = 0
    search_time_s: float = 0.0
    warnings: List[str] = field(default_factory=list)
    raw: Dict[str, Any] = field(default_factory=dict, repr=False)


# ---- tables ------------------------------------------------------------------------------------------------------


def seconds(value: Optional[float]) -> str:
    if value is None:
        return "-"
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return "0 s" if value == 0 else f"{value / 1e-9:.3g} ns"


def bytes_text(value: Optional[float]) -> str:
    if value is None:
        return "-"
    for unit, scale in (("GiB", 2.0**30), ("MiB", 2.0**20), ("KiB", 2.0**10)):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value:.0f} B"


def number(value: Optional[float]) -> str:
    return "-" if value is None else f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def yes_no(value: Optional[bool]) -> str:
    return "-" if value is None else "yes" if value else "no"


Column = Tuple[str, Callable[[Any], str]]
COLUMNS: Dict[type, Sequence[Column]] = {
    Graph: (("model", lambda r: r.model), ("parameters", lambda r: f"{r.params:,}"),
            ("FLOP forward", lambda r: f"{r.forward_flop:.4g}"), ("FLOP in all", lambda r: f"{r.training_flop:.4g}"),
            ("memory", lambda r: bytes_text(r.peak_bytes))),
    Prediction: (("device", lambda r: r.device), ("batch", lambda r: str(r.batch)),
                 ("precision", lambda r: r.precision),
                 ("step", lambda r: seconds(r.step_time_s)),
                 ("from", lambda r: seconds(r.interval_s[0])), ("to", lambda r: seconds(r.interval_s[1])),
                 ("samples/s", lambda r: number(r.throughput_samples_s)),
                 ("MFU", lambda r: "-" if r.mfu is None else f"{100 * r.mfu:.1f} %")),
    Ranked: (("device", lambda r: r.device), ("batch", lambda r: str(r.batch)),
             ("step", lambda r: seconds(r.step_time_s)),
             ("samples/s", lambda r: number(r.throughput_samples_s)), ("per USD", lambda r: number(r.samples_per_usd)),
             ("J/sample", lambda r: number(r.energy_j_per_sample)), ("fits", lambda r: yes_no(r.fits))),
    Memory: (("device", lambda r: r.device), ("batch", lambda r: str(r.batch)),
             ("needs", lambda r: bytes_text(r.peak_bytes)),
             ("fits", lambda r: yes_no(r.fits)), ("most at", lambda r: r.peak_op or "-")),
    LookupRate: (("device", lambda r: r.device), ("look-ups/s", lambda r: number(r.lookups_s)),
                 ("from", lambda r: number(r.lookups_s_low)), ("to", lambda r: number(r.lookups_s_high)),
                 ("limited by", lambda r: r.limited_by or "-"), ("not predicted", lambda r: r.reason or "")),
}
COLUMNS[Fit] = tuple(COLUMNS[Memory][:-1]) + (
    ("probability", lambda r: f"{100 * r.probability:.0f} %"),
    ("largest micro-batch", lambda r: "-" if r.largest_micro_batch is None else str(r.largest_micro_batch)))
COLUMNS[Explanation] = tuple(COLUMNS[Prediction]) + (("limited by", lambda r: r.bottleneck),)
COLUMNS[Batch] = (("device", lambda r: r.device), ("batch", lambda r: str(r.batch)), ("objective", lambda r: r.objective),
                  ("needs", lambda r: bytes_text(r.peak_bytes)), ("fits", lambda r: yes_no(r.fits)))


class Row:
    """An entry of a list in an answer, with its members as attributes."""

    def __init__(self, members: Dict[str, Any]):
        self.__dict__.update(members)


LISTS: Dict[type, Sequence[Column]] = {
    Scale: (("devices", lambda r: str(r.n)), ("step", lambda r: seconds(r.step_time_s)),
            ("samples/s", lambda r: number(r.throughput_samples_s)),
            ("efficiency", lambda r: f"{100 * r.efficiency:.0f} %"), ("fits", lambda r: yes_no(r.fits))),
    Plan: (("tp", lambda r: str(r.tp)), ("pp", lambda r: str(r.pp)), ("dp", lambda r: str(r.dp)),
           ("zero", lambda r: str(r.zero)), ("micro-batch", lambda r: str(r.micro_batch)),
           ("recompute", lambda r: r.recompute), ("step", lambda r: seconds(r.step_time_s)),
           ("samples/s", lambda r: number(r.throughput_samples_s)), ("memory", lambda r: bytes_text(r.peak_bytes))),
}


class Table(Generic[T]):
    """A list of answers that prints itself as a table."""

    def __init__(self, rows: Sequence[T], columns: Optional[Sequence[Column]] = None):
        self.rows: List[T] = list(rows)
        self.columns = columns

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> T:
        return self.rows[index]

    def __iter__(self) -> Iterator[T]:
        return iter(self.rows)

    def _cells(self) -> List[List[str]]:
        if not self.rows:
            return []
        columns = self.columns or COLUMNS[type(self.rows[0])]
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
        head = "".join(f"<th>{html.escape(c)}</th>" for c in cells[0])
        body = "".join("<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in row) + "</tr>" for row in cells[1:])
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
