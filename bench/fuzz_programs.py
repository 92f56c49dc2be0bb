"""Programs for fuzz.py: real ones with tokens dropped, doubled or swapped, or cut off, and ones
that hypothesmith writes, where that is installed. And what must hold of their fixes."""

from __future__ import annotations

import io
import random
import tokenize
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from devlint.config.sources import Source
from devlint.fix.file import fix_bytes
from devlint.model.findings import Edit, Finding


@cache
def real() -> tuple[bytes, ...]:
    """Files of torch that are about modules, without the longest."""
    found = find_spec("torch")
    folder = Path(found.origin if found and found.origin else ".").parent / "nn" / "modules"
    files = (path.read_bytes() for path in sorted(folder.glob("*.py")))
    return tuple(data for data in files if len(data) < 30_000)


def mutated(dice: random.Random, data: bytes) -> bytes:
    """A program after a few mishaps with its tokens."""
    text = data.decode("utf-8", "replace")
    for _ in range(dice.choice((1, 1, 1, 2, 3))):
        spans = _tokens(text)
        if len(spans) < 2:
            break
        at = dice.randrange(len(spans) - 1)
        (start, end), (second, last) = spans[at], spans[at + 1]
        match dice.randrange(4):
            case 0:
                text = text[:start] + text[end:]
            case 1:
                text = text[:end] + text[start:end] + text[end:]
            case 2:
                text = (
                    text[:start]
                    + text[second:last]
                    + text[end:second]
                    + text[start:end]
                    + (text[last:])
                )
            case _:
                text = text[:end]
    return text.encode()


def _tokens(text: str) -> list[tuple[int, int]]:
    """Where the tokens are, up to the first that can't be read."""
    begins = [0]
    for line in text.splitlines(keepends=True):
        begins.append(begins[-1] + len(line))
    found = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text, newline="").readline):
            (row, column), (end_row, end_column) = token.start, token.end
            if token.string.strip() and end_row < len(begins):
                found.append((begins[row - 1] + column, begins[end_row - 1] + end_column))
    except (tokenize.TokenError, SyntaxError):
        pass
    return found


def written(number: int) -> list[bytes]:
    """Some programs by hypothesmith."""
    from hypothesis import HealthCheck, Phase, given, seed, settings
    from hypothesmith import from_grammar, from_node  # type: ignore[import-not-found]

    found: list[bytes] = []
    for strategy in (from_node(), from_grammar()):

        def keep(text: str) -> None:
            found.append(text.encode("utf-8", "surrogatepass"))

        once = settings(
            max_examples=20,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
            deadline=None,
        )
        seed(number)(once(given(strategy)(keep)))()
    return found


def wrong_fix(data: bytes, source: Source, findings: Sequence[Finding]) -> str:
    """What is wrong with the fixes of a file: they must leave all else as it is, byte by byte, and
    there must be nothing left to do after them."""
    first = fix_bytes(data, source, unsafe=True)
    if first.error:
        return first.error
    again = fix_bytes(first.new, source, unsafe=True)
    if again.new != first.new:
        return "fixes that are made change something when they are made again"
    if b"\r" in data or b"\f" in data or not data.isascii():
        return ""
    if not all(each in findings for each in first.applied):
        return ""  # some were only found after others had been fixed
    edits = {edit for each in first.applied if each.fix for edit in each.fix.edits}
    if not _leaves_all_else(data.decode(), first.new.decode(), edits):
        return "the fixes change what no edit of theirs covers"
    return ""


def _leaves_all_else(old: str, new: str, edits: set[Edit]) -> bool:
    """Whether all that stands between edits is there still, in its order."""
    at = kept = 0
    for edit in sorted(edits, key=lambda each: (each.span.start, each.span.end)):
        between = old[kept : edit.span.start]
        found = new.find(between, at)
        if found < 0 or (kept == 0 and found != 0):
            return False
        at, kept = found + len(between), max(kept, edit.span.end)
    return new.endswith(old[kept:])
