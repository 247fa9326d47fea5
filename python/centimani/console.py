# SPDX-License-Identifier: Apache-2.0
"""console.py - the command `centimani` of an installed wheel: the program itself, which is a function of the library.

`centimani capture` is Python, as is `python -m centimani`; all other commands are those of the program.
"""
from __future__ import annotations

import ctypes
import os
import signal
import sys
from typing import List, Optional


def main(words: Optional[List[str]] = None) -> int:
    words = sys.argv[1:] if words is None else words
    if words and words[0] == "capture":
        from .command import main as capture
        return capture(words[1:])
    from .library import CentimaniError, load
    try:
        library = load()
    except CentimaniError as error:
        sys.stderr.write(f"centimani: {error}\n")
        return 1
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Python's handler would wait for the library to return
    argv = (ctypes.c_char_p * (len(words) + 2))(b"centimani", *[os.fsencode(w) for w in words])  # ends with NULL
    return int(library.cm_main(len(words) + 1, argv))


if __name__ == "__main__":
    sys.exit(main())
