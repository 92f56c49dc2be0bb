"""What a user reads: frozen data, standard library only.

A `Finding` holds positions and text edits and no node, so that the cache, the process pool, an
editor and every output format share one small object. Rules yield a `devlint.model.reports.Report`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

OUTPUT_FORMATS = (
    "full",
    "concise",
    "grouped",
    "json",
    "json-lines",
    "sarif",
    "github",
    "gitlab",
    "junit",
    "pylint",
    "azure",
    "rdjson",
    "html",
)
"""What findings can be printed as; `devlint.report` has a module for each."""


FAIL_ON = ("error", "warning", "never")
"""From which level on findings make a run fail."""


class Level(str, Enum):
    """How bad a finding is; `OFF` marks a rule that must be selected to run."""

    ERROR = "error"
    WARNING = "warning"
    OFF = "off"


LESS_CERTAIN = "less-certain"
"""What withholds a finding that too few like it were true of, as rows of policy withhold others."""


class Confidence(str, Enum):
    """How sure it is that a finding's line goes wrong once the program runs on an accelerator."""

    HIGH = "high"
    """It does: the source names what is wrong."""
    MEDIUM = "medium"
    """It does once somebody moves the model, or passes a tensor of an accelerator."""


class Safety(str, Enum):
    """Whether `--fix` applies a fix (`SAFE`) or only `--fix --unsafe-fixes` does (`UNSAFE`)."""

    SAFE = "safe"
    UNSAFE = "unsafe"


@dataclass(frozen=True, slots=True)
class CellSpan:
    """Where a span is in a notebook: in which cell, in which rows of it, and where in the file.

    Cells count from 1 among all cells, those of text as well.
    """

    number: int
    row: int
    end_row: int
    file_row: int
    file_column: int
    file_end_row: int
    file_end_column: int


@dataclass(frozen=True, slots=True)
class Span:
    """A range of a document. Offsets, rows and columns count code points; `end` is exclusive.

    `start` and `end` are 0-based offsets into the text; rows and columns are 1-based. The text of
    a notebook is that of its cells, one below the other; `cell` tells where that is in the file.
    """

    start: int
    end: int
    row: int
    column: int
    end_row: int
    end_column: int
    cell: CellSpan | None = None

    @property
    def own_row(self) -> int:
        """The row as users count it: in the cell of a notebook, else in the file."""
        return self.row if self.cell is None else self.cell.row

    @property
    def own_end_row(self) -> int:
        """The same of the end."""
        return self.end_row if self.cell is None else self.cell.end_row

    @property
    def place(self) -> str:
        """`7:5`, or `cell 3:7:5`."""
        cell = "" if self.cell is None else f"cell {self.cell.number}:"
        return f"{cell}{self.own_row}:{self.column}"

    @property
    def of_file(self) -> tuple[int, int, int, int]:
        """Row and column of the start and the end, in the file as it lies there."""
        cell = self.cell
        if cell is None:
            return self.row, self.column, self.end_row, self.end_column
        return cell.file_row, cell.file_column, cell.file_end_row, cell.file_end_column


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the text of `span` by `content`."""

    span: Span
    content: str


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits that never overlap, in the order of the file. `filename` is the path of that, "" where
    it is the finding's own: what a call leads to may have to be fixed where it is written."""

    message: str
    safety: Safety
    edits: tuple[Edit, ...]
    filename: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One hop of a trace, located. `filename` is "" where it is in the finding's own file; `value`
    and `device` are those of the `Hop`."""

    span: Span
    message: str
    filename: str = ""
    value: str = ""
    device: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding, complete: it can be cached, pickled, shown and fixed without its tree."""

    filename: str
    code: str
    name: str
    message: str
    level: Level
    span: Span
    trace: tuple[Step, ...] = ()
    fix: Fix | None = None
    help: str = ""
    statement: tuple[int, int] = (0, 0)
    """First and last row of the statement around the finding: where suppressions may stand."""
    confidence: Confidence = Confidence.HIGH
    sorts: tuple[str, ...] = ()
    """How it is known where the things are that it is about: the sorts of all steps, in order."""
    score: int = 100
    """How many of a hundred findings like it were true."""


OTHERS = "other values"
"""What keeps a place from being decided that has no name."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """Of the places where tensors meet, how many are decided, and what keeps others from it: how
    many each cause, the commonest first."""

    decided: int = 0
    unknown: tuple[tuple[str, int], ...] = ()

    @classmethod
    def of(cls, decided: int, causes: Mapping[str, int]) -> Coverage:
        """Made of the causes, which it puts in order; what has no name of its own comes last."""
        ordered = sorted(causes.items(), key=lambda each: (each[0] == OTHERS, -each[1], each[0]))
        return cls(decided, tuple(ordered))

    @property
    def meetings(self) -> int:
        """All of these places."""
        return self.decided + sum(count for _, count in self.unknown)


NOTHING_MEETS = Coverage()
