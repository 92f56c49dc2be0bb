"""Why a file could not be read."""

from __future__ import annotations

from typing import Literal

from devlint.model.findings import Span

Kind = Literal["syntax", "unreadable"]


class SourceError(Exception):
    """A file that is no Python ("syntax"), or that can't be decoded or parsed ("unreadable").

    `reason` is one plain line; `span` says where.
    """

    def __init__(self, reason: str, span: Span, kind: Kind) -> None:
        super().__init__(reason, span, kind)
        self.reason = reason
        self.span = span
        self.kind = kind

    def __str__(self) -> str:
        return f"{self.span.row}:{self.span.column}: {self.reason}"
