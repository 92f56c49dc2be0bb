"""The script that measures what emulation costs: it compares like with like."""

from __future__ import annotations

import json

import emulate as bench
import pytest


def test_a_row_compares_the_same_training(capsys: pytest.CaptureFixture[str]) -> None:
    row = bench.measure("mlp", "small", "adam", repeat=2)
    assert row.same_loss
    assert row.cpu_ms > 0
    assert row.emulated_ms > 0


def test_a_process_knows_its_own_peak(monkeypatch: pytest.MonkeyPatch) -> None:
    before = bench.peak_of_this_process()
    block = bytearray(64 << 20)
    block[:: 1 << 12] = b"x" * len(block[:: 1 << 12])
    assert bench.peak_of_this_process() >= before
    assert bench.peak_of_this_process() > 64 << 10


def test_it_prints_records(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "WIDTHS", {"small": {"lstm": 8}})
    monkeypatch.setattr(bench, "MODELS", {"lstm": bench.lstm})
    monkeypatch.setattr("sys.argv", ["emulate.py", "--repeat", "1", "--no-memory", "--json"])
    assert bench.main() == 0
    record = json.loads(capsys.readouterr().out)
    assert [(row["model"], row["optimizer"]) for row in record["rows"]] == [
        ("lstm", "sgd"),
        ("lstm", "adam"),
    ]
