"""What LibCST doesn't read: findings are the same as if it read all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from devlint import lint
from devlint.config.settings import Settings
from devlint.lint import check_source
from devlint.model.findings import Finding
from devlint.source.lower import lower
from devlint.source.sparse import sparse

CASES = sorted((Path(__file__).parents[1] / "cases").glob("*.md"))

TEXT = """\
import torch


@torch.no_grad()
def idle(x):
    return '''
    é''' + x  # a comment

# between


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()

    def used(self, x):
        return x.numpy()

    @property
    def unused(self): return 1


class Whole:
    x: int
"""


def kept(rows: set[int], text: str = TEXT) -> list[str]:
    """The rows of a text that aren't blank once it is sparse."""
    left = sparse(text, lower(text, "a.py"), rows)
    assert len(left) == len(text)
    assert [at for at, each in enumerate(left) if each in "\r\n"] == [
        at for at, each in enumerate(text) if each in "\r\n"
    ]
    return [each for each in left.splitlines() if each.strip()]


def test_definitions_without_what_is_asked_for_are_blank() -> None:
    assert kept({17}) == [
        "import torch",
        "class Model(torch.nn.Module):",
        "    def used(self, x):",
        "        return x.numpy()",
    ]
    assert kept({5})[:4] == TEXT.splitlines()[:1] + TEXT.splitlines()[3:6]
    assert kept(set()) == ["import torch"]


def test_of_a_class_something_is_left() -> None:
    text = "class A:\n    def f(self): ...\n    def g(self): ...\n"
    assert kept({1}, text) == text.splitlines()
    assert kept({3}, text) == ["class A:", "    def g(self): ..."]


def test_rows_end_as_they_did() -> None:
    assert kept({4}, TEXT.replace("\n", "\r\n")) == kept({4})


def texts_of(path: Path) -> list[bytes]:
    """The blocks of a page, and several of them as one file, so that something is left out."""
    parts = path.read_text().split("```python ")[1:41]
    texts = [each.partition("```")[0].partition("\n")[2].encode() for each in parts]
    return [*texts, *(b"\n\n".join(texts[at : at + 8]) for at in range(0, len(texts), 8))]


def test_findings_are_those_of_the_whole_text(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [text for path in CASES[::3] for text in texts_of(path)]
    settings = replace(Settings(), pedantic=True, follow_imports=False)

    def found() -> list[list[Finding]]:
        return [check_source(text, "a.py", settings) for text in texts]

    usual = found()
    assert sum(map(len, usual)) > 100
    monkeypatch.setattr(lint, "sparse", lambda text, *_: text)
    assert found() == usual


ABOVE = """\
import torch

x = torch.ones(3, device="cuda")


# devlint: ignore[DEV205]
def idle():
    pass


y = x.numpy()
"""


def test_a_comment_speaks_of_what_it_stands_above() -> None:
    settings = replace(Settings(), follow_imports=False)
    assert [each.code for each in check_source(ABOVE.encode(), "a.py", settings)] == [
        "DEV103",
        "DEV002",
        "DEV205",
    ]
