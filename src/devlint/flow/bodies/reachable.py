"""What a call leaves behind: the objects that somebody can still find."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import fields

from devlint.flow.domain.mixtures import Empty, Mixed, Several
from devlint.flow.domain.paths import Owned, Ref
from devlint.flow.domain.state import Heap
from devlint.flow.domain.values import Batch, OneOf, Value
from devlint.flow.frames.arguments import Arguments, Partial
from devlint.flow.frames.files import Bound, ClassInfo, Closure

HOLDERS = (Bound, Owned, Batch, OneOf, Partial, Arguments, Several, Mixed, Empty)
"""What values hold that holds values or references itself."""


_MAY_REFER = (tuple, frozenset, Value)


def left_behind(before: Heap, after: Heap, value: Value, around: Container[Ref] = ()) -> list[Ref]:
    """What a call has written, by what it gives and the objects before and after it, and others
    `around`: all that was there before, and what was made of which somebody knows now."""
    written = after.written
    old = [ref for ref in written if ref in before or ref in around]
    if len(old) == len(written):
        return old
    found = set(old)
    waiting: list[object] = [value]
    for ref in old:
        waiting.extend(after[ref].inside)
    while True:
        _follow(after, waiting, found)
        waiting.extend(
            ref for ref in written if ref not in found and not found.isdisjoint(_within(ref))
        )
        if not waiting:
            return [ref for ref in written if ref in found]


def _within(ref: object) -> Iterator[object]:
    """The references in a reference: that of a list in that of a part of it."""
    if isinstance(ref, (tuple, frozenset)):
        for part in ref:
            if isinstance(part, (tuple, frozenset)):
                yield part
                yield from _within(part)


def _follow(heap: Heap, waiting: list[object], found: set[Ref]) -> None:
    while waiting:
        thing = waiting.pop()
        if isinstance(thing, Value):
            if thing.data is not None:
                waiting.append(thing.data)
        elif isinstance(thing, (tuple, frozenset)):
            if thing in found:
                continue
            held = heap.get(thing) if thing in heap.written else None
            if held is not None:
                found.add(thing)
                waiting.extend(held.inside)
                waiting.append(held.source)
            waiting.extend(part for part in thing if isinstance(part, _MAY_REFER))
        elif isinstance(thing, HOLDERS):
            waiting.extend(getattr(thing, each.name) for each in fields(thing))
        elif isinstance(thing, (Closure, ClassInfo)) and thing not in found:
            found.add(thing)
            scopes = [each.names for each in thing.around]
            scopes += [thing.env] if isinstance(thing, ClassInfo) else []
            waiting.extend(value for scope in scopes for value in scope.values())
