# SPDX-License-Identifier: Apache-2.0
"""progress.py - one line on a terminal that says what takes so long. Anywhere else nothing is written."""
from __future__ import annotations

import shutil
import sys
import time
from typing import Any


class Progress:
    def __init__(self, what: str, stream: Any = None):
        self.what, self.stream, self.began = what, stream or sys.stderr, time.monotonic()
        self.shown = False

    def say(self, text: str) -> None:
        if self.stream and self.stream.isatty():
            line = f"{self.what}: {text}, {time.monotonic() - self.began:.1f} s"
            self.stream.write("\r\033[K" + line[:shutil.get_terminal_size().columns - 1])
            self.stream.flush()
            self.shown = True

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: Any) -> None:
        """Remove the line."""
        if self.shown:
            self.stream.write("\r\033[K")
            self.stream.flush()
