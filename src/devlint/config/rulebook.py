"""Reads the rule pages, `rules/*.md`: metadata, prose and examples.

A page is Markdown with TOML front matter between two lines `+++`. The registry of rules,
`devlint rule`, every report format and the tests read the same pages. Reading the metadata is
all that a lint run needs, so the body is taken apart only when somebody asks for it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Literal, cast, get_args

from devlint.model.findings import Level

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HOMEPAGE = "https://github.com/devlint/devlint"
"""Where the project lives; pages and reports link below it."""

RULES_URL = f"{HOMEPAGE}/blob/main/rules"

PEDANTIC = "pedantic"
"""The last word behind the fence of such a block, as in `python error pedantic`."""

Fixability = Literal["never", "sometimes", "always"]
BlockKind = Literal["error", "fixed", "ok", ""]

_REQUIRED_KEYS = ("code", "name", "summary", "level", "fix", "since")
_OPTIONAL_KEYS = ("tags", "applies", "formerly")
_MARK = "+++"
_CODE = re.compile(r"DEV\d{3}")
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_SINCE = re.compile(r"\d+\.\d+(\.\d+)?")
_FENCE = re.compile(r" {0,3}(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^`\n]*)$")
_HEADING = re.compile(r" {0,3}(?P<marks>#{1,6})[ \t]+(?P<title>.*?)[ \t]*#*[ \t]*$")
_PYTHON = ("python", "py")


class RulebookError(ValueError):
    """A page is missing or malformed. The text names the file and the line."""

    def __init__(self, path: Path, row: int, reason: str) -> None:
        super().__init__(f"{path}:{row}: {reason}")
        self.path = path
        self.row = row
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block. `row` is the 1-based row, in its file, of the first line of `text`."""

    language: str
    info: str
    text: str
    row: int

    @property
    def is_python(self) -> bool:
        return self.language in _PYTHON

    @property
    def kind(self) -> BlockKind:
        """What a Python block claims; "" for an illustration and for other languages."""
        word = " ".join(self.info.split()[:-1]) if self.pedantic else self.info
        if not self.is_python or word not in get_args(BlockKind):
            return ""
        return cast("BlockKind", word)

    @property
    def pedantic(self) -> bool:
        """Whether a Python block says that something in it is found with `--pedantic` only."""
        return self.is_python and self.info.split()[-1:] == [PEDANTIC]


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands below it, up to the next heading of any depth.

    `row` is the row of the heading; the text before the first heading has depth 0.
    """

    title: str
    depth: int
    row: int
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """One rule's page. `body` is the Markdown below the front matter, from row `body_row` on."""

    path: Path
    code: str
    name: str
    summary: str
    level: Level
    fix: Fixability
    since: str
    body: str
    body_row: int
    tags: tuple[str, ...] = ()
    applies: Mapping[str, object] = field(default_factory=dict)
    formerly: tuple[str, ...] = ()
    """The code and the name of a rule that was split into this one and others."""

    @property
    def url(self) -> str:
        return page_url(self.name)

    @property
    def sections(self) -> tuple[Section, ...]:
        return read_sections(self.body, self.body_row)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Every fenced block, in the order of the page."""
        return tuple(block for section in self.sections for block in section.blocks)


def page_url(name: str) -> str:
    """The address of the page of the rule called `name`; no page is read for it."""
    return f"{RULES_URL}/{name}.md"


def rules_folder() -> Path:
    """Where the pages are: beside the modules in a wheel, at the top of a checkout."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "_rules"
    return installed if installed.is_dir() else package.parents[1] / "rules"


@cache
def pages(folder: Path | None = None) -> Mapping[str, Page]:
    """Every page by rule name, in the order of the codes.

    Raises `RulebookError` where a page can't be read, or where two pages share a code.
    """
    folder = rules_folder() if folder is None else folder
    if not folder.is_dir():
        raise RulebookError(folder, 1, "the folder of the rule pages is missing")
    found = sorted(
        (read_page(path) for path in sorted(folder.glob("*.md"))), key=lambda page: page.code
    )
    for page, following in pairwise(found):
        if page.code == following.code:
            raise RulebookError(following.path, 1, f"code {page.code} is taken by {page.path.name}")
    return MappingProxyType({page.name: page for page in found})


def find(code_or_name: str) -> Page | None:
    """The page of a rule by code (in either case), by name or by its former name; None where there
    is none."""
    known = pages()
    page = known.get(code_or_name.lower())
    if page is not None:
        return page
    code, parts = code_or_name.upper(), parts_of(code_or_name)
    by_code = (page for page in known.values() if page.code == code)
    return next(by_code, parts[0] if len(parts) == 1 else None)


def parts_of(code_or_name: str) -> list[Page]:
    """The pages of the rules that had another code or name before, or were part of that rule."""
    words = (code_or_name.lower(), code_or_name.upper())
    return [page for page in pages().values() if not set(page.formerly).isdisjoint(words)]


def read_page(path: Path) -> Page:
    """Read and validate one page's metadata.

    Raises `RulebookError` naming the file and the line.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RulebookError(path, 1, f"can't be read: {error}") from error
    front, body, body_row = _split(path, text)
    try:
        table = tomllib.loads(front)
    except tomllib.TOMLDecodeError as error:
        row = re.search(r"at line (\d+)", str(error))
        raise RulebookError(path, 1 + int(row[1]) if row else 1, str(error)) from error
    return _page(_Front(path, front, table), body, body_row)


def _split(path: Path, text: str) -> tuple[str, str, int]:
    """The front matter, the body, and the row on which the body starts."""
    first, *lines = text.split("\n")
    if first.rstrip() != _MARK:
        raise RulebookError(path, 1, f"a page starts with a line `{_MARK}`")
    for index, line in enumerate(lines):
        if line.rstrip() == _MARK:
            # `index` lines of front matter stand between the two marks.
            return "\n".join(lines[:index]), "\n".join(lines[index + 1 :]), index + 3
    raise RulebookError(path, 1, f"the front matter has no closing `{_MARK}`")


@dataclass(frozen=True, slots=True)
class _Front:
    """A page's front matter, able to say on which row a key stands."""

    path: Path
    text: str
    table: Mapping[str, object]

    def fail(self, key: str, reason: str) -> RulebookError:
        rows = (
            row
            for row, line in enumerate(self.text.split("\n"), start=2)
            if re.match(rf"\s*\[?{re.escape(key)}\b", line)
        )
        return RulebookError(self.path, next(rows, 1), reason)

    def string(self, key: str, pattern: re.Pattern[str], meaning: str) -> str:
        value = self.table[key]
        if not isinstance(value, str) or not pattern.fullmatch(value):
            raise self.fail(key, f"`{key}` must be {meaning}, not {value!r}")
        return value

    def one_of(self, key: str, choices: tuple[str, ...]) -> str:
        meaning = "one of " + ", ".join(f'"{choice}"' for choice in choices)
        return self.string(key, re.compile("|".join(choices)), meaning)


def _page(front: _Front, body: str, body_row: int) -> Page:
    for key in _REQUIRED_KEYS:
        if key not in front.table:
            raise RulebookError(front.path, 1, f"the front matter lacks `{key}`")
    for key in front.table:
        if key not in _REQUIRED_KEYS + _OPTIONAL_KEYS:
            raise front.fail(key, f"unknown key `{key}`")
    name = front.string("name", _NAME, "words joined by hyphens")
    if name != front.path.stem:
        raise front.fail("name", f"`name` is {name!r} but the file is {front.path.name}")
    tags = front.table.get("tags", [])
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise front.fail("tags", f"`tags` must be a list of strings, not {tags!r}")
    applies = front.table.get("applies", {})
    if not isinstance(applies, dict):
        raise front.fail("applies", f"`applies` must be a table, not {applies!r}")
    formerly = front.table.get("formerly", [])
    if not isinstance(formerly, list) or not all(isinstance(word, str) for word in formerly):
        raise front.fail("formerly", f"`formerly` must be a list of strings, not {formerly!r}")
    return Page(
        path=front.path,
        code=front.string("code", _CODE, "DEV and three digits"),
        name=name,
        summary=front.string("summary", re.compile(r".*\S.*"), "one line of text"),
        level=Level(front.one_of("level", tuple(level.value for level in Level))),
        fix=cast("Fixability", front.one_of("fix", get_args(Fixability))),
        since=front.string("since", _SINCE, 'a version such as "0.1"'),
        body=body,
        body_row=body_row,
        tags=tuple(tags),
        applies=MappingProxyType(applies),
        formerly=tuple(formerly),
    )


@cache
def read_sections(text: str, first_row: int = 1) -> tuple[Section, ...]:
    """Cut Markdown into sections with their fenced blocks.

    `first_row` is the row of the first line in its file. Raises `ValueError` for a fence that
    is never closed.
    """
    sections: list[Section] = []
    title, depth, heading_row, blocks = "", 0, first_row, list[Block]()
    lines = enumerate(text.split("\n"), start=first_row)
    for row, line in lines:
        if fence := _FENCE.match(line):
            blocks.append(_block(fence, row, lines))
        elif heading := _HEADING.match(line):
            sections.append(Section(title, depth, heading_row, tuple(blocks)))
            title, depth, heading_row, blocks = heading["title"], len(heading["marks"]), row, []
    sections.append(Section(title, depth, heading_row, tuple(blocks)))
    return tuple(sections if sections[0].blocks or len(sections) == 1 else sections[1:])


def _block(fence: re.Match[str], row: int, lines: Iterator[tuple[int, str]]) -> Block:
    """Read a fenced block whose first fence has just been read."""
    mark = fence["fence"]
    closing = re.compile(rf" {{0,3}}{re.escape(mark[0])}{{{len(mark)},}}[ \t]*$")
    language, _, info = fence["info"].strip().partition(" ")
    inside: list[str] = []
    for _, line in lines:
        if closing.match(line):
            return Block(language, info.strip(), "".join(f"{line}\n" for line in inside), row + 1)
        inside.append(line)
    raise ValueError(f"row {row}: the block is never closed")
