"""The device mistakes of a run that goes on: each once, by cause and place, with its count.

Nothing here needs torch: a process that only reports what others have sent may have none.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from devlint.config import rulebook
from devlint.model.fingerprint import relative_path
from devlint.safety import escaping

if TYPE_CHECKING:
    from devlint.runtime.explain import Explanation

Outcome = Literal["moved", "noted", "raised", "failed"]
"""What came of a mistake: the operand was moved for that one call, nothing had to be done to go on,
it was raised, since the call can't be repeated, or a test for the CPU failed by it on a device."""

MAY_DIFFER = (
    "values may differ from those of a correct run: "
    "what was on the wrong device was moved for that one call"
)


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A mistake, and where the program is to be looked at. It can be sent between processes."""

    file: str
    line: int
    code: str
    rule: str
    message: str
    explanation: str
    """The message, and below it what else is known."""
    fix: str
    module: str
    argument: str
    devices: tuple[str, ...]
    outcome: Outcome

    @classmethod
    def of(cls, explanation: Explanation, outcome: Outcome) -> Mismatch:
        """What an explanation says."""
        file, line = explanation.place
        rule = explanation.rule or _ANY
        return cls(
            file=file or "<unknown>",
            line=max(line, 1),
            code=explanation.code or rulebook.pages()[rule].code,
            rule=rule,
            message=explanation.headline,
            explanation=explanation.as_text(),
            fix=explanation.fix,
            module=explanation.module,
            argument=explanation.argument,
            devices=explanation.devices,
            outcome=outcome,
        )

    @classmethod
    def unexplained(cls, file: str, line: int, message: str, outcome: Outcome) -> Mismatch:
        """One of which no more is known than PyTorch's message and a place."""
        code = rulebook.pages()[_ANY].code
        return cls(file, line, code, _ANY, message, message, "", "", "", (), outcome)

    @property
    def shown_place(self) -> str:
        """The place, below the working directory where it is there."""
        return f"{relative_path(self.file, Path.cwd())}:{self.line}"

    @property
    def key(self) -> tuple[object, ...]:
        """What two mismatches share that are one: a place and a cause, which the repair names.

        Tests reach one line of the project in many ways, which are one cause.
        """
        if self.outcome == "failed":
            return self.file, self.line, self.outcome
        return self.file, self.line, self.rule, self.fix, self.outcome


_ANY = "operands-on-other-devices"
"""The rule that speaks of a meeting of which no more is known."""


class Collection:
    """What a run has met. Threads may share one.

    Iterated over, it gives each mismatch with its count, those that were met first to begin with.
    """

    def __init__(self) -> None:
        self._found: dict[tuple[object, ...], Mismatch] = {}
        self._counts: Counter[tuple[object, ...]] = Counter()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._found)

    def __iter__(self) -> Iterator[tuple[Mismatch, int]]:
        with self._lock:
            return iter([(each, self._counts[key]) for key, each in self._found.items()])

    def add(self, mismatch: Mismatch, count: int = 1) -> None:
        """Note that a mismatch was met, so many times."""
        with self._lock:
            self._found.setdefault(mismatch.key, mismatch)
            self._counts[mismatch.key] += count

    def records(self) -> list[dict[str, Any]]:
        """All of it as plain values, for JSON or another process."""
        return [{**asdict(mismatch), "count": count} for mismatch, count in self]

    def add_records(self, records: Iterable[dict[str, Any]]) -> None:
        """Take in what another process has met."""
        for record in records:
            told = dict(record)
            count = told.pop("count")
            devices = tuple(told.pop("devices"))
            self.add(Mismatch(**told, devices=devices), count)

    def text(self) -> str:
        """What is told of it at the end of a run; empty where nothing was met."""
        found = list(self)
        if not found:
            return ""
        total = sum(count for _, count in found)
        times = "" if total == len(found) else f", met {total:,} times"
        lines = [f"{len(found)} device mismatch{'es' * (len(found) > 1)}{times}:"]
        if any(mismatch.outcome == "moved" for mismatch, _ in found):
            lines.insert(0, MAY_DIFFER)
        text = "".join(f"devlint: {line}\n" for line in lines)
        return text + "".join(f"\n{_block(*each)}" for each in found)


def how_often(mismatch: Mismatch, count: int) -> str:
    """As in `once`, `3 times` or `in 3 tests`."""
    if mismatch.outcome == "failed":
        return "in 1 test" if count == 1 else f"in {count:,} tests"
    return "once" if count == 1 else f"{count:,} times"


def _block(mismatch: Mismatch, count: int) -> str:
    end = "; raised: that call can't be repeated" if mismatch.outcome == "raised" else ""
    head = f"{mismatch.shown_place} ({how_often(mismatch, count)}{end})"
    lines = (head, *mismatch.explanation.split("\n"))
    return "".join(f"{escaping.line(line)}\n" for line in lines)
