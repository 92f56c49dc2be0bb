"""Which calls are followed: all but those that lead back to what is running, or nowhere; and which
of them without what the call knows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from devlint.flow.bodies.terms import Terms
from devlint.flow.domain.keys import roots
from devlint.flow.domain.paths import Path
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import Kind, Value
from devlint.flow.facts import Role
from devlint.flow.frames.aspects import Aspect
from devlint.flow.frames.files import ClassInfo, Closure
from devlint.flow.frames.frame import Frame
from devlint.model import ir

FAR = 2
"""So many calls away, a long function of another file runs without what its call knows: a program
that reaches all of a large project would run all of it for each way that leads there."""
_LONGEST_FAR = 15
"""Statements of a function that isn't long."""
_MOST_RECURSIVE = 2
"""Of functions that call each other, no more are followed from one to the next."""
_MOST_NESTED = 3
"""So many lists in lists are followed by a function that calls itself with their parts."""
_UNINFORMATIVE = (Kind.UNKNOWN, Kind.NUMBER, Kind.BOOL, Kind.NONE, Kind.DTYPE)


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function of the project, whose body runs for it. With `terms`, it runs apart from
    what the call knows."""

    node: ir.Expr
    closure: Closure
    role: Role
    positional: list[Value]
    keywords: dict[str, Value]
    others: set[str]
    """The parameters that stand for something else than their names do where the call is."""
    terms: Terms | None = None

    @property
    def is_apart(self) -> bool:
        return self.terms is not None

    def known(self, frame: Frame) -> dict[str, bool]:
        """The conditions that are settled in it, by those that are where it is: what is about names
        of the calling function alone says nothing here."""
        known = frame.known_in(self.closure.file, self.others, self.is_apart)
        unseen = self._unseen(frame)
        return {key: holds for key, holds in known.items() if unseen.isdisjoint(roots(key))}

    def paths(self, frame: Frame) -> dict[str, Value]:
        """What was stored in objects of which only the identity is known, and which it gives."""
        if not frame.state.paths or self.is_apart:
            return {}
        given = (each.data for each in (*self.positional, *self.keywords.values()))
        whole = tuple(f"{each.text}." for each in given if isinstance(each, Path))
        held = frame.state.paths.items()
        return {path: value for path, value in held if path.startswith(whole)}

    def hidden(self, frame: Frame) -> frozenset[str]:
        """The conditions that are settled where it is, and are about something else in it."""
        closure = self.closure
        others = self.others
        assigned = closure.file.scan(closure.node).assigned
        others = others | {name for name in self._unseen(frame) if name in assigned}
        if not others or self.is_apart:
            return frozenset()
        keys = frame.state.known.names()
        return frozenset(key for key in keys if not others.isdisjoint(roots(key)))

    def _unseen(self, frame: Frame) -> set[str]:
        """The names of the calling function that its own body can't mean."""
        if self.closure.around or self.closure.file is not frame.file:
            return set()
        return frame.own_names() - {each.name for each in self.closure.node.params}


def can_be_followed(frame: Frame, closure: Closure, positional: list[Value]) -> bool:
    """Whether the body of a function runs for a call of it."""
    chain = [*frame.chain()]
    around = [each for each in chain if each.function is closure.node]
    if around and not _goes_on_into_parts(around, closure, positional):
        _cut(chain, around[-1])
        return False
    head = next((each for each in reversed(chain) if closure.node in each.cycle), None)
    if head is not None and not around:
        if sum(each.function in head.cycle for each in chain) >= _MOST_RECURSIVE:
            _cut(chain, head)
            return False
    return not closure.node.is_async


def _cut(chain: list[Frame], head: Frame) -> None:
    """A call isn't followed that leads back to `head`: what was found out since hangs on that."""
    leading = chain[: chain.index(head)]
    for each in leading:
        each.is_cut = True
    first = next((each for each in reversed(chain) if head.function in each.cycle), head)
    first.cycle.update(each.function for each in (*leading, head) if each.function is not None)


def foreign(
    frame: Frame, closure: Closure, positional: list[Value], keywords: dict[str, Value]
) -> set[str]:
    """The parameters of a function that stand for something else in a call than their names do
    where it is: what is known of these says nothing of them."""
    state, params = frame.state, closure.node.params
    spoken = {name for key in state.known.names() for name in roots(key)}
    spoken |= {Path(path).root for path in state.paths}
    names = [each.name for each in params if each.kind == "positional"]
    given = {**dict(zip(names, positional, strict=False)), **keywords}
    return {
        each.name
        for each in params
        if each.name in spoken and not _is_own(frame, each.name, given.get(each.name))
    }


def _is_own(frame: Frame, name: str, given: Value | None) -> bool:
    """Whether a call gives what a name stands for already, or what is settled of that."""
    own = frame.look_up(name)
    if given is None or own is None:
        return False
    same = own.data is not None and own.data == given.data
    settled = frame.state.known.get(name)
    return same or own == given or (settled is not None and given.data is settled)


def runs_apart(frame: Frame, closure: Closure) -> bool:
    """Whether a function runs without what its call knows: a long one far away, and all that such a
    one calls."""
    if closure.file is frame.world.home:
        return False
    if frame.is_apart:
        return True
    is_long = closure.file.scan(closure.node).size > _LONGEST_FAR
    if is_long:
        frame.asked.add(Aspect.DEPTH)
    return is_long and frame.depth >= FAR


def _goes_on_into_parts(around: list[Frame], closure: Closure, positional: list[Value]) -> bool:
    inside = all(_goes_into_parts(each, closure, positional) for each in around)
    return inside and len(around) < _MOST_NESTED


def _goes_into_parts(around: Frame, closure: Closure, positional: list[Value]) -> bool:
    """Whether a function that was given a list or a dict calls itself with something in it, as one
    that moves a whole batch does: there it ends, or goes on into another one."""
    for parameter, part in zip(closure.node.params, positional, strict=False):
        given = around.state.env.get(parameter.name)
        if given is not None and given.kind.is_container:
            return part.kind in _ENDS or (part.kind.is_container and part.data != given.data)
    return False


_ENDS = (Kind.TENSOR, Kind.INSTANCE, Kind.NUMBER, Kind.STRING, Kind.BOOL, Kind.NONE, Kind.NDARRAY)


def leads_nowhere(
    frame: Frame, closure: Closure, positional: list[Value], keywords: dict[str, Value]
) -> bool:
    """Whether a function neither answers nor changes anything, and is given nothing that its own
    run doesn't know: then there is nothing to learn from following the call. What a method of a
    base calls may be the object's own."""
    scan = closure.file.scan(closure.node)
    if scan.answers:
        return False
    given = [*positional, *keywords.values()]
    if closure.owner is not None and positional:
        info = frame.class_of(positional[0])
        if any(_is_replaced(info, closure.owner, name) for name in scan.self_calls):
            return False
        given[0:1] = _of_object(frame, positional[0])
    return all(value.kind in _UNINFORMATIVE and not _tells(frame, value) for value in given)


def _is_replaced(info: ClassInfo | None, base: ClassInfo, name: str) -> bool:
    """Whether a class has another method of that name than its base."""
    if info is None or info is base:
        return False
    own, other = info.reached(name), base.reached(name)
    return own is not None and (other is None or own.node is not other.node)


def _tells(frame: Frame, value: Value) -> bool:
    """Whether something was stored in an object of which nothing else is known."""
    text = value.data.text if isinstance(value.data, Path) else ""
    return bool(text) and any(path.startswith(f"{text}.") for path in frame.state.paths)


def _of_object(frame: Frame, receiver: Value) -> Iterable[Value]:
    """What an object holds that this function has made: its class doesn't know what that is."""
    found = frame.object(receiver)
    made_here = receiver.kind is Kind.INSTANCE and receiver.trait is not Trait.SELF
    return found.entries.values() if found is not None and made_here else ()
