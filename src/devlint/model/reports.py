"""What a rule says: frozen data that points at nodes, standard library only.

`devlint.verdict` turns a `Report` into a `Finding`, which holds positions and text edits and no
node.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from dataclasses import replace as replace_fields
from typing import Literal, Protocol

from devlint.model.findings import Confidence, Level, Safety


class Located(Protocol):
    """Anything that remembers the piece of source it was lowered from (an `ir.Node`)."""

    @property
    def origin(self) -> object: ...


Side = Literal["start", "end", "below", "binding", "loop"]


@dataclass(frozen=True, slots=True)
class Anchor:
    """A place in the source, by a node and a side of it.

    `start` and `end`: of the node. `below`: the first row below its statement; below the header of
    a loop that is the first row of its body. `binding`: the row below what binds the name that the
    node uses. `loop`: the same, only if a loop binds it.
    """

    node: Located
    side: Side


@dataclass(frozen=True, slots=True)
class Part:
    """What a separate line moves: `text` (`x`, `batch["x"]`), a part of what `name` is bound to.
    `each`: it is a dict, and all of its values are moved."""

    name: str
    text: str
    each: bool = False

    def line(self, device: str) -> str:
        """The line that moves it."""
        return f"{self.text} = {self.moved(device)}"

    def moved(self, device: str) -> str:
        """What stands for it once it is on another device."""
        if not self.each:
            return f"{self.text}.to({device})"
        key, value = ("key", "value") if device.startswith(("k.", "v.")) else ("k", "v")
        return f"{{{key}: {value}.to({device}) for {key}, {value} in {self.text}.items()}}"


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Replace the source from `start` to `end` by `text`; an insertion if both are one place.

    `part`: what a line below moves to the device `text`. Lines at one place become one.
    `alone`: the text is a statement beside the one that starts or ends there: on its own row, or in
    the same row if that has other statements too.
    `cast`: a node, and the text to put after its cast instead, if it is cast to another dtype right
    there: an accelerator may have no float64.
    """

    start: Anchor
    end: Anchor
    text: str
    part: Part | None = None
    alone: bool = False
    cast: tuple[Located, str] | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """A fix, in terms of nodes: what it does, in a few words, and its rewrites.

    It can only be made if all of its conditions hold; else `otherwise` is tried.
    """

    message: str
    rewrites: tuple[Rewrite, ...]
    safety: Safety
    together: tuple[Located, ...] = ()
    """The names mean the same at all of these nodes; without names, one function has them all."""
    peers: tuple[Located, ...] = ()
    """These nodes are in methods of one class."""
    after: Located | None = None
    """The first rewrite isn't above this node in its function."""
    names: tuple[str, ...] = ()
    """The names that the fix uses: each is bound where the first rewrite starts."""
    otherwise: Change | None = None
    also: tuple[Change, ...] = ()
    """Fixes that have to be made with this one."""
    help: str = ""
    """The remedy in the same words."""
    is_guess: bool = False
    """Only linting the result shows whether it is right."""


def options(change: Change | None) -> Iterator[Change]:
    """A fix, and those that are tried where it can't be made, in their order."""
    while change is not None:
        yield change
        change = change.otherwise


def chain(options: Iterable[Change]) -> Change | None:
    """The first of several fixes, of which each is tried where those before can't be made."""
    first: Change | None = None
    for option in reversed([*options]):
        first = replace_fields(option, otherwise=first)
    return first


@dataclass(frozen=True, slots=True)
class Hop:
    """One step of a reason: what happened at a node. `sort` names the kind of step. `value` is what
    it happened to, as the reported line calls it, and `device` is its device from then on. Both are
    "" if the step is about something else."""

    node: Located
    message: str
    sort: str = field(default="", compare=False)
    value: str = field(default="", compare=False)
    device: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Report:
    """One thing that a rule reports."""

    at: Located
    """What is underlined."""
    message: str
    from_afar: str = ""
    """The message if `at` is in another file, so that something else is underlined."""
    because: tuple[Hop, ...] = ()
    """The steps that led there, oldest first."""
    fix: Change | None = None
    help: str = ""
    """The remedy in words, shown beside the fix or without one."""
    level: Level | None = None
    """Overrides the level of the page."""
    confidence: Confidence = Confidence.HIGH
    cause: Located | None = None
    """What is to be fixed, if that is known. Of several reports with one cause, those with the best
    remedy are shown: one that `settles` the cause, else one at the cause."""
    settles: bool = False
    root: Located | None = None
    """Where a tensor got its wrong device, or the loop that gives a batch. Of the reports with one
    root, the one at the root is shown, else the first, with the other places as steps."""
    sorts: tuple[str, ...] = ()
    """The evidence for the devices that it is about."""


def replace(node: Located, text: str) -> Rewrite:
    """Put `text` in the place of a node."""
    return Rewrite(Anchor(node, "start"), Anchor(node, "end"), text)


def insert_before(node: Located, text: str) -> Rewrite:
    """Put `text` right before a node."""
    return Rewrite(Anchor(node, "start"), Anchor(node, "start"), text)


def insert_after(node: Located, text: str) -> Rewrite:
    """Put `text` right after a node."""
    return Rewrite(Anchor(node, "end"), Anchor(node, "end"), text)


def move_below(node: Located, part: Part, device: str) -> Rewrite:
    """Move a part by a line right below the statement in which a node stands, which binds it."""
    return Rewrite(Anchor(node, "below"), Anchor(node, "below"), device, part)


def move_where_bound(
    use: Located, part: Part, device: str, side: Literal["binding", "loop"] = "binding"
) -> Rewrite:
    """Move a part where the name gets its value that is used at a node, if that is a loop."""
    return Rewrite(Anchor(use, side), Anchor(use, side), device, part)


def add_statement(beside: Located, text: str, *, after: bool = False) -> Rewrite:
    """Put a statement before another one, or `after` it."""
    anchor = Anchor(beside, "end" if after else "start")
    return Rewrite(anchor, anchor, text, alone=True)


def replace_tail(first: Located, whole: Located, text: str) -> Rewrite:
    """Replace what stands between the end of `first` and the end of `whole`.

    For `x.get_device()` with `first` = `x` and `whole` = the call, the tail is `.get_device()`.
    """
    return Rewrite(Anchor(first, "end"), Anchor(whole, "end"), text)
