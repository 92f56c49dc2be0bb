"""Lints and fixes all notebooks of a folder, and checks that nothing else of them changes.

    python bench/notebooks.py FOLDER

Each is linted with `--pedantic`, and all fixes are applied to its bytes, the unsafe ones too. What
must hold: no crash; the result is JSON; all but the source of cells of code is the same, byte by
byte; a second run changes nothing. Prints a table, and ends with 1 where something doesn't hold.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

from devlint.config.settings import Settings
from devlint.fix.applying import FixResult, fix_source
from devlint.lint import check_source
from devlint.source.errors import SourceError
from devlint.source.notebooks import read_notebook

SETTINGS = Settings(pedantic=True)


def main() -> int:
    """Check all notebooks of a folder."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    counts: Counter[str] = Counter()
    codes: Counter[str] = Counter()
    slowest = (0.0, Path())
    began = time.monotonic()
    for path in sorted(folder.rglob("*.ipynb")):
        start = time.monotonic()
        try:
            problem = check(path, counts, codes)
        except Exception:
            problem = traceback.format_exc()
            counts["crashes"] += 1
        slowest = max(slowest, (time.monotonic() - start, path))
        if problem:
            counts["wrong"] += 1
            print(f"{path}: {problem}")
    for name in ("notebooks", "cells", "unreadable", "broken cells", "findings", "fixed findings"):
        print(f"{name:>20}  {counts[name]}")
    for name in ("fixed notebooks", "fixes left out", "crashes", "wrong"):
        print(f"{name:>20}  {counts[name]}")
    print(f"{'seconds':>20}  {time.monotonic() - began:.1f}")
    print(f"{'slowest':>20}  {slowest[0]:.1f} {slowest[1]}")
    print(f"{'by code':>20}  {', '.join(f'{code} {codes[code]}' for code in sorted(codes))}")
    return int(bool(counts["wrong"]))


def check(path: Path, counts: Counter[str], codes: Counter[str]) -> str:
    """What is wrong with what becomes of a notebook; "" for nothing."""
    data, name = path.read_bytes(), str(path.resolve())
    counts["notebooks"] += 1
    found = check_source(data, name, SETTINGS)
    codes.update(finding.code for finding in found)
    counts["findings"] += len(found)
    try:
        cells = read_notebook(data)
    except SourceError:
        counts["unreadable"] += 1
        return "" if len(found) == 1 else "it can't be read, but that is not its one finding"
    counts["cells"] += len(cells.cells)
    counts["broken cells"] += len(cells.errors)
    if any(finding.span.cell is None for finding in found):
        return "a finding is in no cell"
    done = _fixed(data, name)
    counts["fixed findings"] += len(done.applied)
    counts["fixes left out"] += len(done.dropped)
    if not done.applied:
        return "" if done.data == data else "it has changed without a fix"
    counts["fixed notebooks"] += 1
    if _rest(done.data) != _rest(data):
        return "more than the source of cells has changed"
    return "" if _fixed(done.data, name).data == done.data else "a second run changes it again"


def _fixed(data: bytes, name: str) -> FixResult:
    return fix_source(data, name, SETTINGS, True, check_source)


def _rest(data: bytes) -> list[str]:
    """What stands around the sources of the cells of code."""
    text = data.decode("utf-8-sig")
    rest, at = [], 0
    for cell in read_notebook(data).cells:
        if cell.pieces:
            rest.append(text[at : cell.pieces[0].start])
            at = cell.pieces[-1].end
    return [*rest, text[at:]]


if __name__ == "__main__":
    sys.exit(main())
