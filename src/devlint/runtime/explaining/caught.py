"""Errors that somebody has caught: which link of the chain is about devices, and its explanation.

Frameworks wrap errors in others and workers send theirs as text, so the one that tells of devices
is seldom the one that arrives. It is explained from its own traceback, and the note goes where
Python shows it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from devlint.crashes.messages import may_be_about_devices
from devlint.runtime.explain import Explanation, explain
from devlint.runtime.explaining.notes import NAME, add_note, held_by, log_failure
from devlint.runtime.explaining.stack import Spot, raised
from devlint.runtime.explaining.written import is_told, read_written
from devlint.runtime.operands import REAL, Reader

_LINKS = 64
"""Of a chain, and of what it branches into, that are looked at."""
_TEXT = 65536
"""Characters of an error's text that are looked at: the text of a worker ends with its error."""
_TRACES = ("_RemoteTraceback", "RemoteTraceback")
"""Names of classes that hang a traceback's text below the error of another process."""


@dataclass(frozen=True, slots=True)
class Told:
    """An error of a chain that is about devices."""

    error: BaseException
    explanation: Explanation
    carrier: BaseException
    """The error of the chain that is to have the note: the nearest one that Python shows."""


def tell(
    error: BaseException, outer: Sequence[Spot] = (), reader: Reader = REAL
) -> Explanation | None:
    """Explain an error and leave the explanation on it, as a note and as `devlint_explanation`.

    What an error says, its type and its traceback stay as they are; what has been explained gets
    no second note, and where nothing is known there is none. Nothing is ever raised.

    Args:
        error: any error; those that it came from are looked at, too.
        outer: the frames above the one that has caught it, from `stack.live`.
        reader: how tensors are asked where they are.
    """
    told = explain_error(error, outer, reader)
    if told is None:
        return None
    try:
        held = held_by(told.carrier)
        if held.get(NAME) is None:
            add_note(told.carrier, str(told.explanation))
            held[NAME] = told.explanation
    except Exception:  # an error of a strange class: its explanation is still returned
        pass
    return told.explanation


def explain_error(
    error: BaseException, outer: Sequence[Spot] = (), reader: Reader = REAL
) -> Told | None:
    """Explain the innermost error of a chain that is about devices. Nothing is ever raised."""
    try:
        if not any(_is_candidate(link) for link in _links(error)):
            return None
        return _Search(reader).told(error, error, outer, is_outermost=True)
    except Exception:  # whatever the program's objects are like, its own error comes first
        log_failure()
        return None


class _Search:
    """One walk down a chain."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.seen: set[int] = set()

    def told(
        self,
        link: BaseException,
        carrier: BaseException,
        outer: Sequence[Spot],
        is_outermost: bool = False,
    ) -> Told | None:
        """What there is to say of an error and of those below it; the innermost one is asked first.

        Args:
            link: the error.
            carrier: who has its note.
            outer: the frames that were running above those of its traceback.
            is_outermost: whether nobody has caught it but the one who asks.
        """
        if id(link) in self.seen or len(self.seen) >= _LINKS:
            return None
        self.seen.add(id(link))
        known = held_by(link).get(NAME)
        if type(known) is Explanation:
            return Told(link, known, carrier)
        text = text_of(link)
        written = self._written(text)
        if written is not None:
            return Told(link, written, carrier)
        stack = _joined(outer, raised(link.__traceback__), is_outermost)
        for below, is_shown in _below(link):
            told = self.told(below, below if is_shown else carrier, stack)
            if told is not None:
                return told
        if NAME in held_by(link) or not may_be_about_devices(text) or is_told(text):
            return None  # nothing to be said, or said already
        explanation = explain(stack, text, (), self.reader)
        return None if explanation is None else Told(link, explanation, carrier)

    def _written(self, text: str) -> Explanation | None:
        """What a traceback in the text tells: it goes deeper than those of the frames here."""
        if not may_be_about_devices(text) or is_told(text):
            return None
        written = read_written(text)
        if written is None:
            return None
        explanation = explain(written.stack, written.message, (), self.reader)
        if explanation is None or not written.sender:
            return explanation
        return replace(explanation, lines=(("raised in", written.sender), *explanation.lines))


def _joined(outer: Sequence[Spot], inner: list[Spot], is_outermost: bool) -> list[Spot]:
    """A traceback with the frames above it, as far as those are known."""
    places = {id(spot.frame): index for index, spot in enumerate(outer)}
    for spot in inner:
        if id(spot.frame) in places:
            return [*outer[: places[id(spot.frame)]], *inner]
    is_known = any(spot.owner == "program" for spot in inner)
    return inner if is_known and not is_outermost else [*outer, *inner]


def _below(link: BaseException) -> Iterator[tuple[BaseException, bool]]:
    """The errors that an error came from or is made of, and whether Python shows them with it."""
    cause, context = link.__cause__, link.__context__
    if cause is not None:
        yield cause, type(cause).__name__ not in _TRACES
    if context is not None and context is not cause:
        yield context, cause is None and not link.__suppress_context__
    for member in _members(link):
        yield member, True


def _members(link: BaseException) -> tuple[BaseException, ...]:
    """The errors of a group; Python 3.10 has them in a package, with the same attributes."""
    if not type(link).__name__.endswith("ExceptionGroup"):
        return ()
    members = link.args[1] if len(link.args) > 1 else ()
    if not isinstance(members, (list, tuple)):
        return ()
    return tuple(m for m in members if isinstance(m, BaseException))[:_LINKS]


def _links(error: BaseException) -> Iterator[BaseException]:
    waiting, seen = [error], {id(error)}
    while waiting and len(seen) <= _LINKS:
        link = waiting.pop()
        yield link
        for below, _ in _below(link):
            if id(below) not in seen:
                seen.add(id(below))
                waiting.append(below)


def _is_candidate(link: BaseException) -> bool:
    """Whether it is worth the time to look at an error closely."""
    return NAME in held_by(link) or may_be_about_devices(text_of(link))


def text_of(link: BaseException) -> str:
    """An error's text, without a call of what its class has made of `str`."""
    for part in link.args:
        if issubclass(type(part), str):
            part = str.__str__(part)
            return part if len(part) <= _TEXT else part[:2000] + "\n" + part[-_TEXT:]
    return ""
