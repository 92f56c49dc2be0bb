"""What a rule says and what a user reads: frozen data, standard library only.

A rule yields a `Report`, which points at nodes. `devlint.lint` turns it into a `Finding`,
which holds positions and text edits and no node, so that the cache, the process pool, an
editor and every output format share one small object.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal, Protocol

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


class Located(Protocol):
    """Anything that remembers the piece of source it was lowered from (an `ir.Node`)."""

    @property
    def origin(self) -> object: ...


# --- what rules yield ----------------------------------------------------------------------

Side = Literal["start", "end", "below", "binding", "loop"]


@dataclass(frozen=True, slots=True)
class Anchor:
    """A place in the source: the start or the end of a node, or the first row below its statement:
    where that is the header of a loop, the first row of the body. Or the row below what binds the
    name by which a node calls something, wherever that stands above it; or below that only where it
    is the header of a loop."""

    node: Located
    side: Side


@dataclass(frozen=True, slots=True)
class Part:
    """What a line of its own moves: `text` (`x`, `batch["x"]`), of what `name` is bound to. `each`:
    it is a dict, and all of its values are moved."""

    name: str
    text: str
    each: bool = False

    def line(self, device: str) -> str:
        """The line that moves it."""
        return f"{self.text} = {self.moved(device)}"

    def moved(self, device: str) -> str:
        """What stands for it once it is on another device."""
        if not self.each:
            return f"{self.text}.to({device})"
        key, value = ("key", "value") if device.startswith(("k.", "v.")) else ("k", "v")
        return f"{{{key}: {value}.to({device}) for {key}, {value} in {self.text}.items()}}"


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Replace the source from `start` to `end` by `text`; an insertion where both are one place.

    `part`: what is moved to the device `text` by a line below. Lines at one place become one.
    `alone`: the text is a statement of its own beside that place, where a statement starts or ends:
    on a row of its own, or in the row of the statement where that shares it with others.
    `cast`: a node, and the text to put behind its cast instead where it is cast to another dtype
    right behind: an accelerator may have no float64.
    """

    start: Anchor
    end: Anchor
    text: str
    part: Part | None = None
    alone: bool = False
    cast: tuple[Located, str] | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """A fix, in terms of nodes: what it does, in a few words, and its rewrites.

    It uses `names`. There is none where one of them isn't bound where the first rewrite starts, or
    doesn't stand for one thing at all nodes of `together`; without names, where those don't stand
    in the body of one function. Nor is there one where those of `peers` don't stand in methods of
    one class; nor above `after` in its function; `in_order`: nor where those of `together` don't
    stand in that order; nor where there is none for one of the others that have to be made with it
    (`also`). `otherwise` is the fix where this is none. `help` is the remedy in the same words.
    `is_guess`: only linting the result tells whether it is right.
    """

    message: str
    rewrites: tuple[Rewrite, ...]
    safety: Safety
    together: tuple[Located, ...] = ()
    peers: tuple[Located, ...] = ()
    after: Located | None = None
    in_order: bool = False
    names: tuple[str, ...] = ()
    otherwise: Change | None = None
    also: tuple[Change, ...] = ()
    help: str = ""
    is_guess: bool = False

    def options(self) -> Iterator[Change]:
        """This fix, and those that are tried where it can't be made, in their order."""
        option: Change | None = self
        while option is not None:
            yield option
            option = option.otherwise


@dataclass(frozen=True, slots=True)
class Hop:
    """One step of a reason: what happened at a node. `sort` names what kind of step it is. `value`
    is what it happened to, as the source calls it where things go wrong, and `device` where that
    is from then on: both "" where that isn't what the step is about."""

    node: Located
    message: str
    sort: str = field(default="", compare=False)
    value: str = field(default="", compare=False)
    device: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Report:
    """One thing a rule has to say.

    `at` is underlined; `from_afar` is the message where something else has to be, since it stands
    in another file. `because` are the steps that led there, oldest first. `help` is the
    remedy in words, shown when there is no `fix` or beside it. `level` overrides the page's.
    `cause` is what is to be fixed, where that is known. Of several reports with one cause, those
    that say best how to fix it are given: one that `settles` it, else one that stands there.
    `root` is where a tensor got the place that is wrong wherever it goes, or the loop that gives a
    batch: of the reports that go back to one root, the one that stands there is given, else the
    first, with the other places as steps. `sorts` name how it is known where the things are that it
    is about.
    """

    at: Located
    message: str
    from_afar: str = ""
    because: tuple[Hop, ...] = ()
    fix: Change | None = None
    help: str = ""
    level: Level | None = None
    confidence: Confidence = Confidence.HIGH
    cause: Located | None = None
    settles: bool = False
    root: Located | None = None
    sorts: tuple[str, ...] = ()


def replace(node: Located, text: str) -> Rewrite:
    """Put `text` in the place of a node."""
    return Rewrite(Anchor(node, "start"), Anchor(node, "end"), text)


def insert_before(node: Located, text: str) -> Rewrite:
    """Put `text` right before a node."""
    return Rewrite(Anchor(node, "start"), Anchor(node, "start"), text)


def insert_after(node: Located, text: str) -> Rewrite:
    """Put `text` right after a node."""
    return Rewrite(Anchor(node, "end"), Anchor(node, "end"), text)


def move_below(node: Located, part: Part, device: str) -> Rewrite:
    """Move a part by a line right below the statement in which a node stands, which binds it."""
    return Rewrite(Anchor(node, "below"), Anchor(node, "below"), device, part)


def move_where_bound(
    use: Located, part: Part, device: str, side: Literal["binding", "loop"] = "binding"
) -> Rewrite:
    """Move a part where the name gets its value that is used at a node, if that is a loop."""
    return Rewrite(Anchor(use, side), Anchor(use, side), device, part)


def add_statement(beside: Located, text: str, *, after: bool = False) -> Rewrite:
    """Put a statement before another one, or `after` it."""
    anchor = Anchor(beside, "end" if after else "start")
    return Rewrite(anchor, anchor, text, alone=True)


def replace_tail(first: Located, whole: Located, text: str) -> Rewrite:
    """Replace what stands between the end of `first` and the end of `whole`.

    For `x.get_device()` with `first` = `x` and `whole` = the call, the tail is `.get_device()`.
    """
    return Rewrite(Anchor(first, "end"), Anchor(whole, "end"), text)


# --- what users read -----------------------------------------------------------------------


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
    """Edits that never overlap, in the order of the file."""

    message: str
    safety: Safety
    edits: tuple[Edit, ...]


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
