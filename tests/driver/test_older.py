"""Which findings an older text has too, and which older file a new one was."""

from __future__ import annotations

import time

import pytest

from devlint.history.renames import renamed
from devlint.model.findings import Finding, Level, Span
from devlint.model.older import fresh, told


def findings(text: str, word: str = "bad", code: str = "DEV101") -> list[Finding]:
    """A finding at each place of a word."""
    found: list[Finding] = []
    start = text.find(word)
    while start >= 0:
        row = text.count("\n", 0, start) + 1
        column = start - text.rfind("\n", 0, start)
        span = Span(start, start + len(word), row, column, row, column + len(word))
        found.append(Finding("a.py", code, "none", "m", Level.ERROR, span, statement=(row, row)))
        start = text.find(word, start + 1)
    return found


def new_rows(old: str, new: str) -> list[int]:
    left = fresh(findings(new), new, told(findings(old), old))
    return [finding.span.row for finding in left]


CASES = {
    "nothing": ("bad\n", "bad\n", []),
    "one more, above": ("a\nbad\nb\n", "x\nbad\na\nbad\nb\n", [2]),
    "one more, below": ("a\nbad\nb\n", "a\nbad\nb\nbad\n", [4]),
    "one more, between": ("a\nbad\nb\nbad\nc\n", "a\nbad\nb\nbad\nz\nbad\nc\n", [6]),
    "fewer": ("bad\nbad\nbad\n", "bad\n", []),
    "around changed": ("a\nbad\nb\n", "y\nbad\nz\n", []),
    "around changed, and one more": ("a\nbad\nb\n", "y\nbad\nz\nbad\n", [4]),
    "blank rows": ("a\nbad\nb\n", "a\n\n\nbad\n\nb\n", []),
    "another statement": ("bad\n", "bad(1)\n", [1]),
    "blanks": ("bad(1)\n", "if x:\n    bad( 1 )\n", []),
    "one row": ("bad; bad\n", "bad; bad\nbad; bad\n", [2, 2]),
}


@pytest.mark.parametrize(("old", "new", "rows"), CASES.values(), ids=CASES)
def test_what_is_new(old: str, new: str, rows: list[int]) -> None:
    assert new_rows(old, new) == rows


def test_another_code_is_another_finding() -> None:
    text = "bad\n"
    older = told(findings(text, code="DEV102"), text)
    assert len(fresh(findings(text), text, older)) == 1


def test_many_alike_take_no_time() -> None:
    line = "x = [" + "bad, " * 10_000 + "]\n"
    before = time.process_time()
    assert fresh(findings(line), line, told(findings(line), line)) == []
    text = "bad\n" * 10_000
    assert len(new_rows(text, text + "bad\n" * 10)) == 10
    assert time.process_time() - before < 20


def body(word: str, count: int = 10) -> bytes:
    return "".join(f"{word}{number} = {number}\n" for number in range(count)).encode()


def pairs(new: dict[str, bytes], old: dict[str, bytes]) -> dict[str, str]:
    return renamed([*new], [*old], new.__getitem__, old.__getitem__)


def test_the_same_content_comes_first_and_then_the_same_name() -> None:
    old = {"p/a.py": body("a"), "q/b.py": body("a"), "c.py": body("c")}
    new = {"r/b.py": body("a"), "r/a.py": body("a"), "r/c.py": body("c") + body("z", 3)}
    assert pairs(new, old) == {"r/b.py": "q/b.py", "r/a.py": "p/a.py", "r/c.py": "c.py"}


def test_the_most_alike_where_half_is_alike() -> None:
    old = {"a.py": body("a") + body("b", 4), "b.py": body("a")}
    new = {"x.py": body("a") + body("b", 3), "y.py": body("y")}
    assert pairs(new, old) == {"x.py": "a.py"}
    assert pairs({"x.py": body("a", 4) + body("x", 6)}, {"a.py": body("a")}) == {}


def test_empty_files_are_no_renames() -> None:
    assert pairs({"x/__init__.py": b"\n"}, {"y/__init__.py": b"\n"}) == {}
    assert pairs({}, {"a.py": b"x\n"}) == {}


def test_of_too_many_files_those_of_one_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("devlint.history.renames._MOST_PAIRS", 3)
    old = {"p/a.py": body("a"), "p/b.py": body("b")}
    new = {"q/a.py": body("a") + b"z\n", "q/other.py": body("b") + b"z\n"}
    assert pairs(new, old) == {"q/a.py": "p/a.py"}
