# SPDX-License-Identifier: Apache-2.0
"""library.py - predictions and the other questions, answered in this process by libcentimani.so through ctypes."""
from __future__ import annotations

import ctypes
import ctypes.util
import json
import os
import tempfile
from contextlib import ExitStack, contextmanager
from dataclasses import fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple, Type, TypeVar, Union

from .errors import CentimaniError
from .results import LookupRate, Ranked, Timeline, from_json
from .tables import Table

T = TypeVar("T")

Model = Union[str, "os.PathLike[str]", Any]  # a name, a file, a description, a Trace or a watch


class Given:
    """A group of arguments, which prints as those that were given."""

    def __repr__(self) -> str:
        given = ((f.name, getattr(self, f.name)) for f in fields(self))  # type: ignore[arg-type]  # of a dataclass
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in given if value is not None)})"


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
    trace: Any = getattr(model, "trace", model)
    if not hasattr(trace, "save"):
        raise CentimaniError(f"a model is a name, a file, a description or a capture, not {type(model).__name__}; "
                             "capture(model, inputs) makes one of a module")
    with tempfile.TemporaryDirectory() as folder:
        yield trace.save(os.path.join(folder, "model.cmt.json"))


def _item(key: str, value: Any) -> List[str]:
    """One option of the program with its value. A mapping repeats the option; that of --lora is one list."""
    word = key.rstrip("_").replace("_", "-")
    name = ("-" if len(word) == 1 else "--") + word
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


def _options(command: str, given: Mapping[str, Any]) -> Dict[str, Any]:
    """The options among a function's arguments. Fields of plan and tuning are options; a keyword is more special."""
    from .questions import Plan, Tuning  # which imports this file
    options: Dict[str, Any] = {}
    known = {f.name for kind in (Plan, Tuning) for f in fields(kind)}
    for name, kind in (("plan", Plan), ("tuning", Tuning)):
        if given.get(name) is not None and not isinstance(given[name], kind):
            raise TypeError(f"{name}= is a centimani.{kind.__name__}, not {type(given[name]).__name__}")
        options.update(vars(given[name]) if given.get(name) is not None else {})
    own = {k: v for k, v in given.items() if k not in ("model", "device", "devices", "plan", "tuning", "more")}
    if command == "rank" and "devices" in given:
        own["devices"] = given["devices"]
    for name in given.get("more", {}):
        if name not in known:
            near = get_close_matches(name, [*known, *own], 1)
            raise TypeError(f"{command}() has no argument '{name}'" + (f"; did you mean '{near[0]}'?" if near else ""))
    options.update({k: v for k, v in {**own, **given.get("more", {})}.items() if v is not None})
    return options


def _words(options: Mapping[str, Any]) -> List[str]:
    return [word for key, value in options.items() for word in _item(key, value)]


def _networks(model: Any) -> List[Tuple[Model, Optional[float]]]:
    """The networks of a question with their weights: a list, a mapping to weights, or one network."""
    if isinstance(model, Mapping):
        return list(model.items())
    return [(one, None) for one in (model if isinstance(model, (list, tuple)) else [model])]


def ask(command: str, model: Model, options: Mapping[str, Any]) -> Dict[str, Any]:
    with ExitStack() as stack:
        specs = [stack.enter_context(_spec(one)) + (f"*{weight}" if weight is not None else "") for one, weight in _networks(model)]
        text, notes = answer(command, *specs, "--json", *_words(options))
    try:
        result: Dict[str, Any] = json.loads(text)
    except ValueError:
        raise CentimaniError(f"'{command}' gave no JSON") from None
    result.setdefault("warnings", [n[len("warning: "):] for n in notes if n.startswith("warning: ")])
    if not isinstance(model, (str, os.PathLike, list, tuple, Mapping)):
        result["model"] = getattr(getattr(model, "trace", model), "name", result.get("model"))
    return result


def one(kind: Type[T], command: str, given: Mapping[str, Any]) -> T:
    """One answer, as an object of `kind`. `given`: all arguments of the function that was called."""
    device = {"device": given["device"]} if "device" in given else {}
    full = {"full": True} if kind is Timeline else {}
    return from_json(kind, ask(command, given["model"], {**_options(command, given), **device, **full}))


def per_device(kind: Type[T], command: str, given: Mapping[str, Any]) -> Table[T]:
    """One answer per device."""
    if not given["devices"]:
        raise CentimaniError(f"{command} needs a device: centimani.{command}(model, \"nvidia-h200\", batch=64)")
    return Table([one(kind, command, {**given, "device": device}) for device in given["devices"]], kind)


def ranking(command: str, given: Mapping[str, Any]) -> Table[Ranked]:
    result = ask(command, given["model"], _options(command, given))
    shared = {name: result.get(name) for name in ("model", "objective", "unit")}
    return Table([from_json(Ranked, {**shared, **row}) for row in result.get("ranking", [])], Ranked)


def rates(command: str, given: Mapping[str, Any]) -> Table[LookupRate]:
    """Rates of the devices, or of all that are known; those without a prediction have a reason."""
    asked = [["--device", d] for d in given["devices"]] or [[]]
    found = [json.loads(answer(command, "--json", *device, *_words(_options(command, given)))[0])["devices"] for device in asked]
    return Table([from_json(LookupRate, row) for rows in found for row in rows], LookupRate)


def models() -> List[Dict[str, Any]]:
    """The named models."""
    return json.loads(answer("models", "--json")[0])["models"]


def devices() -> List[Dict[str, Any]]:
    """The accelerators in the database."""
    return json.loads(answer("devices", "--json")[0])["devices"]


def version() -> str:
    return json.loads(answer("version", "--json")[0])["version"]
