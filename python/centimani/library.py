# SPDX-License-Identifier: Apache-2.0
"""library.py - predictions and the other questions, answered in this process by libcentimani.so through ctypes."""
from __future__ import annotations

import ctypes
import ctypes.util
import json
import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Type, TypeVar, Union

from .results import LookupRate, Ranked, Table, from_json

T = TypeVar("T")

Model = Union[str, "os.PathLike[str]", Any]  # a name, a file, a description, a Trace or a watch


class CentimaniError(RuntimeError):
    """Raised if there is no answer: the reason, its place, and what to do."""


# ---- the library -------------------------------------------------------------------------------------------------


def _candidates() -> Iterator[str]:
    here = Path(__file__).resolve().parent
    if os.environ.get("CENTIMANI_LIBRARY"):
        yield os.environ["CENTIMANI_LIBRARY"]
    yield str(here / "libcentimani.so")                                        # in the wheel
    yield str(here.parent.parent / "build" / "python" / "libcentimani.so")     # beside the sources
    found = ctypes.util.find_library("centimani")
    if found:
        yield found


_library: Optional[ctypes.CDLL] = None


def load() -> ctypes.CDLL:
    global _library
    if _library is not None:
        return _library
    reasons = []
    for path in _candidates():
        if os.sep in path and not os.path.exists(path):
            continue
        try:
            library = ctypes.CDLL(path)
        except OSError as error:
            reasons.append(str(error))
            continue
        library.cm_answer.argtypes = [ctypes.c_int, ctypes.POINTER(ctypes.c_char_p), ctypes.POINTER(ctypes.c_void_p),
                                      ctypes.POINTER(ctypes.c_void_p)]
        library.cm_answer_free.argtypes = [ctypes.c_void_p]
        library.cm_answer_free.restype = None
        library.cm_main.argtypes = [ctypes.c_int, ctypes.POINTER(ctypes.c_char_p)]
        _library = library
        return library
    raise CentimaniError("libcentimani.so was not found" + (": " + "; ".join(reasons) if reasons else "")
                         + ". Build it with `make build`, or name it in CENTIMANI_LIBRARY")


def _text(library: ctypes.CDLL, pointer: ctypes.c_void_p) -> str:
    if not pointer.value:
        return ""
    text = ctypes.string_at(pointer.value).decode("utf-8", "replace")
    library.cm_answer_free(pointer)
    return text


def answer(*words: str) -> Tuple[str, List[str]]:
    """The program's output for these arguments, and its notes. Raises CentimaniError if it fails."""
    library = load()
    argv = (ctypes.c_char_p * max(len(words), 1))(*[os.fsencode(w) for w in words])
    result, notes = ctypes.c_void_p(), ctypes.c_void_p()
    status = library.cm_answer(len(words), argv, ctypes.byref(result), ctypes.byref(notes))
    text, said = _text(library, result), _text(library, notes)
    lines = [line[len("centimani: "):] if line.startswith("centimani: ") else line for line in said.splitlines()]
    if status and not text:  # an answer such as "it fits nowhere" has a nonzero status
        raise CentimaniError("\n".join(lines) or f"'{' '.join(words)}' failed")
    return text, lines


# ---- questions ---------------------------------------------------------------------------------------------------


@contextmanager
def _spec(model: Model) -> Iterator[str]:
    if isinstance(model, (str, os.PathLike)):
        yield os.fspath(model)
        return
    trace = getattr(model, "trace", model)
    if not hasattr(trace, "save"):
        raise CentimaniError(f"a model is a name, a file, a description or a capture, not {type(model).__name__}; "
                             "capture(model, inputs) makes one of a module")
    with tempfile.TemporaryDirectory() as folder:
        yield trace.save(os.path.join(folder, "model.cmt.json"))


def _item(key: str, value: Any) -> List[str]:
    """One option of the program with its value. A mapping repeats the option; that of --lora is one list."""
    name = key if key.startswith("-") else "--" + key.replace("_", "-")
    if value is True:
        return [name, "on"] if name == "--host-io" else [name]
    if value is None or value is False:
        return [name, "off"] if value is False and name == "--host-io" else []
    if isinstance(value, Mapping):
        pairs = [f"{k}={v}" for k, v in value.items()]
        return [name, ",".join(pairs)] if name == "--lora" else [w for pair in pairs for w in (name, pair)]
    if isinstance(value, (list, tuple)):
        return [name, ",".join(map(str, value))]
    return [name, str(value)]


def _words(options: Mapping[str, Any]) -> List[str]:
    return [word for key, value in options.items() for word in _item(key, value)]


def ask(command: str, model: Model, options: Mapping[str, Any]) -> Dict[str, Any]:
    with _spec(model) as spec:
        text, notes = answer(command, spec, "--json", *_words(options))
    try:
        result: Dict[str, Any] = json.loads(text)
    except ValueError:
        raise CentimaniError(f"'{command}' gave no JSON") from None
    result.setdefault("warnings", [n[len("warning: "):] for n in notes if n.startswith("warning: ")])
    if not isinstance(model, (str, os.PathLike)):
        result["model"] = getattr(getattr(model, "trace", model), "name", result.get("model"))
    return result


def one(kind: Type[T], command: str, model: Model, device: Sequence[str], options: Mapping[str, Any]) -> T:
    """One answer, as an object of `kind`."""
    return from_json(kind, ask(command, model, {**options, **({"device": device[0]} if device else {})}))


def per_device(kind: Type[T], command: str, model: Model, devices: Sequence[str], options: Mapping[str, Any]) -> Table[T]:
    """One answer per device."""
    if not devices:
        raise CentimaniError(f"{command} needs a device: centimani.{command}(model, \"nvidia-h200\", batch=64)")
    return Table([one(kind, command, model, (d,), options) for d in devices])


def ranking(command: str, model: Model, options: Mapping[str, Any]) -> Table[Ranked]:
    result = ask(command, model, options)
    return Table([from_json(Ranked, {"model": result.get("model"), **row}) for row in result.get("ranking", [])])


def rates(command: str, devices: Sequence[str], options: Mapping[str, Any]) -> Table[LookupRate]:
    """Rates of the devices, or of all that are known; those without a prediction have a reason."""
    asked = [["--device", d] for d in devices] or [[]]
    found = [json.loads(answer(command, "--json", *device, *_words(options))[0])["devices"] for device in asked]
    return Table([from_json(LookupRate, row) for rows in found for row in rows])


def models() -> List[Dict[str, Any]]:
    """The named models."""
    return json.loads(answer("models", "--json")[0])["models"]


def devices() -> List[Dict[str, Any]]:
    """The accelerators in the database."""
    return json.loads(answer("devices", "--json")[0])["devices"]


def version() -> str:
    return json.loads(answer("version", "--json")[0])["version"]
