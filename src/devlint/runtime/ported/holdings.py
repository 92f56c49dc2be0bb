"""What a test has in its hands, so that whoever ports it to a device would move it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import FrameType, FunctionType, ModuleType

from torch import Tensor, nn

from devlint.runtime.explaining.lookup import contents
from devlint.runtime.explaining.stack import as_module, values_of
from devlint.runtime.operands import Site, is_tensor, memory_of
from devlint.runtime.ported.code import Code
from devlint.runtime.virtual.tags import notes_of

_DEPTH = 4
"""How many containers and objects inside each other are looked into."""
_MOST = 10_000
"""Values that are looked at."""
_FEW = 8
"""Values of a container that stand for all that are in it."""
_CLOSED = (type, ModuleType, FunctionType, FrameType)
"""Types of objects that are passed around and not held."""


class Holdings:
    """What the tests on the stack hold: their names, and what they call the project with.

    Args:
        code: whose code is whose.
        frame: the innermost frame to begin with.
    """

    def __init__(self, code: Code, frame: FrameType | None) -> None:
        self.tensors: set[int] = set()
        """The memory of tensors, also of those in containers and in objects of the tests' own
        classes."""
        self.modules: list[nn.Module] = []
        """Modules that aren't parts of others, also those of which plain objects are made."""
        self._code = code
        self._seen: set[int] = set()
        called: FrameType | None = None
        for each in code.frames(frame):
            side = code.side_of(each.f_code.co_filename)
            if side == "test":
                self._look_at(values_of(each).values(), _DEPTH, True)
                if called is not None:
                    self._look_at(arguments(called), _DEPTH, True)
            if side != "between":
                called = None if side == "test" else each

    def _look_at(self, values: Iterable[object], depth: int, are_own: bool) -> None:
        """`are_own`: the values are the test's, and not attributes of one of the project's
        objects."""
        for value in values:
            if is_tensor(value):
                memory = memory_of(value) if are_own else None
                if memory is not None:
                    self.tensors.add(memory)
            elif depth and id(value) not in self._seen and len(self._seen) < _MOST:
                self._seen.add(id(value))
                module = as_module(value)
                if module is not None:
                    self.modules.append(module)
                else:
                    self._look_at(_items(value), depth - 1, are_own)
                    own = are_own and self._is_of_test(type(value))
                    self._look_at(attributes(value), depth - 1, own)

    def _is_of_test(self, kind: type) -> bool:
        """Whether a class is written in a test, as a `TestCase` is."""
        codes = (getattr(value, "__code__", None) for value in vars(kind).values())
        first = next((code for code in codes if code is not None), None)
        return first is not None and self._code.side_of(first.co_filename) == "test"


NEAR = "_devlint_near"
"""The note on a tensor that the project has made on the CPU, at a line of a function that had
something at hand that is on the device: that line."""


def near_site(tensor: Tensor) -> Site | None:
    """The line, where that was noted."""
    return notes_of(tensor).get(NEAR)


def is_registered(module: nn.Module, tensor: Tensor) -> bool:
    """Whether `.to()` takes a tensor along that a module is made with."""
    memory = memory_of(tensor)
    parts = (*module.parameters(), *module.buffers())
    return memory is not None and any(memory_of(part) == memory for part in parts)


def arguments(frame: FrameType) -> list[object]:
    """What a function was called with, as far as its parameters still have it."""
    code, names = frame.f_code, values_of(frame)
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & 0x04) + bool(code.co_flags & 0x08)  # *args, **kwargs
    return [names.get(name) for name in code.co_varnames[:count]]


def leaves(values: Iterable[object], depth: int = _DEPTH) -> Iterator[object]:
    """Values and what is in containers among them; of a long one, the first few."""
    for value in values:
        items = _items(value) if depth else []
        if items:
            yield from leaves(items[:_FEW], depth - 1)
        else:
            yield value


def _items(value: object) -> list[object]:
    """What is in a container of Python's own."""
    if issubclass(type(value), dict):
        return list(dict.values(value))  # type: ignore[arg-type]
    if issubclass(type(value), tuple):
        return list(tuple.__iter__(value))  # type: ignore[arg-type]
    return list(value) if type(value) in (list, set, frozenset) else []  # type: ignore[call-overload]


def attributes(value: object) -> list[object]:
    """What an object keeps under names; it isn't asked, since it may run code of its own."""
    return [] if issubclass(type(value), _CLOSED) else list(contents(value).values())
