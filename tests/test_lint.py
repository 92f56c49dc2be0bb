"""Which files LibCST reads, and that the others would have had no findings."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from literate import FILENAME, file_cases, page_cases

from devlint import ir, lint
from devlint.flow.project import Text
from devlint.flow.scan import descendants
from devlint.rulebook import pages
from devlint.settings import Settings, check_layer, merge
from devlint.source.adopt import adopted_origins
from devlint.source.document import Document, read_document
from devlint.source.scout import scout_module
from devlint.source.spots import path_of

BAD = 'import torch\n\nd = torch.device("gpu")\n'
CLEAN = 'import torch\n\nd = torch.device("cpu")\n'

CASES = [
    case
    for path in sorted((Path(__file__).parent / "cases").glob("*.md"))
    for case in file_cases(path)
] + [case for page in pages().values() for case in page_cases(page)]


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that LibCST reads."""
    names: list[str] = []

    def reads(data: bytes, filename: str) -> Document:
        names.append(filename)
        return read_document(data, filename)

    monkeypatch.setattr(lint, "read_document", reads)
    return names


def codes(code: str, settings: Settings | None = None) -> list[str]:
    found = lint.check_source(code.encode(), "x.py", settings or Settings())
    return [finding.code for finding in found]


def test_a_file_without_findings_is_not_read_by_libcst(read: list[str]) -> None:
    assert codes(CLEAN) == []
    assert codes(CLEAN + "x = d  # noqa\ny = d  # noqa: F841\n") == []
    assert read == []


def test_a_file_with_a_finding_is(read: list[str]) -> None:
    assert codes(BAD) == ["DEV304"]
    assert read == ["x.py"]


def test_a_rule_that_is_off_makes_libcst_read_nothing(read: list[str]) -> None:
    assert codes(BAD, merge([check_layer("x", "", {"ignore": ["DEV304"]})])) == []
    assert read == []


def test_suppressions_are_judged_in_clean_files_too(read: list[str]) -> None:
    assert codes(f"{CLEAN}x = d  # devlint: ignore[DEV304]\n") == ["DEV002"]
    assert codes(f"{CLEAN}x = d  # devlint: skip[DEV304]\n") == ["DEV002"]
    assert codes(f"{CLEAN}x = d  # noqa: DEV304\n") == ["DEV002"]
    assert codes(BAD.replace("\n\n", "\n# devlint: ignore[DEV304]\n")) == []
    assert codes(BAD.rstrip() + "  # noqa\n") == []
    assert len(read) == 5


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="Python parses this itself")
def test_what_only_libcst_can_parse_is_linted(read: list[str]) -> None:
    assert codes(f"{CLEAN}x = t'{{d}}'\n") == []
    assert codes(f"{BAD}x = t'{{d}}'\n") == ["DEV304"]
    assert len(read) == 2


def test_what_the_scout_cannot_interpret_libcst_gets_with_more_room(
    read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    interpret = lint.interpret

    def shallow(*arguments: Any) -> Any:
        if not read:
            raise RecursionError
        return interpret(*arguments)

    monkeypatch.setattr(lint, "interpret", shallow)
    assert codes(BAD) == ["DEV304"]
    assert read == ["x.py"]


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch) -> list[ir.Module]:
    """The modules that are interpreted."""
    modules: list[ir.Module] = []
    interpret = lint.interpret

    def interprets(content: Text, *rest: Any) -> Any:
        modules.append(content.module)
        return interpret(content, *rest)

    monkeypatch.setattr(lint, "interpret", interprets)
    return modules


def test_a_file_is_interpreted_once(interpreted: list[ir.Module]) -> None:
    assert codes(BAD) == ["DEV304"]
    assert len(interpreted) == 1


def test_where_the_readings_differ_libcst_is_right(
    interpreted: list[ir.Module], monkeypatch: pytest.MonkeyPatch
) -> None:
    other = scout_module(f"{BAD}x = d\n".encode(), "x.py")
    assert other is not None
    monkeypatch.setattr(lint, "_content", lambda *_: Text(other))
    assert codes(BAD) == ["DEV304"]
    assert len(interpreted) == 2


@pytest.mark.parametrize("code", ["a", "a, b", "b = a", "a.c", "f(a)", "f(b=a)", "-1", "1.0", "x"])
def test_origins_are_adopted_by_twins_only(code: str) -> None:
    first, second = (scout_module(code.encode(), path) for path in ("x.py", "y.py"))
    assert first is not None
    assert second is not None
    with adopted_origins(first, second) as same:
        assert same
        assert {path_of(node.origin) for node in descendants(first.body[0])} == {"y.py"}
    assert {path_of(node.origin) for node in descendants(first.body[0])} == {"x.py"}
    for other in ("a, c", "a.d", "g(a)", "f(c=a)", "+1", "1", "True", "x; x", "", "b += a"):
        third = scout_module(other.encode(), "z.py")
        assert third is not None
        with adopted_origins(first, third) as same:
            assert not same
            assert {path_of(node.origin) for node in descendants(first.body[0])} == {"x.py"}


def test_findings_are_those_of_libcst_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    datas = [(case.source.encode(), case.settings) for case in CASES]
    with_scout = [lint.check_source(data, FILENAME, settings) for data, settings in datas]
    monkeypatch.setattr(lint, "_scout", lambda *_: None)
    for case, (data, settings), found in zip(CASES, datas, with_scout, strict=True):
        assert found == lint.check_source(data, FILENAME, settings), case.id
