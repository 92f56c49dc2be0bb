"""The page of a run: what it says a step, what it calls avoidable, and where its links lead."""

from __future__ import annotations

import linecache
from pathlib import Path
from typing import Any

import pytest
from browser import CHROMIUM, WITHOUT, browser
from elements import Node, Reader
from hostile.evil import evil_strings, harmless

from devlint import emulate
from devlint.runtime.avoidable import avoidable
from devlint.runtime.run_page import run_page
from devlint.runtime.transfers import NOTHING, TransferLog

PROGRAM = """\
import torch

weight = torch.ones(10)
mask = torch.ones(10, dtype=torch.bool).cuda()
total = 0.0


def step(total):
    batch = torch.rand(10).cuda()
    loss = (batch * weight.cuda()).sum()
    total += loss.item()
    batch[mask]
    return total


for _ in range(5):
    total = step(total)
    log.stepped()
torch.ones(10).cuda().cpu()
"""


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    folder = tmp_path_factory.mktemp("program")
    path = folder / "lib" / "train.py"
    path.parent.mkdir()
    path.write_text(PROGRAM, "utf-8")
    log = TransferLog()
    with emulate("cuda", transfers=log):
        exec(compile(PROGRAM, str(path), "exec"), {"log": log})
    linecache.checkcache()
    return log.as_record(), folder


def read(record: dict[str, Any], root: Path) -> Node:
    return Reader(run_page(record, root)).top


def said(node: Node) -> str:
    return " ".join(node.text.split())


def table(page: Node) -> dict[str, list[str]]:
    """The cells behind the first one of each row, by its link."""
    rows = page.all("tbody")[0].all("tr")
    return {row.all("a")[0].text: [said(cell) for cell in row.all("td")[1:]] for row in rows}


def test_copies_and_waits_are_told_a_step(record: tuple[dict[str, Any], Path]) -> None:
    page = read(*record)
    lines = [said(line) for line in page.all("main")[0].all("p")][:3]
    assert lines == [
        "A step, of 4 steps behind the first: 4 waits, 2 copies, 80 B.",
        "Total: 23 waits for a device, 13 copies between devices, 490 B.",
        "4 lines with copies or waits that can be avoided.",
    ]
    rows = table(page)
    assert list(rows) == [f"lib/train.py:{row}" for row in (9, 10, 11, 12, 19, 4)]
    assert rows["lib/train.py:9"][:3] == ["1 (5)", "1 (5)", "40 B (200 B)"]
    assert rows["lib/train.py:11"][:3] == ["1 (5)", "0", "0"]
    assert rows["lib/train.py:4"][:3] == ["0 (1)", "0 (1)", "0 (10 B)"]


def test_what_is_avoidable_says_how(record: tuple[dict[str, Any], Path]) -> None:
    rows = table(read(*record))
    assert "non_blocking=True" in rows["lib/train.py:9"][3]
    again = "Avoidable: 4 of 5 copies are of a tensor that hasn't changed since the one before"
    assert again in rows["lib/train.py:10"][3]
    assert "loss.detach()" in rows["lib/train.py:11"][3]
    assert "torch.where" in rows["lib/train.py:12"][3]
    assert "Avoidable" not in rows["lib/train.py:19"][3] + rows["lib/train.py:4"][3]


def test_each_line_links_to_its_source(record: tuple[dict[str, Any], Path]) -> None:
    page = read(*record)
    ids = {node.attributes["id"] for node in page.all() if "id" in node.attributes}
    links = [a.attributes["href"] for a in page.all("a")]
    assert all(link.startswith("#") and link[1:] in ids for link in links)
    first = page.all("tbody")[0].all("a")[0].attributes["href"][1:]
    (row,) = (
        row for row in page.all("div", "row") for n in row.all() if n.attributes.get("id") == first
    )
    assert said(row) == "9 batch = torch.rand(10).cuda()"
    assert "hit" in row.classes
    notes = [said(row) for row in page.all("div", "say")]
    assert "1 wait, 1 copy a step, avoidable (in the table)" in notes
    assert "in no step (in the table)" in notes


def test_without_steps_the_whole_run_is_told(record: tuple[dict[str, Any], Path]) -> None:
    whole, root = record
    page = read({**whole, "steps": 0}, root)
    assert "No two steps of an optimizer were seen, so there are no figures per step." in said(page)
    assert table(page)["lib/train.py:9"][:3] == ["5", "5", "200 B"]
    assert "5 waits, 5 copies, avoidable (in the table)" in [
        said(row) for row in page.all("div", "say")
    ]


def test_the_timeline_has_a_bar_for_what_happened(record: tuple[dict[str, Any], Path]) -> None:
    whole, root = record
    rows = {"host to device": [400, 0, 200], "device to host": [400, 0, 0], "waits": [0, 3, 0]}
    timeline = {
        "started": "2025-01-02T03:04:05+00:00", "seconds": 2.5, "bucket_seconds": 1.0, "rows": rows,
    }  # fmt: skip
    (picture,) = read({**whole, "timeline": timeline}, root).all("svg")
    bars = [(bar.classes[0], float(bar.attributes["height"])) for bar in picture.all("rect")]
    assert bars == [("in", 60), ("out", 60), ("in", 30), ("wait", 60)]
    assert picture.attributes["aria-label"] == (
        "1000 B copied and 3 waits in 2.5 seconds, as bars over time"
    )


def test_nothing_copied_is_said(tmp_path: Path) -> None:
    page = read(TransferLog().as_record(), tmp_path)
    assert said(page.all("main")[0]) == NOTHING


def line(**more: Any) -> dict[str, Any]:
    empty = {"waits": 0, "copies": 0, "bytes": 0}
    return {
        "file": "gone.py", "line": 3, "function": "f", "source": "", "again": 0, "what": {},
        "in_steps": empty, **empty, **more,
    }  # fmt: skip


def test_what_is_done_once_or_in_no_step_is_not_avoidable() -> None:
    item = line(waits=1, what={"item": 1})
    assert avoidable(item, 0) == []
    often = line(waits=9, what={"item": 9})
    assert len(avoidable(often, 0)) == 1
    assert avoidable(often, 5) == []
    assert len(avoidable({**often, "in_steps": {"waits": 5, "copies": 0, "bytes": 0}}, 5)) == 1


def test_a_copy_that_nothing_waits_for_is_not_avoidable() -> None:
    assert avoidable(line(copies=9, what={"cpu to cuda:0": 9}), 0) == []
    assert avoidable(line(copies=9, what={"cuda:0 to cuda:1": 9}), 0) == []


@evil_strings
def test_all_that_others_wrote_is_escaped(evil: str, record: tuple[dict[str, Any], Path]) -> None:
    whole, root = record

    def shown(words: str) -> str:
        name = words.replace("\0", "")
        odd = line(
            file=f"/nowhere/{name}.py", function=words, source=words, waits=9, what={words: 9}
        )
        return run_page({**whole, "lines": [odd]}, root)

    page, plain = Reader(shown(evil)).top, Reader(shown("x if 'a' # b")).top
    assert {node.tag for node in page.all()} <= {node.tag for node in plain.all()}
    assert len(page.all("script")) == 1
    assert harmless(shown(evil).replace("\t", " "))
    assert "This file can't be read any more." in page.text


@pytest.mark.skipif(CHROMIUM is None, reason=WITHOUT)
def test_the_page_in_a_browser(record: tuple[dict[str, Any], Path], tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(run_page(*record), "utf-8")
    with browser() as tab:
        tab.open(path, width=360, height=740)
        assert tab.js("document.documentElement.scrollWidth") == 360
        assert tab.requests == [path.as_uri()]
        tab.press("j")
        assert tab.js("document.activeElement.id") == "row0"
        tab.js("document.activeElement.querySelector('a').click()")
        row = "document.querySelector(':target').closest('.row').textContent"
        assert tab.js(row).endswith("batch = torch.rand(10).cuda()")
        assert tab.console == []
