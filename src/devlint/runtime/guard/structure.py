"""What silently works on the CPU and would fail on an accelerator.

`.to()` leaves behind the modules that a module keeps in a plain list, and the tensors that it keeps
as plain attributes. On the CPU nothing fails. What is said here is proved twice: by the module as
it is now, and by the source of its class. Where either leaves a doubt, nothing is said.
"""

from __future__ import annotations

import linecache
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn

from devlint.runtime.explain import Explanation, explained
from devlint.runtime.explaining.definitions import shown_line
from devlint.runtime.explaining.lookup import contents, modules_below, tensors_of
from devlint.runtime.explaining.mistakes import Mistake, described
from devlint.runtime.explaining.ownership import Ownership, things_in
from devlint.runtime.explaining.stack import (
    ModuleFrame,
    Spot,
    as_module,
    live,
    modules_at_work,
    owner_of,
)
from devlint.runtime.guard.attributes import Binding
from devlint.runtime.guard.compiler import is_traced, may_watch
from devlint.runtime.guard.containers import Container, container, moves_itself
from devlint.runtime.guard.meetings import Meeting, Watching
from devlint.runtime.guard.tensors import Plain, plain_tensors, registered_tensors
from devlint.runtime.guard.watch import CallContext
from devlint.runtime.reader import READER, place
from devlint.runtime.virtual.tags import PLAIN

_OWN = frozenset("_parameters _buffers _modules _flat_weights".split())
"""What torch keeps in the dictionary of a module."""

_CONTAINERS = (list, tuple, dict)


def judge(module: nn.Module, tell: Callable[[Explanation], None]) -> CallContext | None:
    """Look at a module that is about to be called for the first time.

    Returns what its call is to run in, where only that can show whether plain tensors of it, or of
    modules below it, meet what would be moved.

    Args:
        module: the module.
        tell: is given what is found, and may raise an error for it.
    """
    with torch._C.DisableTorchFunction():
        if getattr(module, "_is_replica", False) or is_traced():
            return None
        if not any(_kept("", value) for value in _plain(module)) and not _has_plain(module):
            return None
        scene = _scene(module)
        found = _unregistered(module, scene)
        if found is not None:
            tell(found)
        return _watching(module, scene, tell)


@dataclass(frozen=True)
class _Surroundings:
    """Where a module is called."""

    stack: Sequence[Spot]
    owners: Ownership
    call: ModuleFrame | None

    def is_read_outside(self, pattern: str) -> bool:
        """Whether the program's source matches, in any file that is at work or has its modules."""
        files = {spot.file for spot in self.stack if spot.owner == "program"}
        kinds = {type(each) for root in self.owners.modules for _, each in modules_below(root)}
        for name in {"__main__", *(kind.__module__ for kind in kinds)}:
            file = getattr(sys.modules.get(name), "__file__", None)
            if type(file) is str and owner_of(file) in ("program", "library"):
                files.add(file)
        return any(re.search(pattern, _text_of(file)) for file in files)


def _scene(module: nn.Module) -> _Surroundings:
    stack = live()
    at_work = modules_at_work(stack)
    call = next((frame for frame in reversed(at_work) if frame.module is module), None)
    modules = [frame.module for frame in at_work]
    if not any(each is module for each in modules):
        modules.append(module)
    return _Surroundings(stack, Ownership(modules, READER), call)


def _outside(me: str, name: str) -> str:
    """A pattern for an attribute of what isn't called as a class calls its own objects."""
    return rf"(?<!\bself)(?<!\b{me})\.{name}\b"


def _seen_to_outside(plain: Plain) -> str:
    """A pattern for what stores or moves a tensor outside of its class, and so takes care of it."""
    attribute = _outside(plain.stored.me, plain.name)
    return rf"{attribute}\s*(=(?!=)|\.(to|cuda|type)\b)|[\"']{plain.name}[\"']"


def _text_of(file: str) -> str:
    return "".join(linecache.getlines(file))


# --- plain tensors

_SETS_DEVICE = (
    r"set_default_(device|tensor_type)|with\s+([\w.]+\.)?device\b"
    r"|setattr\(\s*[\w.]+\s*,\s*(?![\"'\s])|__dict__|\bvars\(\s*(self|model|net|module|obj|m)\b"
)
"""What decides where new tensors are made, or may move whatever an object has."""


def _sees_to_devices(scene: _Surroundings) -> bool:
    """Whether the program has a way to place what a module makes, without naming it."""
    default = sys.modules.get("torch.utils._device")
    is_set = getattr(default, "CURRENT_DEVICE", None) is not None
    return is_set or scene.is_read_outside(_SETS_DEVICE)


def _has_plain(module: nn.Module) -> bool:
    """Whether a module, or one below it, has a tensor that isn't registered."""
    return any(
        type(value) is Tensor
        for _, each in modules_below(module)
        for name, value in list(contents(each).items())
        if name not in _OWN
    )


def _watching(
    module: nn.Module, scene: _Surroundings, tell: Callable[[Explanation], None]
) -> CallContext | None:
    root = scene.owners.root
    modes = torch.overrides._get_current_function_mode_stack()
    if root is None or any(isinstance(mode, Watching) for mode in modes):
        return None
    plain = [
        each
        for each in plain_tensors(module)
        if not _sees_to_devices(scene) and not scene.is_read_outside(_seen_to_outside(each))
    ]
    moved = [*registered_tensors(root), *registered_tensors(module)]
    if not plain or not all(_is_on_cpu(tensor) for tensor in moved):
        return None
    if not (may_watch(root) and may_watch(module)):
        return None
    call = scene.call
    given = (call.args, dict(call.kwargs or {})) if call is not None else ()
    inputs = [named.tensor for named in tensors_of("", given) if named.tensor is not None]

    owners = scene.owners
    return Watching(plain, moved, inputs, lambda met: tell(_explained_tensor(met, owners)))


def _explained_tensor(meeting: Meeting, owners: Ownership) -> Explanation:
    plain, me = meeting.plain, meeting.plain.stored.me
    text = f"{me}.{plain.name}"
    mistake = Mistake(
        headline=f"{text} of {type(plain.owner).__name__} is a plain tensor, not a buffer: "
        ".to() leaves it on cpu",
        fix="let it move with the module: "
        f'{me}.register_buffer("{plain.name}", ..., persistent=False)',
        rule="unregistered-tensor",
        module=owners.label(plain.owner),
        argument=text,
        devices=("cpu",),
    )
    tensor = described("tensor", text, READER.facts(plain.name, plain.tensor))
    return _explained(mistake, plain.stored, (meeting.file, meeting.line), tensor)


def _explained(
    mistake: Mistake, stored: Binding, used: tuple[str, int], *lines: tuple[str, str]
) -> Explanation:
    kept_at, used_at = shown_line(stored.file, stored.line), shown_line(*used)
    lines = (*lines, ("kept at", kept_at), ("used at", used_at))
    return explained(mistake, lines, (stored.file, stored.line))


# --- modules in plain containers


def _plain(module: nn.Module) -> Iterator[object]:
    return (value for name, value in list(contents(module).items()) if name not in _OWN)


Part = nn.Module | nn.Parameter
"""What a container may keep from being moved."""


def _kept(name: str, value: object) -> list[tuple[str, Part]]:
    """The modules and parameters in a plain container, with what they are called there."""
    found: Iterator[tuple[str, Part]] = things_in(name, value, _as_part)
    return list(found) if type(value) in _CONTAINERS else []


def _as_part(value: object) -> Part | None:
    return value if type(value) is nn.Parameter else as_module(value)


def _tensors_in(part: Part) -> Iterator[Tensor]:
    return iter([part]) if isinstance(part, nn.Parameter) else registered_tensors(part)


def _unregistered(module: nn.Module, scene: _Surroundings) -> Explanation | None:
    """What is said of the first container whose modules stay behind."""
    for name, value in list(contents(module).items()):
        if name in _OWN or name.startswith("_") or type(value) not in _CONTAINERS:
            continue
        kept = _kept(name, value)
        if not kept or not _stay_behind([each for _, each in kept], module, scene):
            continue
        holds_tensors = isinstance(kept[0][1], nn.Parameter)
        found = container(cast(Any, type(module)), name, holds_tensors)
        if found is None or _sees_to_devices(scene):
            continue
        # Whoever reads the container outside of the class may move what is in it.
        if not scene.is_read_outside(_outside(found.stored.me, name)):
            return _explained_container(module, name, value, kept[0], found, scene)
    return None


def _stay_behind(kept: list[Part], owner: nn.Module, scene: _Surroundings) -> bool:
    """Whether modules or parameters, all of them, have tensors that nothing has registered."""
    roots = [*scene.owners.modules, owner]
    registered = {id(each) for root in roots for _, each in modules_below(root)}
    if any(id(each) in registered for each in kept):
        return False
    modules = [each for each in kept if isinstance(each, nn.Module)]
    kinds = {type(part) for each in modules for _, part in modules_below(each)}
    if any(moves_itself(cast(Any, kind)) for kind in kinds):
        return False
    known = {id(tensor) for root in roots for tensor in registered_tensors(root)}
    own = [tensor for each in kept for tensor in _tensors_in(each)]
    parameters = [tensor for tensor in own if isinstance(tensor, nn.Parameter)]
    return (
        bool(own)
        and not any(id(tensor) in known for tensor in own)
        and all(_is_on_cpu(tensor) for tensor in own)
        and all(_is_on_cpu(tensor) for tensor in registered_tensors(owner))
        # Frozen ones are often kept aside on purpose.
        and (not parameters or any(tensor.requires_grad for tensor in parameters))
    )


def _is_on_cpu(tensor: Tensor) -> bool:
    return type(tensor) in PLAIN and place(tensor).type == "cpu"


def _explained_container(
    module: nn.Module,
    name: str,
    value: object,
    first: tuple[str, Part],
    found: Container,
    scene: _Surroundings,
) -> Explanation:
    (text, kept), me = first, found.stored.me
    wrapper = "nn.Parameter" if isinstance(kept, nn.Parameter) else "nn.Module"
    wrapper += "Dict" if type(value) is dict else "List"
    mistake = Mistake(
        headline=f"{text} ({type(kept).__name__}), kept in a {type(value).__name__} by "
        f"{type(module).__name__}, isn't registered: .to() leaves it on cpu",
        fix=f"let them move with the module: {me}.{name} = {wrapper}(...)",
        rule="unregistered-modules",
        module=scene.owners.label(module),
        argument=f"{me}.{text}",
        devices=("cpu",),
    )
    return _explained(mistake, found.stored, found.used)
