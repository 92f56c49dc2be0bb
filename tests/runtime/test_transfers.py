"""Which lines copy between devices and wait for one: every line of a program in its place."""

from __future__ import annotations

import gc
import json
import linecache
import re
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from devlint import emulate
from devlint.runtime import run_report
from devlint.runtime.run_report import write_report
from devlint.runtime.timeline import BUCKETS, Timeline
from devlint.runtime.transfers import TransferLog
from devlint.runtime.waits import CHECKS

HOST_TO_DEVICE, DEVICE_TO_HOST = "cpu to cuda:0", "cuda:0 to cpu"


@dataclass(frozen=True)
class Named:
    """Tensors that the lines below work with."""

    x: Tensor
    """On the CPU, 1000 x 100."""
    y: Tensor
    """The same on an accelerator."""
    n: Tensor
    """A number on an accelerator."""
    m: Tensor
    """A mask there."""
    counts: Tensor


def noted(action: Callable[[Named], object]) -> TransferLog:
    """What is noted of one action."""
    log = TransferLog()
    with emulate("cuda", count=2, transfers=log):
        with log.paused():
            x = torch.arange(100_000, dtype=torch.float32).reshape(1000, 100) + 1
            y = x.cuda()
            counts = torch.ones(1000, dtype=torch.int64).cuda()
            names = Named(x, y, counts.sum(), y > 5, counts)
        action(names)
    return log


def whole(log: TransferLog) -> tuple[int, int, int]:
    """Waits, copies and bytes of all lines."""
    lines = log.lines
    return (
        sum(line.waits for line in lines),
        sum(line.copies for line in lines),
        sum(line.bytes for line in lines),
    )


SIZE = 1000 * 100 * 4

COPIES: dict[str, tuple[Callable[[Named], object], int, int, int]] = {
    "to the device": (lambda v: v.x.to("cuda"), 1, 1, SIZE),
    "cuda()": (lambda v: v.x.cuda(), 1, 1, SIZE),
    "to the device, from memory that isn't pinned": (
        lambda v: v.x.to("cuda", non_blocking=True), 1, 1, SIZE,
    ),
    "to the device, from pinned memory": (
        lambda v: v.x.pin_memory().to("cuda", non_blocking=True), 0, 1, SIZE,
    ),
    "to the device, from pinned memory, and back only when done": (
        lambda v: v.x.pin_memory().to("cuda"), 1, 1, SIZE,
    ),
    "to the host": (lambda v: v.y.to("cpu"), 1, 1, SIZE),
    "cpu()": (lambda v: v.y.cpu(), 1, 1, SIZE),
    "to the host, without waiting": (lambda v: v.y.to("cpu", non_blocking=True), 0, 1, SIZE),
    "to another accelerator": (lambda v: v.y.to("cuda:1"), 0, 1, SIZE),
    "to where it is": (lambda v: v.y.to("cuda"), 0, 0, 0),
    "copy_ to the host": (lambda v: v.x.copy_(v.y), 1, 1, SIZE),
    "copy_ to the device": (lambda v: v.y.copy_(v.x), 1, 1, SIZE),
    "copy_ on a device": (lambda v: v.y.copy_(v.y + 1), 0, 0, 0),
    "numpy(force=True)": (lambda v: v.y.numpy(force=True), 1, 1, SIZE),
    "tolist": (lambda v: v.y.tolist(), 1, 1, SIZE),
    "a model": (lambda v: nn.Linear(3, 2).cuda(), 2, 2, 32),
    "data": (lambda v: torch.tensor([1.0, 2.0], device="cuda"), 1, 1, 8),
    "data for an attribute's device": (lambda v: v.y.new_tensor([1.0, 2.0]), 1, 1, 8),
    "a tensor that is made there": (lambda v: torch.ones(3, device="cuda"), 0, 0, 0),
    "a row that is written": (lambda v: v.y.__setitem__(0, v.x[0]), 1, 1, 400),
    "a row that is read into the host's memory": (
        lambda v: v.x.__setitem__(0, v.y[0]), 1, 1, 400,
    ),
    "an index from the host": (lambda v: v.y[torch.tensor([1, 2])], 1, 1, 16),
    "a sparse tensor": (lambda v: torch.eye(100).to_sparse().cuda(), 1, 1, 100 * (4 + 16)),
    "to memory without data": (lambda v: v.x.to("meta"), 0, 0, 0),
}  # fmt: skip

WAITS: dict[str, tuple[Callable[[Named], object], str]] = {
    "item": (lambda v: v.n.item(), "item"),
    "bool": (lambda v: bool(v.n), "bool"),
    "if": (lambda v: 1 if v.n else 2, "bool"),
    "assert": (lambda v: not (v.y == v.y).all(), "bool"),
    "int": (lambda v: int(v.n), "int"),
    "float": (lambda v: float(v.n), "float"),
    "complex": (lambda v: complex(v.n), "complex"),
    "range": (lambda v: range(v.n), "index"),  # type: ignore[call-overload]
    "print": (lambda v: repr(v.y), "print"),
    "format": (lambda v: f"{v.n:5d}", "format"),
    "equal": (lambda v: torch.equal(v.y, v.y), "equal"),
    "allclose": (lambda v: v.y.allclose(v.y), "allclose"),
    "contains": (lambda v: 3.0 in v.y, "contains"),
    "nonzero": (lambda v: v.y.nonzero(), "nonzero"),
    "argwhere": (lambda v: torch.argwhere(v.y), "argwhere"),
    "where": (lambda v: torch.where(v.m), "where"),
    "masked_select": (lambda v: v.y.masked_select(v.m), "masked_select"),
    "mask": (lambda v: v.y[v.m], "index with a mask"),
    "mask of rows": (lambda v: v.y[v.m[:, 0]], "index with a mask"),
    "mask, written": (lambda v: v.y.__setitem__(v.m, v.y[0, 0]), "index with a mask"),
    "number as an index": (lambda v: v.y[v.n - 1000], "index"),
    "number as the end of a slice": (lambda v: v.y[: v.n], "index"),
    "unique": (lambda v: v.y.unique(), "unique"),
    "unique_consecutive": (lambda v: torch.unique_consecutive(v.y), "unique_consecutive"),
    "bincount": (lambda v: torch.bincount(v.counts), "bincount"),
    "repeat_interleave": (lambda v: v.y.repeat_interleave(v.counts, dim=0), "repeat_interleave"),
    "one_hot": (lambda v: F.one_hot(v.counts), "one_hot"),
    "normal": (lambda v: torch.normal(v.y, v.y), "normal"),
    "inverse": (lambda v: torch.linalg.inv(torch.eye(3, device="cuda")), "linalg_inv"),
    "synchronize": (lambda v: torch.cuda.synchronize(), "synchronize"),
    "gaussian_nll_loss": (lambda v: F.gaussian_nll_loss(v.y, v.y, v.y), "gaussian_nll_loss"),
}

NEITHER: dict[str, Callable[[Named], object]] = {
    "arithmetic": lambda v: (v.y @ v.y.T).sum(),
    "where with a choice": lambda v: torch.where(v.m, v.y, v.y),
    "a number under a mask": lambda v: v.y.__setitem__(v.m, 0.0),
    "a mask for masked_fill": lambda v: v.y.masked_fill(v.m, 0.0),
    "an index on the device": lambda v: v.y[v.counts],
    "a number of Python's as an index": lambda v: v.y[3, 1:2],
    "repeats with their sum": lambda v: torch.repeat_interleave(
        v.y, v.counts, dim=0, output_size=1000
    ),
    "a number of repeats": lambda v: v.y.repeat_interleave(2, dim=0),
    "one_hot with its classes": lambda v: F.one_hot(v.counts, num_classes=2),
    "a deviation that is a number": lambda v: torch.normal(v.y, 1.0),
    "a shape": lambda v: (v.y.shape, len(v.y), v.y.device, v.y.dtype),
    "rows": lambda v: list(v.y[:3]),
    "the host alone": lambda v: (v.x.sum().item(), v.x[v.x > 3], repr(v.x), v.x.tolist()),
}


@pytest.mark.parametrize("name", COPIES)
def test_copies(name: str) -> None:
    action, waits, copies, size = COPIES[name]
    assert whole(noted(action)) == (waits, copies, size)


@pytest.mark.parametrize("name", WAITS)
def test_waits(name: str) -> None:
    action, what = WAITS[name]
    (line,) = noted(action).lines
    assert (line.waits, line.copies, dict(line.what)) == (1, 0, {what: 1})


@pytest.mark.parametrize("name", NEITHER)
def test_neither(name: str) -> None:
    log = noted(NEITHER[name])
    assert not log
    assert log.table() == "No copies between devices, and no waiting for one.\n"
    record = log.as_record()
    assert record.pop("timeline")["rows"] == {}
    assert record == {"waits": 0, "copies": 0, "bytes": {}, "steps": 0, "lines": []}


def test_what_looks_at_values_is_taken_from_the_documentation() -> None:
    """The docstrings of torch.linalg say which functions wait for the device."""
    conditional = {"cond", "svd"}  # for some norms only; in the backward of complex matrices
    says = {
        name
        for name in dir(torch.linalg)
        if "synchronizes that device" in (getattr(torch.linalg, name).__doc__ or "")
    }
    listed = {name for name in says if getattr(torch.linalg, name) in CHECKS}
    assert says - listed == conditional


def test_what_is_computed_stays_the_same() -> None:
    """Noting changes no result."""
    actions = [action for action, _ in WAITS.values()] + list(NEITHER.values())

    def results(log: TransferLog | None) -> list[Any]:
        with emulate("cuda", count=2, transfers=log):
            torch.manual_seed(0)
            x = torch.arange(100_000, dtype=torch.float32).reshape(1000, 100) + 1
            y, counts = x.cuda(), torch.ones(1000, dtype=torch.int64).cuda()
            names = Named(x, y, counts.sum(), y > 5, counts)
            return [_plain(action(names)) for action in actions]

    assert results(TransferLog()) == results(None)


def _plain(value: Any) -> Any:
    if isinstance(value, Tensor):
        return str(value.device), value.dtype, value.cpu().numpy().tobytes()
    return [_plain(each) for each in value] if isinstance(value, (list, tuple)) else value


# --- lines

TRAIN = """\
import torch
from torch import nn


def train(model, batches):
    total = 0.0
    for batch in batches:
        loss = model(batch.to("cuda")).sum()
        total += loss.item()
    return total


model = nn.Linear(4, 1).cuda()
train(model, torch.ones(1000, 2, 4))
"""


@pytest.fixture
def trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TransferLog:
    """What is noted of a training loop."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(TRAIN, "utf-8")
    linecache.clearcache()
    log = TransferLog()
    with emulate("cuda", transfers=log):
        exec(compile(TRAIN, str(tmp_path / "train.py"), "exec"), {"__name__": "__main__"})
    return log


def test_the_table(trained: TransferLog) -> None:
    first, empty, *rows = trained.table().splitlines()
    assert (first, empty) == ("train.py:8 waits for the device 1,000 times", "")
    assert [re.split(r"\s{2,}", row) for row in rows] == [
        ["line", "source", "waits", "copies", "bytes", "what"],
        [
            "train.py:8 in train", 'loss = model(batch.to("cuda")).sum()',
            "1,000", "1,000", "31.2 KiB", "cpu to cuda:0 x1,000",
        ],
        ["train.py:9 in train", "total += loss.item()", "1,000", "0", "-", "item x1,000"],
        [
            "train.py:13 in <module>", "model = nn.Linear(4, 1).cuda()",
            "2", "2", "20 B", "cpu to cuda:0 x2",
        ],
    ]  # fmt: skip
    starts = ("what", "cpu to", "item x", "cpu to")
    columns = [row.index(word) for row, word in zip(rows, starts, strict=True)]
    assert len(set(columns)) == 1


def test_the_record_is_json(trained: TransferLog) -> None:
    record = json.loads(json.dumps(trained.as_record()))
    assert (record["waits"], record["copies"]) == (2002, 1002)
    assert record["bytes"] == {"host to device": 32_020}
    assert record["lines"][1] == {
        "file": str(Path("train.py").resolve()),
        "line": 9,
        "function": "train",
        "source": "total += loss.item()",
        "waits": 1000,
        "copies": 0,
        "bytes": 0,
        "again": 0,
        "in_steps": {"waits": 0, "copies": 0, "bytes": 0},
        "what": {"item": 1000},
    }


def test_directions_are_added_up() -> None:
    log = noted(lambda v: (v.x.cuda(), v.y.cpu(), v.y.cpu(), v.y.to("cuda:1")))
    assert log.as_record()["bytes"] == {
        "host to device": SIZE,
        "device to host": 2 * SIZE,
        "device to device": SIZE,
    }


def test_a_line_inside_torch_is_the_programs(tmp_path: Path) -> None:
    """Gradient clipping, optimizers and scalers ask for values on behalf of their caller."""

    def clip(v: Named) -> None:
        weight = nn.Parameter(v.y)
        weight.grad = v.y
        nn.utils.clip_grad_norm_([weight], 1.0, error_if_nonfinite=True)

    log = noted(clip)
    assert [line.site.file for line in log.lines] == [__file__]
    assert log.lines[0].waits >= 1


def test_a_line_without_waiting_has_no_headline() -> None:
    log = noted(lambda v: v.y.to("cuda:1"))
    assert log.table().startswith("line ")


def test_once_is_said_as_once() -> None:
    first, _ = noted(lambda v: v.n.item()).table().split("\n", 1)
    assert first.endswith("waits for the device once")


def test_a_wait_that_no_line_of_the_program_asks_for() -> None:
    """A thread of torch's own, such as the one that pins memory."""
    log = TransferLog()
    names: dict[str, Any] = {"log": log}
    exec(compile("def run():\n    log.waited('item')\n", torch.__file__, "exec"), names)
    thread = threading.Thread(target=names["run"])
    thread.start()
    thread.join()
    assert [(line.place, line.waits) for line in log.lines] == [("torch", 1)]
    assert log.table().startswith("torch waits for the device once\n")


def test_threads_share_a_log() -> None:
    log = TransferLog()

    def work() -> None:
        for _ in range(500):
            log.waited("item")
            log.copied(torch.device("cpu"), torch.device("cuda:0"), torch.ones(2), True)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert whole(log) == (4000, 2000, 16_000)


def test_pausing_is_for_one_thread() -> None:
    log = TransferLog()
    with log.paused():
        log.waited("item")
        thread = threading.Thread(target=lambda: log.waited("item"))
        thread.start()
        thread.join()
    assert whole(log) == (1, 0, 0)


def test_a_storage_counts_as_what_it_holds() -> None:
    log = TransferLog()
    storage = torch.ones(10).untyped_storage()
    log.copied(torch.device("cuda:0"), torch.device("cpu"), storage, True)
    assert whole(log) == (1, 1, 40)


# --- over time


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_timeline_puts_amounts_where_they_happened() -> None:
    clock = Clock()
    timeline = Timeline(clock)
    for moment, amount in ((0.0, 1), (0.001, 2), (0.5, 4), (0.75, 8)):
        clock.now = 100 + moment
        timeline.add("bytes", amount)
    record = timeline.as_record()
    width, row = record["bucket_seconds"], record["rows"]["bytes"]
    assert record["seconds"] == 0.75
    assert len(row) == int(0.75 / width) + 1 <= BUCKETS
    assert (row[0], row[int(0.5 / width)], row[-1], sum(row)) == (3, 4, 8, 15)


def test_a_timeline_doubles_its_buckets_and_loses_nothing() -> None:
    clock = Clock()
    timeline = Timeline(clock)
    for second in range(10_000):
        clock.now = 100.0 + second
        timeline.add("waits", 1)
        if second >= 5000:
            timeline.add("late", 2)
    record = timeline.as_record()
    width, rows = record["bucket_seconds"], record["rows"]
    assert BUCKETS / 2 <= len(rows["waits"]) <= BUCKETS
    assert len(rows["late"]) == len(rows["waits"])
    assert width * BUCKETS > 9999 >= width * BUCKETS / 2
    assert (sum(rows["waits"]), sum(rows["late"])) == (10_000, 10_000)
    assert max(rows["waits"]) <= width + 1
    assert not any(rows["late"][: int(5000 / width)])


def test_a_timeline_reaches_until_it_is_asked() -> None:
    clock = Clock()
    timeline = Timeline(clock)
    timeline.add("waits", 1)
    clock.now += 3600
    record = timeline.as_record()
    assert record["seconds"] == 3600
    assert record["rows"]["waits"][0] == sum(record["rows"]["waits"]) == 1
    assert (len(record["rows"]["waits"]) - 1) * record["bucket_seconds"] <= 3600
    assert datetime.fromisoformat(record["started"]).tzinfo is not None


def test_a_clock_that_goes_back_does_no_harm() -> None:
    clock = Clock()
    timeline = Timeline(clock)
    clock.now -= 5
    timeline.add("waits", 1)
    assert timeline.as_record()["rows"] == {"waits": [1]}


def test_a_log_has_a_timeline_by_direction() -> None:
    log = noted(lambda v: (v.x.cuda(), v.y.cpu(), v.y.to("cuda:1"), v.n.item()))
    rows = log.as_record()["timeline"]["rows"]
    assert {name: sum(row) for name, row in rows.items()} == {
        "host to device": SIZE,
        "device to host": SIZE,
        "device to device": SIZE,
        "waits": 3,
    }


def test_what_names_and_lines_hold_is_escaped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "a\n::error::.py"
    path.write_text("import torch\ntorch.ones(3).cuda()  # \x1b[31m \u202e\n", "utf-8")
    linecache.clearcache()
    log = TransferLog()
    with emulate("cuda", transfers=log):
        exec(compile(path.read_text("utf-8"), str(path), "exec"), {})
    first, _, _, row = log.table().splitlines()
    assert first == r"a\n::error::.py:2 waits for the device once"
    assert row.startswith(
        r"a\n::error::.py:2 in <module>  torch.ones(3).cuda()  # \x1b[31m \u202e "
    )


# --- steps


def test_what_a_line_does_a_step_is_counted_behind_the_first() -> None:
    log = TransferLog()
    with emulate("cuda", transfers=log):
        x = torch.ones(3)
        for step in range(4):
            x = x.cuda() + step
            x = x.cpu()
            if step == 0:
                x.cuda()  # not in each step
            log.stepped()
        x.cuda()
        x.cuda()
    record = log.as_record()
    assert record["steps"] == 3
    by_line = [(line["copies"], line["in_steps"]["copies"]) for line in record["lines"]]
    assert sorted(by_line) == [(1, 0), (1, 0), (1, 0), (4, 3), (4, 3)]
    assert all(
        line["in_steps"]["bytes"] == line["in_steps"]["copies"] * 12 for line in record["lines"]
    )


def test_without_steps_nothing_is_counted_a_step(trained: TransferLog) -> None:
    record = trained.as_record()
    assert record["steps"] == 0
    assert all(set(line["in_steps"].values()) == {0} for line in record["lines"])


def test_a_copy_of_what_has_not_changed_is_told() -> None:
    log = TransferLog()
    with emulate("cuda", transfers=log):
        same, written = torch.ones(3), torch.ones(3)
        for _ in range(5):
            same.cuda()
        for _ in range(5):
            written.add_(1).cuda()
        for _ in range(5):
            torch.ones(3).cuda()
        with torch.inference_mode():
            for _ in range(5):
                torch.ones(3).cuda()
    again = {line["source"]: line["again"] for line in log.as_record()["lines"]}
    assert again == {"same.cuda()": 4, "written.add_(1).cuda()": 0, "torch.ones(3).cuda()": 0}


def test_no_tensor_is_kept_alive_by_the_log() -> None:
    log = TransferLog()
    with emulate("cuda", transfers=log):
        held = [torch.ones(3) for _ in range(100)]
        for each in held:
            each.cuda()
        gone = [weakref.ref(each) for each in held]
        del each, held
        gc.collect()
    assert all(each() is None for each in gone)
    (line,) = log.lines
    assert len(line.seen) < 100


# --- the report


def test_a_report_is_two_files(tmp_path: Path, trained: TransferLog) -> None:
    folder = tmp_path / "a" / "report"
    for _ in range(2):
        write_report(trained, folder, tmp_path)
    assert sorted(path.name for path in folder.iterdir()) == ["report.html", "transfers.json"]
    record = json.loads((folder / "transfers.json").read_text("utf-8"))
    expected = trained.as_record()
    assert record["lines"] == expected["lines"]
    assert record["timeline"]["started"] == expected["timeline"]["started"]
    plain = tmp_path / "plain"
    plain.touch()
    modes = {path.stat().st_mode for path in (*folder.iterdir(), plain)}
    assert len(modes) == 1


def test_a_report_that_fails_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "report.html").write_text("before", "utf-8")

    def fail(record: object, root: Path) -> str:
        raise OSError("no space")

    monkeypatch.setattr(run_report, "run_page", fail)
    with pytest.raises(OSError, match="no space"):
        write_report(TransferLog(), tmp_path, tmp_path)
    assert (tmp_path / "report.html").read_text("utf-8") == "before"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["report.html", "transfers.json"]


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError):
        write_report(TransferLog(), tmp_path / "file" / "report", tmp_path)


def test_without_a_log_nothing_is_noted() -> None:
    with emulate("cuda") as emulation:
        assert torch.ones(3).cuda().sum().item() == 3
    assert emulation.transfers is None


def test_an_empty_log_is_false() -> None:
    log = TransferLog()
    assert not log
    log.waited("item")
    assert log
    assert log.lines[0].site.file == __file__
