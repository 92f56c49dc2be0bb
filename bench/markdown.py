"""Lints and fixes all files of Markdown in a folder, and checks that nothing else of them changes.

    python bench/markdown.py FOLDER

Each is linted with `--pedantic`, and all fixes are applied to its bytes, the unsafe ones too. What
must hold: no crash; all but the rows of Python is the same, byte by byte; every row of a block
still begins with its indent or the sign of its quote; a second run changes nothing. Prints a table,
and ends with 1 where something doesn't hold. `--apart` lints each block as a module of its own, and
`--together` all of a file as one, to see what that makes of it; `--list` prints the findings.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from devlint.config.settings import Settings
from devlint.fix.applying import FixResult, fix_source
from devlint.lint import check_source
from devlint.model.spans import LineIndex
from devlint.source import markdown
from devlint.source.blocks import Blocks
from devlint.source.errors import SourceError
from devlint.source.markdown import read_markdown

SUFFIXES = ("md", "markdown", "qmd", "Rmd", "rmd")
SETTINGS = Settings(pedantic=True, extension=tuple((each, "markdown") for each in SUFFIXES))
SHOWN = Settings(extension=SETTINGS.extension)
Chains = Callable[[Sequence[object]], list[list[int]]]


def main() -> int:
    """Check all files of Markdown in a folder."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--apart", action="store_true")
    parser.add_argument("--together", action="store_true")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    if options.apart:
        _read_as(lambda trees: [[number] for number in range(len(trees))])
    elif options.together:
        _read_as(lambda trees: [list(range(len(trees)))])
    counts: Counter[str] = Counter()
    codes: Counter[str] = Counter()
    slowest = (0.0, Path())
    began = time.monotonic()
    for path in sorted(options.folder.rglob("*")):
        if path.suffix.removeprefix(".") not in SUFFIXES or not path.is_file():
            continue
        start = time.monotonic()
        try:
            problem = check(path, counts, codes, options.list)
        except Exception:
            problem = traceback.format_exc()
            counts["crashes"] += 1
        slowest = max(slowest, (time.monotonic() - start, path))
        if problem:
            counts["wrong"] += 1
            print(f"{path}: {problem}")
    for name in ("files", "blocks", "modules", "unreadable", "findings", "shown", "over blocks"):
        print(f"{name:>20}  {counts[name]}")
    for name in ("fixed findings", "fixed files", "fixes left out", "crashes", "wrong"):
        print(f"{name:>20}  {counts[name]}")
    print(f"{'seconds':>20}  {time.monotonic() - began:.1f}")
    print(f"{'slowest':>20}  {slowest[0]:.1f} {slowest[1]}")
    print(f"{'by code':>20}  {', '.join(f'{code} {codes[code]}' for code in sorted(codes))}")
    return int(bool(counts["wrong"]))


def _read_as(chains: Chains) -> None:
    """Put the blocks of a file together in another way."""
    vars(markdown)["chains"] = chains


def check(path: Path, counts: Counter[str], codes: Counter[str], told: bool) -> str:
    """What is wrong with what becomes of a file; "" for nothing."""
    data, name = path.read_bytes(), str(path.resolve())
    counts["files"] += 1
    found = check_source(data, name, SETTINGS)
    shown = check_source(data, name, SHOWN)
    codes.update(finding.code for finding in shown)
    counts["findings"] += len(found)
    counts["shown"] += len(shown)
    try:
        blocks = read_markdown(data)
    except SourceError:
        counts["unreadable"] += 1
        return "" if len(found) == 1 else "it can't be read, but that is not its one finding"
    counts["blocks"] += len(blocks.blocks)
    counts["modules"] += len(blocks.parts)
    for finding in shown:
        spans = [finding.span, *(each.span for each in finding.trace if not each.filename)]
        over = len({_block(blocks, span.row) for span in spans}) > 1
        counts["over blocks"] += over
        if told:
            trace = "; ".join(f"{each.span.row} {each.message}" for each in finding.trace)
            text = f"{finding.code} {finding.message} [{trace}]"
            print(f"{'*' if over else ' '} {path}:{finding.span.place}: {text}")
    if any(_block(blocks, finding.span.row) is None for finding in found):
        return "a finding is in no block"
    done = _fixed(data, name)
    counts["fixed findings"] += len(done.applied)
    counts["fixes left out"] += len(done.dropped)
    if not done.applied:
        return "" if done.data == data else "it has changed without a fix"
    counts["fixed files"] += 1
    if _rest(done.data) != _rest(data):
        return "more than the Python has changed"
    if _starts(done.data) - _starts(data):
        return "a row begins as none did"
    return "" if _fixed(done.data, name).data == done.data else "a second run changes it again"


def _fixed(data: bytes, name: str) -> FixResult:
    return fix_source(data, name, SETTINGS, True, check_source, language="markdown")


def _block(blocks: Blocks, row: int) -> int | None:
    """The number of the block that a row is in."""
    inside = (n for n, each in enumerate(blocks.blocks) if each.first <= row <= each.last)
    return next(inside, None)


def _rest(data: bytes) -> list[bytes]:
    """The rows that are in no block of Python."""
    inside = {row.number for block in read_markdown(data).blocks for row in block.rows}
    rows = data.splitlines(keepends=True)
    return [row for number, row in enumerate(rows, start=1) if number not in inside]


def _starts(data: bytes) -> set[tuple[int, str]]:
    """What the rows of Python begin with that hold something, and in which block."""
    blocks = read_markdown(data)
    index = LineIndex(blocks.shown)
    return {
        (number, index.row_text(row.number)[: row.column])
        for number, block in enumerate(blocks.blocks)
        for row in block.rows
        if row.text
    }


if __name__ == "__main__":
    sys.exit(main())
