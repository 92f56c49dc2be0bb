"""What belongs to which module: parameters, buffers, plain attributes, and modules themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import TypeVar

from torch import Tensor, nn

from devlint.runtime.explaining.lookup import (
    contents,
    getter_of,
    modules_below,
    own_tensors,
    tensors_of,
)
from devlint.runtime.explaining.objects import is_movable, is_plain_object
from devlint.runtime.explaining.stack import as_module
from devlint.runtime.operands import Reader

Test = Callable[[Tensor], bool]
Thing = TypeVar("Thing")

_REGISTERED = ("_parameters", "_buffers", "_modules", "_flat_weights")
"""Attributes of a module that aren't the program's own."""


_WIDTH = 64
"""Items of a container of another object that are looked at."""


@dataclass(frozen=True, slots=True)
class Holder:
    """A plain container that keeps a module from being registered."""

    attribute: str
    """Of the module that has the container."""
    path: str
    """Of the module that is kept: `layers[0]`."""
    container: str
    """`list`, `tuple`, `dict` or the class of the object that keeps it."""
    owner: nn.Module
    """The module that has the container."""


@dataclass(frozen=True)
class Ownership:
    """The modules at work, the outermost first, and what they own."""

    modules: Sequence[nn.Module]
    reader: Reader

    @property
    def root(self) -> nn.Module | None:
        return self.modules[0] if self.modules else None

    @cached_property
    def _tree(self) -> list[tuple[str, nn.Module]]:
        return [] if self.root is None else list(modules_below(self.root))

    def path(self, module: nn.Module) -> str | None:
        """The name of a module below the outermost one; nothing if it isn't registered there."""
        return next((path for path, found in self._tree if found is module), None)

    def label(self, module: nn.Module) -> str:
        """As in `encoder.layers.3 (Linear)`."""
        path = self.path(module)
        if path is None:
            holder = self.holder(module)
            path = "" if holder is None else holder.path
        kind = type(module).__name__
        return f"{path} ({kind})" if path else kind

    def holder(self, module: nn.Module) -> Holder | None:
        """The plain container through which a module is kept that isn't registered."""
        if self.path(module) is not None:
            return None
        for path, owner in self._tree:
            for name, value in list(contents(owner).items()):
                if name.startswith("_"):
                    continue
                for text, held in _modules_kept(name, value):
                    below = path_below(held, module)
                    if below is not None:
                        parts = ".".join(part for part in (path, text, below) if part)
                        return Holder(name, parts, type(value).__name__, owner)
        return None

    def keeper(self, module: nn.Module) -> tuple[nn.Module, str] | None:
        """The module that keeps another one, registered or not, and the attribute."""
        path = self.path(module)
        if path is None:
            holder = self.holder(module)
            return None if holder is None else (holder.owner, holder.attribute)
        above, _, name = path.rpartition(".")
        owner = next((found for place, found in self._tree if place == above), None)
        return (owner, name) if owner is not None and name else None

    def of_tensor(self, test: Test) -> tuple[nn.Module, str] | None:
        """The module at work that a parameter or buffer belongs to, and its name there."""
        return _of(reversed(self.modules), test)

    def of_part(self, test: Test) -> tuple[nn.Module, str] | None:
        """Of the parts of the modules at work: a method can work on what these have."""
        return _of((part for _, part in self._tree), test)

    def plain_attribute(self, test: Test) -> tuple[nn.Module, str, Tensor] | None:
        """The module at work that keeps a tensor without having registered it."""
        return next((each for each in self._plain if test(each[2])), None)

    @cached_property
    def _plain(self) -> list[tuple[nn.Module, str, Tensor]]:
        return [
            (module, named.text, named.tensor)
            for module in reversed(self.modules)
            for name, value in list(contents(module).items())
            if name not in _REGISTERED and getter_of(module, name) is None
            for named in tensors_of(name, value)
            if named.tensor is not None
        ]

    def device_of(self, module: nn.Module, without: nn.Module | None = None) -> str | None:
        """Where the parameters and buffers of a module are, if they are in one place.

        One of its parts can be left out.
        """
        left_out = [] if without is None else [part for _, part in modules_below(without)]
        tensors = [
            (tensor.dim() > 0, str(self.reader.device(tensor)))
            for _, part in modules_below(module)
            if not any(part is each for each in left_out)
            for _, tensor in own_tensors(part)
        ]
        # A number may be anywhere, unless there is nothing else.
        places = {device for is_large, device in tensors if is_large} or {d for _, d in tensors}
        return places.pop() if len(places) == 1 else None

    def has_any_on(self, device: str, module: nn.Module | None = None) -> bool:
        """Whether anything of a module, or of the outermost one, is on a device."""
        return any(
            str(self.reader.device(tensor)) == device
            for _, part in (self._tree if module is None else modules_below(module))
            for _, tensor in own_tensors(part)
            if tensor.dim() > 0
        )


def _of(modules: Iterable[nn.Module], test: Test) -> tuple[nn.Module, str] | None:
    return next(((m, name) for m in modules for name, t in own_tensors(m) if test(t)), None)


def path_below(root: nn.Module, module: nn.Module) -> str | None:
    """The path of a module in another one; empty for itself."""
    return next((path for path, found in modules_below(root) if found is module), None)


def takes_along(kind: type) -> bool:
    """Whether modules of a class move more with themselves than what they have registered."""
    return any(
        "_apply" in vars(base) and base.__module__.partition(".")[0] != "torch"
        for base in kind.__mro__
    )


def path_in(value: object, module: nn.Module) -> str | None:
    """The path of a module in another one, or in an object that can be moved as a whole."""
    if (root := as_module(value)) is not None:
        return path_below(root, module)
    for text, part in _modules_kept("", value) if is_movable(value) else ():
        if (below := path_below(part, module)) is not None:
            return ".".join(each for each in (text.lstrip("."), below) if each)
    return None


def _modules_kept(text: str, value: object) -> Iterator[tuple[str, nn.Module]]:
    """The modules in a plain container, or in an object that is no module itself."""
    if type(value) in (list, tuple, dict):
        yield from modules_in(text, value)
    elif type(value) is SimpleNamespace or is_plain_object(value):
        for name, part in list(contents(value).items()):
            if type(part) in (list, tuple, dict) and len(part) > _WIDTH:
                continue
            yield from modules_in(f"{text}.{name}", part)


def modules_in(text: str, value: object) -> Iterator[tuple[str, nn.Module]]:
    """The modules in a plain container, and in those in it, with what they are called there."""
    return things_in(text, value, as_module)


def things_in(
    text: str, value: object, wanted: Callable[[object], Thing | None], depth: int = 0
) -> Iterator[tuple[str, Thing]]:
    """What is wanted in a plain container, and in those in it, with what it is called there."""
    if (thing := wanted(value)) is not None:
        yield text, thing
    elif (type(value) is list or type(value) is tuple) and depth < 2:
        for index, inner in enumerate(value):
            yield from things_in(f"{text}[{index}]", inner, wanted, depth + 1)
    elif type(value) is dict and depth < 2:
        for key, inner in list(value.items()):
            shown = f'"{key}"' if type(key) is str else str(key) if type(key) is int else "..."
            yield from things_in(f"{text}[{shown}]", inner, wanted, depth + 1)
