# SPDX-License-Identifier: Apache-2.0
"""profile.py - the device profile to write: kernel tables and host times, complete after every write."""
import datetime
import json
import os
import re
import sys

from .cases import BadCase, Case

COLD, WARM = "operands as cold as a training step finds them", "operands warm"
SOURCE = "bench"


def rounded(seconds):
    return float(f"{seconds:.4g}")


def number(value, unit):
    return {"value": rounded(value), "unit": unit, "kind": "measured", "source": SOURCE}


def identity(backend, base):
    """The identity of the profile: tables extend a base, or a device that describe() measures."""
    name = backend.title()
    slug = re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-.") or backend.name
    found = {"id": f"{slug}-{backend.framework.lower()}", "name": f"{name}, {backend.framework}"}
    return {**found, **({"base": base} if base else {})}


class Profile:
    """Rows by (op, pass, variant, dtype); write() replaces the file atomically."""

    def __init__(self, path, backend, command, base=None, cold=True):
        today = datetime.date.today()
        versions = ", ".join([*backend.versions(), f"Python {sys.version.split()[0]}"])
        self.path, self.month, self.head = path, today.strftime("%Y-%m"), identity(backend, base)
        self.runtime, self.calls, self.members = backend.runtime, backend.calls, {}
        title = f"Centimani benchmark of {backend.framework} calls on {backend.title()}; {versions}"
        self.sources = {SOURCE: {"title": title, "where": command, "date": today.isoformat(), "device": backend.title(),
                                 "software": backend.software(), "conditions": COLD if cold else WARM}}
        self.cold = cold
        self.tables, self.host = {}, []

    def add(self, case, seconds, kernels):
        self.tables.setdefault(case[:4], {})[case.sizes] = (rounded(seconds), kernels)

    def holds(self, case):
        return case.sizes in self.tables.get(case[:4], {})

    def rows(self):
        return sum(len(rows) for rows in self.tables.values())

    def note(self, conditions):
        """Add the measuring conditions to the source."""
        if conditions:
            self.sources[SOURCE]["conditions"] += f"; {conditions}"

    def describe(self, backend):
        """Measure the device that no base describes."""
        if "base" not in self.head and not self.members:
            from . import ceilings
            self.members = ceilings.measure(backend, self.runtime, number)

    def set_host(self, times):
        """times: {what: seconds}."""
        self.host = [{"runtime": self.runtime, "what": what, "time": number(seconds, "s")}
                     for what, seconds in times.items()]

    def resume(self):
        """Load the rows of an existing file; do nothing if there is none."""
        if not os.path.exists(self.path):
            return
        try:
            with open(self.path, encoding="utf-8") as file:
                old = json.load(file)
            if old.get("id") != self.head["id"]:
                raise BadCase(f"{self.path} is of {old.get('id')}, this device is {self.head['id']}; choose another -o")
            if old.get("kernels") and (COLD in str(old["sources"][SOURCE])) != self.cold:
                with_warm = "with" if self.cold else "without"
                raise BadCase(f"{self.path} was measured {with_warm} --warm; continue it {with_warm} --warm")
            measured = old["sources"][SOURCE].get("software") if old.get("kernels") else None
            if measured and measured != self.sources[SOURCE]["software"]:
                raise BadCase(f"{self.path} was measured with {measured}, here is {self.sources[SOURCE]['software']}; choose another -o")
            for table in old.get("kernels", []):
                width = len(self.calls[table["op"]].dims)
                for row in table["rows"]:
                    key = (table["op"], table["pass"], table.get("variant", ""), table["dtype"])
                    self.add(Case(*key, tuple(row[:width])), row[width], row[width + 1])
            self.host = old.get("host", [])
            own = {"schema", "kernels", "host", "sources", *self.head}
            self.members = {key: value for key, value in old.items() if key not in own}
        except (OSError, ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
            if isinstance(error, BadCase):
                raise
            raise BadCase(f"{self.path} is no profile that can be continued: {error}") from None

    def _table(self, key, rows):
        op, phase, variant, dtype = key
        return {"runtime": self.runtime, "op": op, "pass": phase, "variant": variant, "dtype": dtype,
                "dims": list(self.calls[op].dims), "kind": "measured", "source": SOURCE, "date": self.month,
                "rows": [[*sizes, *found] for sizes, found in sorted(rows.items())]}

    def text(self):
        """One line per table, so that files are short and can be compared."""
        def dump(value):
            return json.dumps(value, separators=(",", ":"))
        lines = [f'"{key}":{dump(value)}' for key, value in {"schema": 1, **self.head, **self.members}.items()]
        tables = ",\n".join(dump(self._table(key, rows)) for key, rows in sorted(self.tables.items()))
        lines.append(f'"kernels":[\n{tables}]')
        lines.append('"host":[\n' + ",\n".join(map(dump, self.host)) + "]")
        lines.append(f'"sources":{dump(self.sources)}')
        return "{" + ",\n".join(lines) + "}\n"

    def write(self):
        if self.path is None:
            return
        temporary = f"{self.path}.part"
        with open(temporary, "w", encoding="utf-8") as file:
            file.write(self.text())
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, self.path)
