"""What the linter asks of a file that holds Python, alone or among other things."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from devlint.model.findings import Edit, Finding
from devlint.source.errors import SourceError


@dataclass(frozen=True, slots=True)
class Part:
    """A module of a script: its text, and which row of the script's text each row of it is; None
    where it is the whole text."""

    text: str
    rows: tuple[int, ...] | None = None


class Script(Protocol):
    """The Python of a file. Rows, columns and offsets of it are those of `text`, until a finding is
    `placed`."""

    @property
    def text(self) -> str:
        """What Python would read."""

    @property
    def parts(self) -> tuple[Part, ...]:
        """The modules that its text is made of, which share no names: mostly one."""

    @property
    def shown(self) -> str:
        """What users see, with the rows of `text`. Offsets of what is placed refer to it."""

    @property
    def errors(self) -> tuple[SourceError, ...]:
        """Of parts that are left out since they can't be read."""

    def placed(self, finding: Finding) -> Finding:
        """A finding that knows where in the file its spans are."""

    def placed_edit(self, edit: Edit) -> Edit:
        """An edit of `text` as a placed finding has it. Raises `ValueError` where it can't be."""

    def column_of(self, row: int, column: int) -> int:
        """The column in `text` for one that users see."""

    def edited(self, edits: Sequence[Edit]) -> bytes:
        """The file after some edits of placed findings, with its own line ends.

        Raises `ValueError` where the edits don't fit, and `UnicodeEncodeError`, a kind of it, where
        the encoding of the file lacks their characters.
        """
