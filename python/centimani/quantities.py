# SPDX-License-Identifier: Apache-2.0
"""quantities.py - numbers that know their unit and their 90 % interval, and numbers as people write them."""
from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, Tuple

# Units of fields whose names do not end with one of ENDINGS.
UNITS = {"throughput_samples_s": "samples/s", "tokens_s": "tokens/s", "lookups_s": "look-ups/s", "price_hour": "USD/h",
         "samples_per_usd": "samples/USD", "energy_j_per_sample": "J/sample", "hours": "h", "usd": "USD", "kwh": "kWh",
         "charge": "node-h", "average_power_w": "W", "mfu": ""}
ENDINGS = (("_bytes", "B"), ("_flop", "FLOP"), ("_usd", "USD"), ("_kg", "kg"), ("_j", "J"), ("_s", "s"))


def unit_of(name: str) -> Optional[str]:
    """The unit of a field. None: the field is not a quantity."""
    if name in UNITS:
        return UNITS[name]
    return next((unit for ending, unit in ENDINGS if name.endswith(ending)), None)


def seconds(value: Optional[float]) -> str:
    if value is None:
        return "-"
    for unit, scale in (("d", 259200.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= scale:
            return f"{value / (86400.0 if unit == 'd' else scale):.3g} {unit}"
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


def written(value: float, unit: str) -> str:
    """A number with its unit."""
    return seconds(value) if unit == "s" else bytes_text(value) if unit == "B" else f"{number(value)} {unit}".strip()


def span(low: float, high: float, unit: str) -> str:
    """An interval, its unit once: "52.3 to 56.9 ms"."""
    ends = written(low, unit), written(high, unit)
    return f"{ends[0].split()[0] if ends[0].split()[1:] == ends[1].split()[1:] else ends[0]} to {ends[1]}"


class Quantity(float):
    """A number with a `unit` and, where it was predicted, the ends `low` and `high` of its 90 % interval.

    It is a float in every calculation. `text` and repr() write it with unit and interval; str() is the bare number.
    """
    unit: str
    low: Optional[float]
    high: Optional[float]

    def __new__(cls, value: float, unit: str = "", low: Optional[float] = None, high: Optional[float] = None) -> "Quantity":
        self = super().__new__(cls, value)
        self.unit, self.low, self.high = unit, low, high
        return self

    def __getnewargs__(self) -> Tuple[Any, ...]:  # for pickle and copy
        return float(self), self.unit, self.low, self.high

    @property
    def interval(self) -> Optional[Tuple[float, float]]:
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def text(self) -> str:
        return written(self, self.unit)

    def __repr__(self) -> str:
        return f"{self.text} (90 % interval {span(*self.interval, self.unit)})" if self.interval else self.text

    __str__ = float.__repr__


INTERVALS = {"step_time_s": "interval_s", "time_s": "interval_s", "peak_bytes": "interval_bytes"}
RATES, TOTALS = ("throughput_samples_s", "tokens_s", "samples_per_usd"), ("hours", "usd")


def _ends(answer: Mapping[str, Any], name: str) -> Tuple[Optional[float], Optional[float]]:
    """The interval of a field. Rates and totals of the training have that of the step's time."""
    step, times = answer.get("step_time_s") or answer.get("time_s"), answer.get("interval_s")
    whole = answer.get(INTERVALS[name]) if name in INTERVALS else None
    if f"{name}_low" in answer:
        whole = (answer[f"{name}_low"], answer[f"{name}_high"])
    elif name in RATES + TOTALS and step and times and times[0] > 0:
        factors = (step / times[1], step / times[0]) if name in RATES else (times[0] / step, times[1] / step)
        whole = (answer[name] * factors[0], answer[name] * factors[1])
    return (whole[0], whole[1]) if whole else (None, None)


def with_units(answer: Mapping[str, Any]) -> Dict[str, Any]:
    """The members of an answer; numbers whose names say a unit as quantities."""
    members = dict(answer)
    for name, value in answer.items():
        unit = unit_of(name)
        if unit is not None and isinstance(value, (int, float)) and not isinstance(value, bool):
            members[name] = Quantity(value, unit, *_ends(answer, name))
    return members
