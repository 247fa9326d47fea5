# SPDX-License-Identifier: Apache-2.0
"""errors.py - the error of every question."""


class CentimaniError(RuntimeError):
    """Raised if there is no answer: the reason, its place, and what to do."""
