"""What comes and goes between two revisions of devlint."""

from __future__ import annotations

import json
from pathlib import Path

import diff
import labels
import pytest
from repository import Repository

LINTER = """
import json, sys
from pathlib import Path

WORD = {word!r}
print(json.dumps([
    {{
        "filename": str(path),
        "location": {{"row": row}},
        "code": "DEV202",
        "name": "n",
        "level": "error",
        "message": WORD,
        "trace": [],
    }}
    for path in sorted(Path(sys.argv[2]).rglob("*.py"))
    for row, line in enumerate(path.read_text().splitlines(), 1)
    if WORD in line
]))
"""
"""A devlint that finds a word."""


def record(line: int, text: str, code: str = "DEV202", message: str = "m") -> labels.Record:
    place = {"package": "p", "version": "1", "path": "a.py", "line": line, "code": code}
    return {**place, "message": message, "text": text}


def lines(findings: tuple[labels.Record, ...]) -> list[object]:
    return [finding["line"] for finding in findings]


@pytest.mark.parametrize(
    ("old", "new", "added", "removed"),
    [
        ([], [record(1, "x")], [1], []),
        ([record(1, "x")], [], [], [1]),
        ([record(1, "x")], [record(1, "x")], [], []),
        ([record(1, "  x")], [record(7, "x")], [], []),
        ([record(1, "x")], [record(1, "y")], [1], [1]),
        ([record(1, "x")], [record(1, "x", "DEV203")], [1], [1]),
        ([record(1, "x"), record(5, "x")], [record(5, "x")], [], [1]),
        ([record(5, "x")], [record(1, "x"), record(5, "x"), record(9, "x")], [1, 9], []),
        ([record(1, "x"), record(5, "x")], [record(2, "x"), record(3, "x")], [], []),
    ],
)
def test_findings_are_matched_by_file_code_and_text(
    old: list[labels.Record], new: list[labels.Record], added: list[int], removed: list[int]
) -> None:
    changes = diff.compare(old, new, lambda finding: str(finding["text"]))
    assert (lines(changes.added), lines(changes.removed)) == (added, removed)
    assert len(changes.kept) == len(new) - len(added) == len(old) - len(removed)


def test_another_message_is_no_change_but_is_counted() -> None:
    old, new = record(1, "x", message="a"), record(1, "x", message="b")
    changes = diff.compare([old], [new], lambda finding: str(finding["text"]))
    assert (changes.added, changes.removed, changes.reworded) == ((), (), 1)


@pytest.fixture
def revisions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """Two commits of a linter, tagged, and a work tree that holds a third state of it."""
    made = Repository(tmp_path / "linter")
    for tag, word in (("first", "bad"), ("second", "worse")):
        files = {"src/devlint/__main__.py": LINTER.format(word=word), "rules/a.md": ""}
        made.commit({**files, "src/devlint/__init__.py": ""})
        made.git("tag", tag)
    (made.folder / "src/devlint/__main__.py").write_text(LINTER.format(word="worst"))
    monkeypatch.setattr(diff, "ROOT", made.folder)
    return made


def test_each_revision_runs_from_its_own_source(
    revisions: Repository,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, told = tmp_path / "code", tmp_path / "changes.json"
    code.mkdir()
    (code / "a.py").write_text("bad\nworse\nworst, worse, bad\n")
    common = ["--paths", str(code), "--json", str(told), "--jobs", "2"]
    monkeypatch.setattr("sys.argv", ["diff.py", "first", "second", *common])
    diff.main()
    assert f"+ {code} a.py:2 DEV202 worse" in capsys.readouterr().out
    changes = json.loads(told.read_text())
    assert (lines(changes["added"]), lines(changes["removed"])) == ([2], [1])
    assert changes["rules"] == {"DEV202": {"added": 1, "removed": 1, "kept": 1}}
    monkeypatch.setattr("sys.argv", ["diff.py", "second", ".", *common])
    diff.main()
    changes = json.loads(told.read_text())
    assert (lines(changes["added"]), lines(changes["removed"])) == ([], [2])


def test_what_a_commit_finds_in_a_package_is_kept(revisions: Repository, tmp_path: Path) -> None:
    folder = tmp_path / "p-1"
    folder.mkdir()
    (folder / "a.py").write_text("bad\nworst\n")
    bench = diff.Bench([diff.packages.Package("p", "1", folder)], "ALL", tmp_path / "kept")
    commit = diff.commit_of("first")
    assert [finding["line"] for finding in bench.findings(commit)] == [1]
    assert [finding["line"] for finding in bench.findings("")] == [2]
    (folder / "a.py").write_text("")
    assert [finding["line"] for finding in bench.findings(commit)] == [1]
    assert bench.findings("") == []


def test_an_unknown_revision_is_told(revisions: Repository) -> None:
    with pytest.raises(SystemExit, match="no such revision: third"):
        diff.commit_of("third")


def test_facts_are_compared_instead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each is a finding: its type for a code, and what it says for a message."""
    code, told = tmp_path / "code", tmp_path / "changes.json"
    code.mkdir()
    (code / "a.py").write_text("import torch\n\nx = torch.zeros(3).cuda()\n")
    bench = diff.Bench([diff.packages.Package(str(code), "", code)], "ALL", None, facts=True)
    facts = bench.findings("")
    assert {(fact["code"], fact["line"]) for fact in facts} >= {("Move", 3), ("ApiCall", 3)}
    others = [fact for fact in facts if fact["code"] != "Move"]
    monkeypatch.setattr(diff.Bench, "findings", lambda self, commit: facts if commit else others)
    monkeypatch.setattr(diff, "commit_of", lambda revision: revision.strip("."))
    options = ["--facts", "--paths", str(code), "--json", str(told)]
    monkeypatch.setattr("sys.argv", ["diff.py", ".", "HEAD", *options])
    diff.main()
    assert f"+ {code} a.py:3 Move" in capsys.readouterr().out
    (move,) = json.loads(told.read_text())["added"]
    assert json.loads(move["message"])["device"] == "cuda"


def test_facts_of_a_commit_are_kept_apart_from_its_findings(tmp_path: Path) -> None:
    package = diff.packages.Package("p", "1", tmp_path)
    kept = [diff.Bench([], "ALL", tmp_path, facts)._file("c", package) for facts in (True, False)]
    assert kept[0] != kept[1]
