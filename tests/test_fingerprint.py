"""Fingerprints outlive what moves a finding, and tell findings apart."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from report.sample import finding

from devlint.model.findings import Finding
from devlint.model.fingerprint import fingerprints, relative_path

TEXT = "a = 1\nif a:\n    y = x.cuda(1)\n"


def mark(text: str, root: Path, filename: str = "train.py", **changes: str) -> str:
    found = dataclasses.replace(finding(text, "x.cuda", filename=filename), **changes)  # type: ignore[arg-type]
    found = dataclasses.replace(found, statement=_statement(text))
    return fingerprints([found], lambda name: text, root)[0]


def _statement(text: str) -> tuple[int, int]:
    first = text[: text.index("y =")].count("\n") + 1
    last = first + text[text.index("y =") : text.index("1)")].count("\n")
    return first, last


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("import os\n\n\n" + TEXT, id="lines above"),
        pytest.param(TEXT + "z = 2\n", id="lines below"),
        pytest.param(TEXT.replace("    y", "        y"), id="indentation"),
        pytest.param(TEXT.replace("x.cuda(1)", "x.cuda(\n        1)"), id="wrapped"),
        pytest.param(TEXT.replace("\n", "\r\n"), id="newlines"),
    ],
)
def test_survives(text: str, tmp_path: Path) -> None:
    assert mark(text, tmp_path) == mark(TEXT, tmp_path)


def test_survives_another_message(tmp_path: Path) -> None:
    assert mark(TEXT, tmp_path, message="other words") == mark(TEXT, tmp_path)


def test_tells_apart(tmp_path: Path) -> None:
    marks = [
        mark(TEXT, tmp_path),
        mark(TEXT.replace("y = x", "y = z = x"), tmp_path),
        mark(TEXT, tmp_path, code="DEV101"),
        mark(TEXT, tmp_path, filename="other.py"),
    ]
    assert len(set(marks)) == 4


def test_like_findings_are_counted_from_the_top(tmp_path: Path) -> None:
    text = "x.cuda(1)\nx.cuda(1)\n"
    first, second = finding(text, "x.cuda"), finding(text, "x.cuda", nth=1)
    marks = fingerprints([second, first], lambda name: text, tmp_path)
    assert marks[0] != marks[1]
    assert marks == fingerprints([first, second], lambda name: text, tmp_path)[::-1]
    assert marks[1] == fingerprints([first], lambda name: text, tmp_path)[0]


def test_paths_do_not_depend_on_the_checkout(tmp_path: Path) -> None:
    def of(root: Path) -> str:
        found: Finding = finding(TEXT, "x.cuda", filename=str(root / "src" / "train.py"))
        return fingerprints([found], lambda name: TEXT, root)[0]

    assert of(tmp_path / "one") == of(tmp_path / "two")


def test_a_file_that_is_gone_has_a_fingerprint(tmp_path: Path) -> None:
    assert fingerprints([finding(TEXT, "x.cuda")], lambda name: None, tmp_path)


def test_relative_paths(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert relative_path(str(tmp_path / "link" / "a.py"), tmp_path) == "real/a.py"
    assert relative_path("/elsewhere/a.py", tmp_path) == "/elsewhere/a.py"
