"""What the linted files of a project share: what calls of other files' functions give and do."""

from __future__ import annotations

from collections.abc import Hashable
from contextlib import AbstractContextManager
from typing import Any, Protocol


class Sharing(Protocol):
    """The summaries of a project, by what calls bring."""

    @property
    def is_open(self) -> bool:
        """Whether what names stand for is settled: no file is run to find that out."""

    def inquiry(self) -> AbstractContextManager[Any]:
        """Run a function that other linted files may call as well."""

    def rely_on(self, inquiry: Any) -> None:
        """Use what such a run gave."""

    def find(self, key: Hashable) -> Any:
        """The summary of a call that brings this; None where there is none, or where a file has
        changed since."""

    def keep(self, key: Hashable, path: str, summary: Any, inquiry: Any) -> None:
        """Remember the summary of a call of a function in the file at `path`."""
