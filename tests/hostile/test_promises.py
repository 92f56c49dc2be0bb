"""`docs/security.md`: twelve sentences, each of which a test holds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PROMISE = re.compile(
    r"^(?P<number>\d+)\. (?P<text>[^\n]+) \(\[test\]\((?P<path>[^)]+)\): `(?P<name>\w+)`\)\.$",
    re.MULTILINE,
)
PROMISES = [*PROMISE.finditer((DOCS / "security.md").read_text(encoding="utf-8"))]


def test_there_are_twelve_sentences() -> None:
    assert [promise["number"] for promise in PROMISES] == [str(n) for n in range(1, 13)]
    assert not any(". " in promise["text"] for promise in PROMISES)


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise["name"])
def test_a_promise_names_a_test_that_is_there(promise: re.Match[str]) -> None:
    text = (DOCS / promise["path"]).read_text(encoding="utf-8")
    assert re.search(rf"^def {promise['name']}\(", text, re.MULTILINE)
