"""The bench of device moves that are taken out: what it takes out, and what counts as told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import removals
from removals import Removal

SOURCE = b"""import torch


def run(model, x, device):
    mask = torch.zeros(3, device=device)
    half = x.to(torch.float16)
    there = x.to(device, non_blocking=True)
    model.cuda()
    return model(there * mask * half).cpu()
"""


def test_what_is_taken_out() -> None:
    found = [(line, kind, text.split(b"\n")[line - 1]) for line, _, kind, text in taken(SOURCE)]
    assert found == [
        (5, "device=", b"    mask = torch.zeros(3)"),
        (7, "to", b"    there = x"),
        (8, "cuda", b"    model"),
        (9, "cpu", b"    return model(there * mask * half)"),
    ]


def taken(source: bytes) -> list[tuple[int, int, str, bytes]]:
    return sorted(removals.changed(source))


def test_a_removal_is_named_by_what_is_new(tmp_path: Path) -> None:
    project = tmp_path / "owner__name"
    project.mkdir()
    (project / "data.py").write_text("def moved(x, device):\n    return x.to(device)\n")
    (project / "main.py").write_text(
        "import torch\nfrom data import moved\n\n"
        "def run(device):\n"
        "    model = torch.nn.Linear(3, 3).to(device)\n"
        "    kept = torch.ones(3)\n"
        "    print(model(moved(torch.ones(3), device)) + kept)\n"
        "    return kept.cpu()\n"
    )
    drawn = removals.draw(tmp_path, 9, 9, 1)
    places = {(row.path, row.kind, row.line): row for row in drawn}
    assert sorted(places) == [("data.py", "to", 2), ("main.py", "cpu", 8), ("main.py", "to", 5)]
    assert removals.named(tmp_path, places["data.py", "to", 2])  # besides the sum, as before
    assert removals.named(tmp_path, places["main.py", "cpu", 8]) is False
    away = Removal("owner/other", "", "main.py", 1, 0, "to")
    assert removals.named(tmp_path, away) is None


def test_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    def row(verdict: str, needs: str, first: bool) -> Removal:
        return Removal("a/b", "c", "d.py", 1, 2, "to", verdict, needs, first)

    rows = [row("raises", "file", True), row("raises", "project", False)]
    rows.append(row("harmless", "file", False))
    removals.report(zip(rows, (True, True, False), strict=True))
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[1][:3] == ["file", "1", "1,"]
    assert lines[3][:3] == ["all", "2", "2,"]
    assert lines[-1] == "harmless or unclear: 1, of which 0 are told of".split()


def test_the_rows_can_be_read() -> None:
    rows = [Removal(**json.loads(line)) for line in removals.ROWS.read_text().splitlines()]
    assert {row.verdict for row in rows} == {"raises", "harmless", "unclear"}
    assert len({(row.repo, row.path, row.start) for row in rows}) == len(rows)
