# SPDX-License-Identifier: Apache-2.0
"""values.py - the contents of small tensors that a step without data still knows.

Fake tensors have no contents. But models branch on tensors that they compute from constants: a mask compared with a
causal mask, a random number compared with the probability of dropping a layer. So operators whose operands are all
known run a second time, on real CPU tensors. These are constants of the program, the integers and truth values among
the inputs, and single uniform random numbers, which are taken as 1/2: a comparison then gives its likelier answer.
"""
from __future__ import annotations

import weakref
from contextlib import contextmanager
from typing import Any, Dict, Iterator, List, Optional, Tuple

import torch
from torch.utils._pytree import tree_flatten, tree_map

ELEMENTS_MAX = 1 << 22
UNIFORM = ("aten::rand", "aten::rand_like", "aten::uniform", "aten::uniform_")
RANDOM = UNIFORM + (
    "aten::bernoulli", "aten::bernoulli_", "aten::binomial", "aten::cauchy_", "aten::exponential_", "aten::geometric_",
    "aten::log_normal_", "aten::multinomial", "aten::native_dropout", "aten::normal", "aten::normal_", "aten::poisson",
    "aten::randint", "aten::randint_like", "aten::randn", "aten::randn_like", "aten::random_", "aten::randperm",
    "aten::rrelu_with_noise")
BELOW, ABOVE = ("aten::lt", "aten::le"), ("aten::gt", "aten::ge")
LIFTED = ("aten::lift_fresh", "aten::lift_fresh_copy", "aten::lift")


class Memory:
    """Memory that views of one tensor share."""

    __slots__ = ("valid", "random", "given")

    def __init__(self, random: bool = False, given: bool = False):
        self.valid, self.random, self.given = True, random, given


class Value:
    __slots__ = ("tensor", "memory", "chance")

    def __init__(self, tensor: torch.Tensor, memory: Memory, chance: Optional[float] = None):
        self.tensor, self.memory = tensor, memory
        self.chance = chance  # for a random truth value: the probability of its contents


@contextmanager
def _real() -> Iterator[None]:
    """Run operators on real tensors."""
    from torch.utils import _python_dispatch
    disable = getattr(_python_dispatch, "_disable_current_modes", None)
    if disable is None:  # PyTorch 1.13: no other mode is active inside a dispatch mode
        yield
    else:
        with disable():
            yield


def _tensors(tree: Any) -> List[torch.Tensor]:
    return [t for t in tree_flatten(tree)[0] if isinstance(t, torch.Tensor)]


def _address(t: torch.Tensor) -> int:
    return t.storage().data_ptr() if not hasattr(t, "untyped_storage") else t.untyped_storage().data_ptr()


def _is_scripted(t: torch.Tensor) -> bool:
    """Scripted functions make real tensors, such as a length computed from sizes, where all others have no contents."""
    return type(t) is torch.Tensor and t.device.type == "cpu" and t.dim() == 0 and not t.requires_grad


def _checks(name: str, args: Any) -> bool:
    """Inside operators, PyTorch compares one truth value with true to find an error: istft, a window that leaves gaps."""
    return name == "aten::equal" and all(t.dtype == torch.bool and t.dim() == 0 for t in args[:2])


def _branches(name: str, args: Any) -> bool:
    """A truth value decides a branch of the program."""
    return name in ("aten::_local_scalar_dense", "aten::item", "aten::is_nonzero") and args[0].dtype == torch.bool


def _chance(name: str, operands: List[Value], args: Any, result: torch.Tensor) -> Optional[float]:
    """The probability of a comparison's result, if one operand is a uniform random number."""
    if len(operands) != 1 or not operands[0].memory.random or operands[0].tensor.dtype == torch.bool:
        return operands[0].chance if len(operands) == 1 and result.numel() == 1 else None
    if name not in BELOW + ABOVE or not isinstance(args[1], (int, float)) or result.numel() != 1:
        return None
    below = min(max(float(args[1]), 0.0), 1.0)
    return max(below, 1 - below)


class Values:
    """The known contents of tensors, by tensor object."""

    def __init__(self) -> None:
        self.known: Dict[int, Tuple[Any, Value]] = {}
        self.scripted: Dict[int, torch.Tensor] = {}  # held, so that no other tensor gets their memory and is taken for them
        self.functions_that_check = 0  # how many functions that check values are running now

    @contextmanager
    def without_errors(self) -> Iterator[None]:
        """Unknown truth values that decide a branch are false: each would be an error in the data."""
        self.functions_that_check += 1
        try:
            yield
        finally:
            self.functions_that_check -= 1

    def find(self, t: torch.Tensor) -> Optional[Value]:
        entry = self.known.get(id(t))
        if entry and entry[0]() is t:
            return entry[1] if entry[1].memory.valid else None
        if not _is_scripted(t):
            return None
        with _real():
            self.add(t, Value(t.clone(), Memory()))
        return self.known[id(t)][1]

    def meets(self, t: torch.Tensor) -> bool:
        """True: a tensor of a scripted function that no operator has read yet. It may lie where a released one lay."""
        if not _is_scripted(t) or id(t) in self.scripted:
            return False
        self.scripted[id(t)] = t
        return True

    def add(self, t: torch.Tensor, value: Value) -> None:
        self.known[id(t)] = (weakref.ref(t), value)

    def give(self, t: torch.Tensor, contents: torch.Tensor) -> None:
        """The contents of an input."""
        if contents.numel() <= ELEMENTS_MAX:
            self.add(t, Value(contents, Memory(given=True)))

    def hold(self, t: torch.Tensor, contents: torch.Tensor) -> None:
        """The contents of a buffer when the step begins."""
        self.add(t, Value(contents, Memory()))

    def largest(self, t: torch.Tensor) -> Optional[int]:
        """The largest of integers; None: they are unknown."""
        value = self.find(t)
        if value is None or not value.tensor.numel():
            return None
        with _real():
            return int(value.tensor.max())

    def read(self, t: torch.Tensor, how: str) -> Any:
        """Tensor.tolist() or Tensor.numpy(); None: the numbers are unknown."""
        value = self.find(t)
        if value is None:
            return None
        with _real():
            return getattr(value.tensor.clone(), how)()

    @staticmethod
    def filled(count: int, number: int) -> torch.Tensor:
        with _real():
            return torch.full((count,), number, dtype=torch.int64, device="cpu")

    # ---- operators -----------------------------------------------------------------------------------------------

    def _operands(self, args: Any, kwargs: Any) -> Optional[List[Value]]:
        """None: at least one is unknown."""
        found = []
        for t in _tensors((args, kwargs)):
            value = self.find(t)
            if value is None:
                return None
            found.append(value)
        return found

    def _run(self, func: Any, args: Any, kwargs: Any) -> Any:
        def real(x: Any) -> Any:
            if isinstance(x, torch.Tensor):
                value = self.find(x)
                assert value is not None
                return value.tensor
            return x

        kwargs = dict(kwargs)
        if kwargs.get("device") is not None:
            kwargs["device"] = torch.device("cpu")
        with _real():
            return func(*tree_map(real, args), **tree_map(real, kwargs))

    def answer(self, func: Any, args: Any, kwargs: Any) -> Any:
        """The result of an operator whose result depends on contents: a number, or tensors; None: unknown."""
        operands = self._operands(args, kwargs)
        name = str(func._schema.name)
        if operands is None and (_checks(name, args) or (self.functions_that_check and _branches(name, args))):
            return False
        if not operands or name in RANDOM:
            return None
        try:
            return self._run(func, args, kwargs)
        except Exception:  # the reason that the caller has is the user's
            return None

    def follow(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        """Called after an operator ran: compute its contents too, or forget those that it overwrites."""
        name, outputs = str(func._schema.name), _tensors(result)
        if name in LIFTED:
            self._lift(args[0], outputs)
            return
        operands = None if name in RANDOM else self._operands(args, kwargs)
        if operands is None or any(t.numel() > ELEMENTS_MAX or t.layout != torch.strided for t in outputs):
            self._forget(func, args, kwargs)
            if name in UNIFORM and len(outputs) == 1 and outputs[0].numel() == 1:
                with _real():
                    half = torch.full(tuple(outputs[0].shape), 0.5)
                self.add(outputs[0], Value(half, Memory(random=True)))
            return
        if outputs:
            try:
                made = self._run(func, args, kwargs)
            except Exception:
                self._forget(func, args, kwargs)
                return
            self._keep(name, operands, args, outputs, _tensors(made))

    def _keep(self, name: str, operands: List[Value], args: Any, outputs: List[Any], made: List[Any]) -> None:
        for t, contents in zip(outputs, made):
            memory = next((v.memory for v in operands if _address(v.tensor) == _address(contents)), None)
            if memory is None:
                memory = Memory(any(v.memory.random for v in operands), any(v.memory.given for v in operands))
            if tuple(t.shape) == tuple(contents.shape):
                self.add(t, Value(contents, memory, _chance(name, operands, args, contents)))

    def _lift(self, given: Any, outputs: List[torch.Tensor]) -> None:
        known = self.find(given)
        if type(given) is torch.Tensor and given.device.type == "cpu" and known is None:
            with _real():
                known = Value(given.clone(), Memory())
        if known is not None and outputs:
            self.add(outputs[0], known)

    def _forget(self, func: Any, args: Any, kwargs: Any) -> None:
        """An operator with unknown operands may write into known tensors."""
        for i, argument in enumerate(func._schema.arguments):
            if argument.alias_info is None or not argument.alias_info.is_write:
                continue
            for t in _tensors(args[i] if i < len(args) else kwargs.get(argument.name)):
                value = self.find(t)
                if value is not None:
                    value.memory.valid = False

    def reason(self, args: Any) -> Optional[str]:
        """Inputs that an answer depends on besides the program, for a warning; None: nothing."""
        found = [v for v in map(self.find, _tensors(args)) if v is not None]
        for v in found:
            if v.memory.random and v.chance != 1:
                often = f" ({100 * v.chance:.0f} % of the steps)" if v.chance is not None else ""
                return f"a branch depends on a random number: its likelier path was recorded{often}"
        if any(v.memory.given for v in found):
            return ("a branch or a shape depends on the values of the inputs: it was recorded for the given integers, "
                    "repeated along the batch")
        return None
