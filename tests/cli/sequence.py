# SPDX-License-Identifier: Apache-2.0
"""sequence.py - print the sequence length, runtime, precision and interval of a JSON answer on standard input.

The last value says whether tokens are samples times length."""
import json
import sys

a = json.load(sys.stdin)
row = (a.get("ranking") or a.get("best") or a.get("points") or [a])[0]
both = {**row, **a}
samples, tokens = row.get("throughput_samples_s"), row.get("tokens_s")
right = None if tokens is None or samples is None else abs(tokens / samples - both["seq"]) < 1e-9
print(a["command"], both["seq"], both["runtime"] if "ranking" not in a else row["runtime"], both["precision"], "interval_s" in both, a["warnings"], right)
