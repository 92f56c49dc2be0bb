"""The public names of torch's modules of accelerators, and what becomes of each.

A name is *emulated*, where a function of devlint stands in its place; *harmless*, where torch's own
code runs as it is, on top of what is emulated; or *refused*. Whatever is new in a release of torch
is refused until somebody has looked at it.
"""

from __future__ import annotations

import copy
import importlib
import pkgutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import ModuleType
from typing import Any, NoReturn

from devlint.runtime.patches import Patches

_HARMLESS = frozenset(
    """
    BFloat16Storage BoolStorage ByteStorage CharStorage ComplexDoubleStorage ComplexFloatStorage
    DoubleStorage FloatStorage HalfStorage IntStorage LongStorage ShortStorage
    StreamContext device device_index device_of stream
    check_error cudaStatus get_gencode_flags has_half has_magma
    host_memory_stats memory_summary
    comm.broadcast comm.broadcast_coalesced comm.gather comm.reduce_add comm.reduce_add_coalesced
    comm.scatter
    amp.GradScaler amp.amp_definitely_not_available amp.autocast amp.custom_bwd amp.custom_fwd
    nvtx.mark nvtx.range nvtx.range_end nvtx.range_pop nvtx.range_push nvtx.range_start
    profiler.profile profiler.start profiler.stop
    """.split()
)
"""Names, within a module such as `torch.cuda`, of what asks for nothing that isn't emulated."""


@dataclass(frozen=True, slots=True)
class Public:
    """One thing that a module of accelerators gives its users."""

    name: str
    """As within the module: `memory_stats`, `nvtx.mark`."""
    value: Any
    owners: tuple[ModuleType, ...]
    """The module, its submodules, or several of them."""


@cache
def public(module: ModuleType) -> tuple[Public, ...]:
    """What a module such as `torch.cuda`, and its public submodules, have under public names."""
    found: dict[tuple[str, int], Public] = {}
    for owner in _family(module):
        listed = getattr(owner, "__all__", ())
        for name, value in sorted(vars(owner).items()):
            is_own = str(getattr(value, "__module__", "")).startswith(module.__name__)
            if name.startswith("_") or isinstance(value, ModuleType):
                continue
            if is_own or name in listed:
                dotted = f"{owner.__name__}.{name}".removeprefix(f"{module.__name__}.")
                first = found.get((name, id(value)), Public(dotted, value, ()))
                found[name, id(value)] = replace(first, owners=(*first.owners, owner))
    return tuple(found.values())


def _family(module: ModuleType) -> tuple[ModuleType, ...]:
    """A module with its public submodules, which are looked for on disk."""
    parts = pkgutil.walk_packages(module.__path__, f"{module.__name__}.")
    names = [part.name for part in parts if "._" not in part.name]
    return (module, *map(importlib.import_module, names))


def stand_in(
    module: ModuleType,
    functions: Mapping[str, Any],
    refuse: Callable[[str], NoReturn],
    patches: Patches,
) -> None:
    """Put functions in the places of a module's own, and refuse what is not to be called.

    A function is put wherever the module's own is. One that this release of torch doesn't have is
    left out; of names that begin with an underscore, only those that are given are touched.
    """
    for each in public(module):
        if each.name in functions:
            value = functions[each.name]
        elif _is_harmless(each):
            continue
        else:
            value = refused(f"{module.__name__}.{each.name}", each.value, refuse)
        for owner in each.owners:
            patches.set(owner, each.name.rpartition(".")[2], value)
    for dotted, value in functions.items():
        prefix, _, name = f"{module.__name__}.{dotted}".rpartition(".")
        if name.startswith("_") and hasattr(sys.modules.get(prefix), name):
            patches.set(sys.modules[prefix], name, value)


def _is_harmless(each: Public) -> bool:
    is_error = isinstance(each.value, type) and issubclass(each.value, Exception)
    return each.name in _HARMLESS or is_error or not callable(each.value)


def answering(value: Any) -> Callable[..., Any]:
    """A function that gives the same answer to whatever it is asked."""
    return lambda *args, **kwargs: copy.copy(value)


def refused(name: str, value: Any, refuse: Callable[[str], NoReturn]) -> Any:
    """What stands for a function or a class that can be named, but not called.

    Args:
        name: as a user writes it.
        value: torch's own.
        refuse: is called with the name, and raises.
    """

    def called(*args: Any, **kwargs: Any) -> Any:
        refuse(name)

    made: Any = type(name, (), {"__new__": called}) if isinstance(value, type) else called
    made.__name__ = made.__qualname__ = name.rpartition(".")[2]
    made._devlint_refused = True
    return made


def is_refused(value: Any) -> bool:
    """Whether a function or a class stands for one that can't be emulated."""
    return hasattr(value, "_devlint_refused")
