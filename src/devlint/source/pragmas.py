"""Suppression comments: what they suppress, and which of them suppress nothing.

    x = y.cuda()  # devlint: ignore[DEV101] -- only runs on our cluster
    # devlint: ignore[hardcoded-cuda-call]     the next statement
    # devlint: file-ignore[DEV101, DEV103]     the whole file
    x = y.cuda()  # noqa: DEV101               flake8's form; a bare `noqa` counts as well

A comment at the end of a row suppresses what is found on that row, and, on the first or the
last row of a statement of several rows, what is found in the whole statement.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from devlint.model.findings import Finding, Span
from devlint.model.spans import LineIndex

if TYPE_CHECKING:
    from devlint.source.document import Comment, Document

UNUSED_SUPPRESSION = "DEV002"
"""A comment that names this code is never called idle."""

_ANY = re.compile(r"#\s*(?:devlint\s*:|noqa\b)", re.IGNORECASE)
_OURS = re.compile(r"#\s*(?:devlint\s*:|noqa\s*:[^\r\n]*\bDEV)", re.IGNORECASE)
_PRAGMA = re.compile(
    r"""
      \#\s* devlint \s*:\s* (?P<word>[\w-]*) \s* (?P<list>\[ (?P<codes>[^\]\#]*) \])? [^\#]*
    | \#\s* noqa \b (?:\s*:\s* (?P<noqa> [A-Z]+[0-9]+ (?:(?:\s*,\s*|\s+) [A-Z]+[0-9]+\b)* ))?
    """,
    re.VERBOSE | re.IGNORECASE,
)
_SEPARATOR = re.compile(r"[,\s]+")


@dataclass(frozen=True, slots=True)
class Idle:
    """A suppression, or some codes of it, that suppresses nothing.

    `origin` is the span of the comment, `codes` are the idle ones as they are written, and
    `remaining` is what the comment keeps, "" where it can go.
    """

    origin: Span
    codes: tuple[str, ...]
    remaining: str


@dataclass(frozen=True, slots=True)
class Problem:
    """A suppression that isn't understood, and why. It suppresses nothing."""

    origin: Span
    message: str

    @property
    def row(self) -> int:
        """The row of the comment."""
        return self.origin.row


_Place = tuple[int, int, bool]
"""The first and the last row, 0 for the whole file; and whether the comment stands alone."""


@dataclass(frozen=True, slots=True, eq=False)
class Pragma:
    """One suppression. `written` pairs each code or name as written with what it stands for: once
    for each rule, where one that was split had it.

    `form` is "ignore", "file-ignore" or "noqa"; a "noqa" has prefixes of codes, and none where
    it is bare. `rows` are the rows it applies to where it stands on a row of its own.
    """

    form: str
    span: Span
    text: str
    written: tuple[tuple[str, str], ...]
    foreign: tuple[str, ...] = ()
    rows: tuple[int, int] | None = None

    def stands_for(self, finding: Finding, code: str) -> bool:
        """Whether one of its codes is that of a finding."""
        return finding.code.startswith(code) if self.form == "noqa" else finding.code == code

    def covers(self, finding: Finding) -> bool:
        """Whether it applies to the place of a finding."""
        span = finding.span
        if self.form == "file-ignore":
            return True
        if self.rows is not None:
            return self.rows[0] <= span.row <= self.rows[1]
        row = self.span.row
        return row in finding.statement or span.row <= row <= span.end_row

    @property
    def place(self) -> _Place:
        """What it applies to: those of one place cover the same findings."""
        if self.form == "file-ignore":
            return 0, 0, True
        return (self.span.row, self.span.row, False) if self.rows is None else (*self.rows, True)

    @property
    def is_bare(self) -> bool:
        """A `noqa` without codes."""
        return self.form == "noqa" and not self.written and not self.foreign

    def without(self, idle: Collection[str]) -> str:
        """Its text without some of its codes; "" where none is left."""
        codes = dict.fromkeys((*self.foreign, *(text for text, _ in self.written)))
        gone = frozenset(idle)
        kept = [text for text in codes if text not in gone]
        if not kept:
            return ""
        if self.form == "noqa":
            match = _PRAGMA.match(self.text)
            start, end = match.span("noqa") if match else (0, 0)
            return f"{self.text[:start]}{', '.join(kept)}{self.text[end:]}"
        head, _, rest = self.text.partition("[")
        return f"{head}[{', '.join(kept)}]{rest.partition(']')[2]}"


class Pragmas:
    """The suppressions of one file, read when they are first needed."""

    def __init__(self, document: Document, known: Mapping[str, Collection[str]]) -> None:
        """`known` maps every code and every name to its code, or to those of the rules that it was
        split into."""
        self._document = document
        self._known = known
        self._any = _ANY.search(document.text) is not None
        self._ours = self._any and has_own_pragmas(document.text)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Suppressions that aren't understood, in the order of the file."""
        if not self._ours or self._hides_unused:
            return ()
        return self._read[1]

    def apply(
        self, findings: Iterable[Finding], selected: Collection[str]
    ) -> tuple[list[Finding], list[Idle]]:
        """The findings that aren't suppressed, and the idle suppressions.

        `selected` are the codes of the rules that ran: only they can be idle.
        """
        found = list(findings)
        if not self._any or not (found or self._ours):
            return found, []
        used: set[tuple[Pragma, str]] = set()
        judged: dict[tuple[_Place, str], bool] = {}
        kept = [finding for finding in found if not self._suppresses(finding, used, judged)]
        if self._hides_unused or UNUSED_SUPPRESSION not in selected:
            return kept, []
        return kept, list(self._idle(used, selected))

    def _suppresses(
        self,
        finding: Finding,
        used: set[tuple[Pragma, str]],
        judged: dict[tuple[_Place, str], bool],
    ) -> bool:
        """`judged` says of a place and a code whether a comment of that place names the code."""
        suppressed = False
        for place in self._near(finding):
            pragmas = self._by_place[place]
            if pragmas[0].covers(finding):
                key = place, finding.code
                if key not in judged:
                    named = [_names(each, finding, used) for each in pragmas]
                    judged[key] = any(named)
                suppressed |= judged[key]
        return suppressed

    def _near(self, finding: Finding) -> set[_Place]:
        """The places whose suppressions may cover a finding."""
        span = finding.span
        rows = {0, *finding.statement, *range(span.row, span.end_row + 1)}
        return {place for row in rows for place in self._by_row.get(row, ())}

    @cached_property
    def _by_place(self) -> dict[_Place, list[Pragma]]:
        """The suppressions, those together that cover the same."""
        found: dict[_Place, list[Pragma]] = {}
        for pragma in self._read[0]:
            found.setdefault(pragma.place, []).append(pragma)
        return found

    @cached_property
    def _by_row(self) -> dict[int, list[_Place]]:
        """Their places, by each row."""
        found: dict[int, list[_Place]] = {}
        for place in self._by_place:
            for row in range(place[0], place[1] + 1):
                found.setdefault(row, []).append(place)
        return found

    def _idle(
        self, used: Collection[tuple[Pragma, str]], selected: Collection[str]
    ) -> Iterator[Idle]:
        codes = {code for group in self._known.values() for code in group}
        for pragma in self._read[0]:
            if any(code == UNUSED_SUPPRESSION for _, code in pragma.written):
                continue
            meant: dict[str, list[str]] = {}
            for text, code in pragma.written:
                meant.setdefault(text, []).extend(each for each in codes if each.startswith(code))
            # What a rule that did not run would have found isn't known.
            idle = [
                text
                for text, ran in meant.items()
                if (pragma, text) not in used and all(each in selected for each in ran)
            ]
            if idle:
                yield Idle(pragma.span, tuple(idle), pragma.without(idle))

    @cached_property
    def _hides_unused(self) -> bool:
        return self._ours and any(
            pragma.form == "file-ignore" and code == UNUSED_SUPPRESSION
            for pragma in self._read[0]
            for _, code in pragma.written
        )

    @cached_property
    def _read(self) -> tuple[tuple[Pragma, ...], tuple[Problem, ...]]:
        pragmas: list[Pragma] = []
        problems: list[Problem] = []
        for comment in self._document.comments:
            for match in _PRAGMA.finditer(comment.text):
                text = match.group().rstrip()
                start = comment.start + match.start()
                span = self._document.index.span(start, start + len(text))
                if match.group("word") is None:
                    pragmas.append(self._noqa(match, span, text))
                    continue
                read = self._ours_of(match, comment, span, text, problems)
                if read is not None:
                    pragmas.append(read)
        return tuple(pragmas), tuple(problems)

    def _noqa(self, match: re.Match[str], span: Span, text: str) -> Pragma:
        codes = _SEPARATOR.split(match.group("noqa")) if match.group("noqa") else []
        ours = tuple(
            (code, each)
            for code in codes
            if code.upper().startswith("DEV")
            for each in self._known.get(code.upper(), (code.upper(),))
        )
        foreign = tuple(code for code in codes if not code.upper().startswith("DEV"))
        return Pragma("noqa", span, text, ours, foreign)

    def _ours_of(
        self,
        match: re.Match[str],
        comment: Comment,
        span: Span,
        text: str,
        problems: list[Problem],
    ) -> Pragma | None:
        word = match.group("word")
        if word not in ("ignore", "file-ignore"):
            problems.append(
                Problem(span, f"`{word}` is neither `ignore[...]` nor `file-ignore[...]`")
            )
            return None
        names = [each for each in _SEPARATOR.split(match.group("codes") or "") if each]
        if not names:
            problems.append(
                Problem(span, f"name the codes to ignore in brackets: `{word}[DEV101]`")
            )
            return None
        if word == "file-ignore" and not comment.alone:
            problems.append(Problem(span, "`file-ignore` must stand on a row of its own"))
            return None
        written = []
        for name in names:
            found = self._known.get(name) or self._known.get(name.upper())
            if found is None:
                prefix = any(each.startswith(name.upper()) for each in self._known)
                hint = ": a comment names whole codes" if prefix else ""
                problems.append(Problem(span, f"there is no rule `{name}`{hint}"))
            else:
                written += [(name, code) for code in found]
        rows = self._rows_below(comment.row) if comment.alone else None
        return Pragma(word, span, text, tuple(written), (), rows)

    def _rows_below(self, row: int) -> tuple[int, int]:
        """The rows that a comment on a row of its own speaks of."""
        document = self._document
        if document.enclosing_statement(row) is None:
            return document.statement_after(row) or (row, row)
        # Within brackets: the next row that holds code.
        at = bisect_right(self._code_rows, row)
        below = self._code_rows[at] if at < len(self._code_rows) else row
        return below, below

    @cached_property
    def _code_rows(self) -> list[int]:
        """The rows that hold more than a comment, in order."""
        index = self._document.index
        starts = ((row, index.row_text(row).lstrip()) for row in range(1, index.rows + 1))
        return [row for row, text in starts if text and not text.startswith("#")]


def _names(pragma: Pragma, finding: Finding, used: set[tuple[Pragma, str]]) -> bool:
    """Whether a suppression stands for the code of a finding; what of it does is put down."""
    named = [text for text, code in pragma.written if pragma.stands_for(finding, code)]
    used.update((pragma, text) for text in named)
    return bool(named) or pragma.is_bare


def has_own_pragmas(text: str) -> bool:
    """Whether a text has suppressions that are to be judged, or what looks like them.

    Where it hasn't, comments only matter to what is found.
    """
    return _OURS.search(text) is not None


def rows_of_own(text: str) -> Iterator[int]:
    """The rows of such comments, and those of the code below them, which they may speak of."""
    index = LineIndex(text)
    for found in _OURS.finditer(text):
        row, _ = index.place(found.start())
        yield row
        while row < index.rows and index.row_text(row + 1).lstrip()[:1] in ("", "#"):
            row += 1
        yield row + 1


def read_pragmas(document: Document, known: Mapping[str, Collection[str]]) -> Pragmas:
    """The suppressions of a document; `known` maps codes and names as `Pragmas` takes them."""
    return Pragmas(document, known)
