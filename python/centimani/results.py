# SPDX-License-Identifier: Apache-2.0
"""results.py - answers as dataclasses. Numbers have the units that their names say, in SI, and 90 % intervals."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Dict, Iterator, List, Optional, Tuple, Type, TypeVar

from . import plots
from .quantities import bytes_text, with_units
from .tables import Row, Table

T = TypeVar("T")


def from_json(kind: Type[T], answer: Dict[str, Any]) -> T:
    """Fill the fields that the dataclass has; `raw` keeps the whole answer."""
    names = {f.name for f in fields(kind)} - {"raw"}  # type: ignore[arg-type]
    return kind(**{k: v for k, v in with_units(answer).items() if k in names}, raw=answer)  # type: ignore[call-arg]


class Answer(Mapping):  # type: ignore[type-arg]
    """An answer: fields with types and units, the program's JSON as a read-only dict, and a table or a chart."""
    raw: Dict[str, Any]

    def __getitem__(self, key: str) -> Any:
        return self.raw[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.raw)

    def __len__(self) -> int:
        return len(self.raw)

    def _table(self) -> "Table[Any]":
        return Table([self])

    def __str__(self) -> str:
        return str(self._table())

    def _repr_html_(self) -> str:
        return self._table()._repr_html_()

    def to_pandas(self) -> Any:
        """A DataFrame; needs pandas. `frame.attrs["units"]` has the units of its columns."""
        return self._table().to_pandas()

    def plot(self, ax: Any = None) -> Any:
        """A chart on `ax` or on new axes, which are returned; needs matplotlib."""
        return plots.draw(self._table(), ax)


@dataclass(eq=False)
class Graph(Answer):
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


@dataclass(eq=False)
class Prediction(Answer):
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


@dataclass(eq=False)
class Ranked(Prediction):
    """One entry of a ranking."""
    rank: Optional[int] = None
    name: str = ""
    n: int = 1
    cluster: Optional[str] = None
    plan: Optional[Dict[str, Any]] = None
    job: Optional[Dict[str, Any]] = None
    hours: Optional[float] = None
    usd: Optional[float] = None
    price_hour: Optional[float] = None
    price_basis: Optional[str] = None
    provider: Optional[str] = None
    samples_per_usd: Optional[float] = None
    energy_j_per_sample: Optional[float] = None
    fits: Optional[bool] = None
    tied_with_next: bool = False
    time_s: Optional[float] = None  # of several networks, with cost_usd and energy_j the sums over `networks`
    cost_usd: Optional[float] = None
    energy_j: Optional[float] = None
    networks: List[Dict[str, Any]] = field(default_factory=list)


@dataclass(eq=False)
class LookupRate(Answer):
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


@dataclass(eq=False)
class Memory(Answer):
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


@dataclass(eq=False)
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


@dataclass(eq=False)
class Batch(Answer):
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


@dataclass(eq=False)
class Explanation(Prediction):
    """Shares of a step's time."""
    bottleneck: str = ""
    ops: List[Dict[str, Any]] = field(default_factory=list, repr=False)
    sensitivity: List[Dict[str, Any]] = field(default_factory=list, repr=False)


class Listed(Answer):
    """Shows one of its members, a list, as a table."""
    _list = ""

    def _table(self) -> "Table[Any]":
        return Table([Row(with_units(row)) for row in getattr(self, self._list)], type(self))


@dataclass(eq=False)
class Timeline(Listed):
    """One step in time: what host, device and network do, by lane; with its operators, memory and rooflines."""
    _list = "slices"
    model: str = ""
    device: str = ""
    batch: int = 0
    precision: str = ""
    step_time_s: float = 0.0
    interval_s: Tuple[float, float] = (0.0, 0.0)
    bottleneck: str = ""
    timeline: Dict[str, Any] = field(default_factory=dict, repr=False)
    ops: List[Dict[str, Any]] = field(default_factory=list, repr=False)
    memory: Dict[str, Any] = field(default_factory=dict, repr=False)
    roofs: List[Dict[str, Any]] = field(default_factory=list, repr=False)
    warnings: List[str] = field(default_factory=list)
    raw: Dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def lanes(self) -> List[str]:
        return [lane["name"] for lane in self.timeline["lanes"]]

    @property
    def slices(self) -> List[Dict[str, Any]]:
        """Parts of the step in the order of lanes and time; short calls of a phase are joined."""
        return [{"lane": lane["name"], **part} for lane in self.timeline["lanes"] for part in lane["slices"]]

    def plot(self, ax: Any = None) -> Any:
        return plots.timeline(self, ax)


@dataclass(eq=False)
class Scale(Listed):
    """How training scales over several devices."""
    _list = "points"
    model: str = ""
    device: str = ""
    mode: str = ""
    points: List[Dict[str, Any]] = field(default_factory=list)
    warnings: List[str] = field(default_factory=list)
    raw: Dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(eq=False)
class Plans(Listed):
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
