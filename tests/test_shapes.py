"""What programs read doesn't change unless its version does: docs/versioning.md."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping

import pytest
import shapes
from shapes import FOLDER

import devlint
from devlint.report.versions import FORMAT_VERSIONS

ROOT = FOLDER.parents[1]


@pytest.fixture(scope="module")
def now() -> Mapping[str, list[str]]:
    return shapes.files()


@pytest.mark.parametrize("name", [*FORMAT_VERSIONS, "api"])
def test_it_is_as_its_version_says(name: str, now: Mapping[str, list[str]]) -> None:
    file = "api.txt" if name == "api" else f"{name}-{FORMAT_VERSIONS[name]}.txt"
    stored = (FOLDER / file).read_text().splitlines() if (FOLDER / file).exists() else []
    how = "docs/versioning.md says what a change takes; `python tools/formats.py` shows it"
    assert now[file] == stored, how


def test_a_key_that_comes_goes_or_is_something_else_is_seen() -> None:
    before = shapes.shape([[{"a": 1, "b": None}, {"a": 2, "b": {"c": True}}]])
    assert before == [
        "$: array", "$[]: object", "$[].a: int", "$[].b: null | object", "$[].b.c: bool",
    ]  # fmt: skip
    for other in ([{"a": 1}], [{"a": "1", "b": None}], [{"a": 1, "b": {"d": True}}]):
        assert set(shapes.shape([other])) != set(before)
    assert shapes.shape([{"a": {"x": 1}}, {"a": {"y": 2}}], ["$.a"]) == [
        "$: object", "$.a: object", "$.a.*: int",
    ]  # fmt: skip


def test_the_page_names_each_version() -> None:
    page = (ROOT / "docs" / "versioning.md").read_text()
    rows = dict(re.findall(r"^\| `([a-z]+)` \|.*\| ([0-9.]+) \|$", page, re.MULTILINE))
    assert rows == dict(FORMAT_VERSIONS)


def test_type_checkers_know_each_public_name() -> None:
    stub = (ROOT / "src" / "devlint" / "__init__.pyi").read_text()
    named = re.findall(r"^from (\S+) import (\w+) as \2$", stub, re.MULTILINE)
    assert {name for _, name in named} == {name for name in dir(devlint) if name in devlint._HOMES}
    for home, name in named:
        assert getattr(importlib.import_module(home), name) is getattr(devlint, name)
