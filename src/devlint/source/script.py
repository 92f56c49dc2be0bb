"""What the linter asks of a file that holds Python, alone or among other things."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from devlint.model.findings import Edit, Finding
from devlint.source.errors import SourceError


class Script(Protocol):
    """The Python of a file. Rows, columns and offsets of it are those of `text`."""

    @property
    def text(self) -> str:
        """What Python would read."""

    @property
    def shown(self) -> str:
        """The same as users see it: as long, with the same line breaks."""

    @property
    def errors(self) -> tuple[SourceError, ...]:
        """Of parts that are left out since they can't be read."""

    def placed(self, finding: Finding) -> Finding:
        """A finding that knows where in the file its spans are."""

    def edited(self, edits: Sequence[Edit]) -> bytes:
        """The file after some edits, with its own line ends.

        Raises `ValueError` where the edits don't fit, and `UnicodeEncodeError`, a kind of it, where
        the encoding of the file lacks their characters.
        """
