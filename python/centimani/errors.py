# SPDX-License-Identifier: Apache-2.0
"""errors.py - the errors of captures and of questions."""
import os
import sys
import traceback

FRAMEWORKS = ("torch", "jax", "jaxlib", "flax", "optax")


class CaptureError(RuntimeError):
    """Why a step could not be recorded: the operator or the line, and what to do."""


class NeedsData(CaptureError):
    """A shape or a branch depends on data that fake tensors do not have."""


class CentimaniError(RuntimeError):
    """Raised if there is no answer: the reason, its place, and what to do."""


def user_line(error: BaseException) -> str:
    """The last line of the user's own code before the error."""
    files = [__file__] + [sys.modules[name].__file__ for name in FRAMEWORKS if name in sys.modules]
    own = tuple(os.path.dirname(os.path.abspath(f)) + os.sep for f in files if f)
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not os.path.abspath(f.filename).startswith(own)]
    last = frames[-1] if frames else None
    return f"{last.filename}:{last.lineno}: {last.line}" if last else ""
