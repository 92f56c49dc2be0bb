"""Keys of conditions: a condition has the same key wherever it says the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import takewhile

from devlint.policy import means

CUDA_AVAILABLE = "torch.cuda.is_available()"
"""The key of the condition "CUDA is available"."""

ACCELERATOR_CHOSEN = "an accelerator was asked for"
"""The key of a condition on a flag or a device that somebody set (`if args.cuda:`)."""

DEVICE_ASKED = "a device was asked for"
"""The key of any condition that has to do with devices; it holds in one branch and not in the
other, and is known in both."""

HOST_CHOSEN = "the host was asked for"
"""The key of a condition on a flag that asks for an accelerator and doesn't hold (`use_gpu`), or
that asks for none (`no_cuda`)."""

HINTS = frozenset((ACCELERATOR_CHOSEN, DEVICE_ASKED, HOST_CHOSEN))
"""What is settled by custom, whatever the condition: said of whole branches, beside the condition
that leads into them."""

GENERAL = HINTS | {CUDA_AVAILABLE}
"""Keys that mean the same in every file."""

OF_PROCESSES = ("torch.distributed.is_available()", "torch.distributed.is_initialized()")
"""Keys of conditions on the processes that work together: they say nothing of devices."""

CUDA_USED = "CUDA was used"
"""The key of what holds behind a call that raises where there is no CUDA (`torch.cuda.Stream()`),
whether or not anybody has asked if there is."""

IN_NO_WORKER = "torch.utils.data.get_worker_info() is None"
"""The key of the condition that no worker process of a loader runs this."""

IS_NONE = " is None"
"""How the key ends of a condition on an argument that may be left out."""

HAS_LENGTH = " has a length"
"""How the key ends of what is known of an argument behind `len(...)`, or a loop that goes over it:
it is no number, and no tensor without dimensions."""

ON_HOST = " is the host"
"""How the key ends of the condition that a place which only a run can tell is the host."""

ARGUMENTS_ON_HOST = "where arguments are" + ON_HOST
"""The condition that all are there: where one is found on the host, so are the others, and so is
the module that is given them."""

ALL_ON_HOST = "whatever a run decides" + ON_HOST
"""The condition that every place which only a run can tell is the host."""


Literal = tuple[str, bool]
"""A condition, and whether it holds."""
Settled = tuple[Literal, ...]
LOCAL = "\x1d"
"""Stands in the names that functions of other files bind, those too that have returned; behind it
stands the function."""
_AND, _IS, _CALLED = "\x1f", "\x1e", "\x1c"
"""No source has these."""


def all_of(literals: Iterable[Literal]) -> str:
    """The key of the condition that several are as they are said to be."""
    return _AND.join(f"{key}{_IS}{int(holds)}" for key, holds in literals)


def parts_of(key: str) -> Settled:
    """The conditions of which it is made; none where it is a single one."""
    if _IS not in key:
        return ()
    parts = (each.rpartition(_IS) for each in key.split(_AND))
    return tuple((name, holds == "1") for name, _, holds in parts)


def is_local(key: str) -> bool:
    """Whether it is about what a function of another file has bound: here nothing is called so."""
    return LOCAL in key


def of_callee(key: str, function: str) -> str:
    """The key of a condition in a function, for who has called that: the same words mean something
    else there."""
    if parts := parts_of(key):
        return all_of((of_callee(part, function), holds) for part, holds in parts)
    return f"{key}{_CALLED}{function}"


def shown(text: str, before: str = " in ") -> str:
    """What a key or a path says, in words."""
    return text.replace(LOCAL, before).replace(_CALLED, before)


def worded(key: str) -> str:
    """A condition in the words of a message, behind "when" or "unless"."""
    said = ON_HOST if key.endswith(ON_HOST) else ""
    return f"`{shown(key.removesuffix(said), '` in `')}`{said}"


@lru_cache(maxsize=4096)
def roots(key: str) -> frozenset[str]:
    """The names of the values that a condition is about, by the words in it; none of one on a
    place, or on what a run is for."""
    if parts := parts_of(key):
        return frozenset().union(*(roots(part) for part, _ in parts))
    if key in _OF_NO_NAME or key.endswith(ON_HOST) or is_local(key) or _CALLED in key:
        return frozenset()
    words = key.removesuffix(HAS_LENGTH).replace("'", '"').split('"')[::2]
    text = "".join(each if each in "_." or each.isalnum() else " " for each in " ".join(words))
    return frozenset(each.partition(".")[0] for each in text.split())


_OF_NO_NAME = GENERAL | {CUDA_USED, IN_NO_WORKER}


def is_stored(key: str) -> bool:
    """Whether a path leads into an object, or into settings, and to no argument by itself."""
    root, dot, _ = key.partition(".")
    return bool(dot) and (root in ("self", "cls") or bool(means("namespace", root, "variable")))


def asks_type(key: str) -> bool:
    """Whether a condition asks if an argument is something else than a tensor: a number, a list.
    The branch most likely makes a tensor of it."""
    return key.startswith(("isinstance(", "not "))


def asks_type_of(key: str, name: str) -> bool:
    """Whether a condition asks for the type of what a name stands for."""
    return asks_type(key) and (f"({name})" in key or f"({name}," in key)


def renamed(key: str, names: Mapping[str, str]) -> str:
    """The key of the same condition where the name at its start has another name."""
    name = "".join(takewhile(lambda each: each == "_" or each.isalnum(), key))
    rest = key[len(name) :]
    return key if rest.startswith("(") else names.get(name, name) + rest


def stands_in(key: str) -> bool:
    """Whether a condition asks if an argument is left out, or is something else than a tensor, so
    that the branch puts a tensor in its place."""
    return key.endswith(IS_NONE) or asks_type(key)


def asks_for_accelerator(key: str) -> bool:
    """Whether a condition asks if an accelerator is there."""
    return key.endswith(".is_available()") and key not in OF_PROCESSES


def asks_for_host(text: str) -> bool:
    """Whether a condition is a flag that asks for the CPU."""
    return bool(means("host-flag", text, "condition"))


def chooses_host(text: str, holds: bool) -> bool:
    """Whether nothing is on an accelerator where a flag holds, or doesn't."""
    if asks_for_host(text):
        return holds
    return not holds and bool(means("accelerator-flag", text, "condition"))


LONGEST = 60
"""Characters: what is longer is no key."""


def is_about_devices(text: str) -> bool:
    """Whether a condition has to do with devices, by its words."""
    return bool(means("about-devices", text, "condition"))
