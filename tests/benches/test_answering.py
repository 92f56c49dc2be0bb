"""Processes that answer lines on an accelerator, which may end, hang or be broken by an answer."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import answering
import beside
import pytest
from grammar import MAIN

WORKER = """
import json, os, pathlib, sys, time

for line in sys.stdin:
    what, _, marker = line.strip().partition(" ")
    first = marker and not os.path.exists(marker)
    if first:
        pathlib.Path(marker).touch()
    if what == "end" or (what == "end-once" and first):
        os._exit(3)
    if what == "hang":
        time.sleep(60)
    works = what != "break" and not (what == "break-once" and first)
    print(json.dumps({"said": what, "works": works, "process": os.getpid()}), flush=True)
"""


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[answering.Worker]:
    script = tmp_path / "worker.py"
    script.write_text(WORKER)
    made = answering.Worker([sys.executable, str(script)], patience=5)
    yield made
    made.stop()


def test_an_answer(worker: answering.Worker) -> None:
    first, second = worker.ask("a"), worker.ask("b")
    assert [first["said"], second["said"]] == ["a", "b"]
    assert first["process"] == second["process"]


@pytest.mark.parametrize("what", ["end-once", "break-once"])
def test_a_fresh_process_is_asked_again(
    worker: answering.Worker, tmp_path: Path, what: str
) -> None:
    before = worker.ask("a")["process"]
    answer = worker.ask(f"{what} {tmp_path / 'seen'}")
    assert answer["works"]
    assert answer["process"] != before


def test_why_there_is_no_answer(worker: answering.Worker) -> None:
    assert worker.ask("end") == {"crash": "the process ended with 3"}
    assert worker.ask("a")["said"] == "a"


def test_an_answer_that_takes_too_long(worker: answering.Worker) -> None:
    worker.patience = 1
    assert worker.ask("hang") == {"crash": "no answer within 1 seconds"}


def test_what_breaks_each_process_is_answered_all_the_same(worker: answering.Worker) -> None:
    assert worker.ask("break")["works"] is False


def test_answers_of_several_processes_come_in_order(tmp_path: Path) -> None:
    script = tmp_path / "worker.py"
    script.write_text(WORKER)
    words = [f"w{number}" for number in range(20)]
    found = answering.ask_all(words, [sys.executable, str(script)], jobs=3)
    assert [each["said"] for each in found] == words


def test_how_a_whole_program_ends() -> None:
    good = {MAIN: "import helper\nhelper.run()\n", "helper.py": "def run():\n    pass\n"}
    bad = {**good, "helper.py": "def run():\n    raise ValueError('no\\nnot at all')\n"}
    lacking = {MAIN: "import no_such_package\n"}
    assert beside.ended(good) == {"error": "", "at": ""}
    assert beside.ended(bad) == {"error": "ValueError: no", "at": "helper.py:2"}
    assert "no_such_package" in beside.ended(lacking)["skipped"]


def test_the_programs_are_of_all_sorts() -> None:
    sorts = {name.partition(" ")[0] for name in beside.programs(2)}
    assert {"page", "mistakes", "mistakes_fifth", "generated"} <= sorts
