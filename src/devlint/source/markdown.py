"""Reads Markdown: the fenced blocks that are marked as Python.

markdown-it-py, a parser of CommonMark, says where blocks are: in lists and quotes too, whose
indents and signs are taken off. What isn't Python, such as a fragment or the call of a shell, is
passed by: a page is written for people.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import takewhile

from markdown_it import MarkdownIt
from markdown_it.token import Token

from devlint.model.spans import LineIndex
from devlint.source.blocks import Block, Blocks, Row
from devlint.source.continuing import chains
from devlint.source.encoding import Decoded, utf8
from devlint.source.errors import SourceError
from devlint.source.magics import masked
from devlint.source.parsing import parsed, parses

_MOST_BLOCKS = 10_000
"""Blocks of Python that are read: each takes time, however short it is."""

_DIRECTIVE = r"\{(?:code-cell|code-block|code|sourcecode)\}"
_INFO = re.compile(
    rf"(?P<directive>{_DIRECTIVE}[ \t]*)?(?P<braces>\{{[ \t]*\.?)?"
    r"(?P<language>python3?|py3?|ipython3?|pycon|python-repl)(?![\w.+#-])"
    r"|\{code-cell\}[ \t]*$",
    re.IGNORECASE,
)
"""`python`, `py title="x"`, `{.python .numberLines}`, `{python}`, `{code-cell} ipython3`, and a
`{code-cell}` in the language of its page."""
_MARKED = re.compile(rf"[`~][ \t]*(?:{_INFO.pattern})", re.IGNORECASE | re.MULTILINE)
"""Without this, no block is one of Python."""
_CONSOLES = ("pycon", "python-repl")
_PROMPT = re.compile(r"[ \t]*(?P<sign>>>>|\.\.\.)(?: |$)")
_OPTION = re.compile(r":[\w-]+:")
_FENCE = "---"


def read_markdown(data: bytes) -> Blocks:
    """The Python in the blocks of a file. Raises `SourceError`."""
    file = utf8(data)
    index = LineIndex(file.text)
    blocks: list[Block] = []
    trees: list[ast.Module] = []
    for token in _parser().parse(file.text) if _MARKED.search(file.text) else ():
        info = _INFO.match(token.info.strip()) if token.type == "fence" else None
        block = None if info is None else _python(_fence(token, index), info)
        if block is not None:
            blocks.append(block)
            trees.append(parsed(block.text))
        if len(blocks) > _MOST_BLOCKS:
            reason = f"more than {_MOST_BLOCKS:,} blocks of Python"
            raise SourceError(reason, LineIndex("").span(0, 0), "unreadable")
    modules = [[blocks[number] for number in chain] for chain in chains(trees)]
    return Blocks(file, index, blocks, modules, lambda text: _count(file, text))


def _count(file: Decoded, text: str) -> int:
    """How many blocks of another text of the file are Python."""
    return len(read_markdown(file.encode(text)).blocks)


@cache
def _parser() -> MarkdownIt:
    """One that looks for blocks alone: what stands in paragraphs is none of ours."""
    parser = MarkdownIt("commonmark")
    parser.core.ruler.enableOnly(["normalize", "block"])
    parser.block.ruler.disable(["reference"])
    return parser


@dataclass(frozen=True, slots=True)
class _Fence:
    """A block as it stands there. `before` is what a new row of it begins with in the file."""

    rows: list[Row]
    before: str


def _fence(token: Token, index: LineIndex) -> _Fence:
    """Where the rows of a block begin, behind the indents and signs of what it stands in."""
    assert token.map is not None
    opening = index.row_text(token.map[0] + 1)
    before = re.sub(r"[^>\s]", " ", opening[: opening.find(token.markup)])
    lines = token.content.split("\n")
    if not lines[-1]:
        lines.pop()
    return _Fence(
        [_row(index, number, line) for number, line in enumerate(lines, start=token.map[0] + 2)],
        before,
    )


def _row(index: LineIndex, number: int, content: str) -> Row:
    """A row, of whose content the parser says how long it is: some blanks at its start may be a
    part of a tab, which is taken whole."""
    start, end = index.row_bounds(number)
    text = index.text[start:end]
    seen, size = text.replace("\0", "\ufffd"), len(content)
    while not seen.endswith(content[len(content) - size :]):
        size -= 1
    column = len(text) - size - (size < len(content))
    return Row(number, start + column, column, text[column:])


# --- what of a block is Python


def _python(fence: _Fence, info: re.Match[str]) -> Block | None:
    """A block of Python; None where it isn't."""
    rows = fence.rows
    prompt = next((_PROMPT.match(row.text) for row in rows if row.text.strip()), None)
    is_console = prompt is not None and prompt["sign"] == ">>>"
    if is_console or (info["language"] or "").lower() in _CONSOLES:
        return _block(list(_prompted(rows)), fence, grows=False)
    if info["directive"] or info["language"] is None:
        rows = list(_without_options(rows))
    found, margin = _block(rows, fence), _margin(rows)
    if found is None and margin:
        rows = [row.behind(min(len(margin), len(row.text))) for row in rows]
        found = _block(rows, fence, margin)
    return found


def _block(rows: list[Row], fence: _Fence, margin: str = "", grows: bool = True) -> Block | None:
    """The block of some rows, if they are Python, of which some may be left empty."""
    text = "".join(f"{row.text}\n" for row in rows)
    if not text.strip():
        return None
    python = masked(text, parses).text
    if not python.strip() or not parses(python):
        return None
    pairs = list(zip(rows, python.split("\n"), strict=False))
    blank = {row.number for row in fence.rows if not row.text.strip()}
    same = (row.number for row, line in pairs if row.text == line and (line or row.number in blank))
    told = [row.holding(line) for row, line in pairs]
    return Block(told, fence.before + margin, frozenset(same), grows)


def _prompted(rows: list[Row]) -> Iterator[Row]:
    """The input of a console, without its prompts; its output is left out."""
    inside = False
    for row in rows:
        found = _PROMPT.match(row.text)
        inside = found is not None and (inside or found["sign"] == ">>>")
        yield row.behind(found.end()) if found is not None and inside else row.holding("")


def _without_options(rows: list[Row]) -> Iterator[Row]:
    """A directive of MyST without what it is told at its start."""
    at = 0
    if rows and rows[0].text.strip() == _FENCE:
        closing = (n for n, row in enumerate(rows[1:], 2) if row.text.strip() == _FENCE)
        at = next(closing, 0)
    else:
        while at < len(rows) and _OPTION.match(rows[at].text):
            at += 1
    for number, row in enumerate(rows):
        yield row.holding("") if number < at else row


def _margin(rows: list[Row]) -> str:
    """The blanks that all rows begin with that hold something."""
    texts = [row.text for row in rows if row.text.strip()]
    pairs = zip(min(texts, default=""), max(texts, default=""), strict=False)
    return "".join(a for a, _ in takewhile(lambda pair: pair[0] == pair[1] in (" ", "\t"), pairs))
