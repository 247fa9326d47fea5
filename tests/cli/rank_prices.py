# SPDX-License-Identifier: Apache-2.0
"""rank_prices.py - print each device's price basis, provider and state from a ranking in JSON on standard input."""
import json
import sys

r = json.load(sys.stdin)
print(r["price_basis"], [(e["device"], e["price_basis"], e["provider"], e["state"]) for e in r["ranking"]])
