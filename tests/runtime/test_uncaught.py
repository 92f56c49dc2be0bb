"""Errors that nobody catches: of the program, of threads and processes, of cells; by rank."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import SimpleNamespace, TracebackType
from typing import Any

import pytest
import torch
from torch import nn

from devlint import emulate, guard, install_guard
from devlint.runtime.guard import tracebacks, uncaught
from devlint.runtime.guard.uncaught import explained

OURS = str(Path("devlint", "runtime"))


@pytest.fixture(autouse=True)
def hooks_of_python(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """pytest has hooks of its own; and what a test takes must be back at its end."""
    monkeypatch.setattr(sys, "excepthook", sys.__excepthook__)
    monkeypatch.setattr(threading, "excepthook", threading.__excepthook__)
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"):
        monkeypatch.delenv(name, raising=False)
    bootstrap = BaseProcess._bootstrap  # type: ignore[attr-defined]
    yield
    assert sys.excepthook is sys.__excepthook__
    assert threading.excepthook is threading.__excepthook__
    assert BaseProcess._bootstrap is bootstrap  # type: ignore[attr-defined]


def clearer(error: Exception) -> Exception:
    """Tells as a guard does."""
    if isinstance(error, KeyError):
        return ValueError("clearer").with_traceback(error.__traceback__)
    error.__dict__.setdefault("__notes__", ["a note"])
    return error


def caught(error: Exception) -> Exception:
    try:
        raise error
    except Exception as same:
        return same


def end_with(error: BaseException) -> None:
    """What Python does when an error arrives at the top."""
    sys.excepthook(type(error), error, error.__traceback__)


def test_an_error_of_the_program(capsys: pytest.CaptureFixture[str]) -> None:
    with explained(clearer):
        end_with(caught(RuntimeError("wrong")))
        end_with(caught(KeyError("wrong")))
        end_with(KeyboardInterrupt())
    _, first, second = capsys.readouterr().err.split("Traceback")
    assert first.endswith("RuntimeError: wrong\na note\n")
    assert "in caught" in second
    assert "\nValueError: clearer\nKeyboardInterrupt\n" in second


def test_a_hook_of_the_program_is_asked_with_what_is_known() -> None:
    asked: list[tuple[type[BaseException], str, TracebackType | None]] = []

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        asked.append((kind, str(error), trace))

    sys.excepthook = hook
    error = caught(KeyError("wrong"))
    with explained(clearer):
        end_with(error)
    assert asked == [(ValueError, "clearer", error.__traceback__)]
    assert isinstance(sys.last_value, ValueError)
    sys.excepthook = sys.__excepthook__


def test_a_hook_that_comes_later_may_ask_the_guards(capsys: pytest.CaptureFixture[str]) -> None:
    with explained(clearer):
        before = sys.excepthook

        def hook(kind: Any, error: Any, trace: Any) -> None:
            print("first", file=sys.stderr)
            before(kind, error, trace)

        sys.excepthook = hook
        end_with(caught(RuntimeError("wrong")))
    assert sys.excepthook is hook
    end_with(caught(RuntimeError("again")))  # the guard is off, and only hands over
    err = capsys.readouterr().err
    assert err.count("first\n") == 2
    assert err.count("a note") == 1
    sys.excepthook = sys.__excepthook__


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0), (0, 2, 1), (2, 0, 1)])
def test_guards_may_go_in_any_order(
    order: tuple[int, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    several = [explained(clearer) for _ in order]
    for each in several:
        each.__enter__()
    for count, place in enumerate(order, 1):
        several[place].__exit__(None, None, None)
        end_with(caught(RuntimeError("wrong")))
        assert capsys.readouterr().err.count("a note") == (count < len(order))


def test_an_error_of_a_thread(capsys: pytest.CaptureFixture[str]) -> None:
    def work() -> None:
        torch.ones(3, device="cuda") + torch.ones(3)

    installed = install_guard("strict")
    with emulate("cuda"):
        for target in (work, sys.exit):
            thread = threading.Thread(target=target, name="worker")
            thread.start()
            thread.join()
    installed.remove()
    err = capsys.readouterr().err
    assert err.startswith("Exception in thread worker:\nTraceback")
    assert err.count("DeviceMismatchError: ") == 1
    assert err.count('takes torch.ones(3, device="cuda") on cuda:0 and torch.ones(3) on cpu') == 1
    assert OURS not in err


# --- ranks


class Counting:
    """A stream that counts how often it is written to."""

    def __init__(self) -> None:
        self.written: list[str] = []

    def write(self, text: str) -> int:
        self.written.append(text)
        return len(text)

    def flush(self) -> None:
        pass


@pytest.mark.parametrize(
    ("environment", "first"),
    [
        ({"RANK": "3", "WORLD_SIZE": "8", "LOCAL_RANK": "1"}, "rank 3 of 8, local rank 1:\n"),
        ({"RANK": "0", "WORLD_SIZE": "2"}, "rank 0 of 2:\n"),
    ],
)
def test_a_rank_says_who_it_is_and_writes_once(
    environment: dict[str, str], first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    stream = Counting()
    monkeypatch.setattr(sys, "stderr", stream)
    with explained(clearer):
        end_with(caught(RuntimeError("wrong")))
        values = (RuntimeError, caught(RuntimeError("too")), None, SimpleNamespace(name="worker"))
        threading.excepthook(threading.ExceptHookArgs(values))  # type: ignore[arg-type]
    main, thread = stream.written
    assert main.startswith(f"devlint: {first}Traceback")
    assert main.endswith("\nRuntimeError: wrong\na note\n")
    assert thread.startswith(f"devlint: {first}Exception in thread worker:\nTraceback")
    assert thread.endswith("\nRuntimeError: too\na note\n")


@pytest.mark.parametrize("environment", [{}, {"RANK": "0", "WORLD_SIZE": "1"}, {"RANK": "0"}])
def test_who_is_alone_is_no_rank(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert uncaught.rank_line() == ""


def test_without_a_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setattr(sys, "stderr", None)
    with explained(clearer):
        end_with(caught(RuntimeError("wrong")))


# --- notes where Python prints none


def test_notes_are_printed_where_python_does_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(uncaught, "PRINTS_NOTES", False)
    cause, hidden, error = RuntimeError("cause"), KeyError("hidden"), ValueError("error")
    for link in (cause, hidden, error):
        link.__dict__["__notes__"] = [f"of {link}"]
    error.__cause__, cause.__context__ = cause, hidden
    cause.__suppress_context__ = True
    sys.excepthook = lambda *_: print("shown", file=sys.stderr)
    with explained(lambda same: same):
        end_with(error)
    sys.excepthook = sys.__excepthook__
    assert capsys.readouterr().err == "shown\nof cause\nof error\n"
    monkeypatch.setattr(uncaught, "PRINTS_NOTES", True)
    uncaught.print_notes(error)
    assert capsys.readouterr().err == ""


def test_errors_that_came_from_each_other() -> None:
    first, second = KeyError(), ValueError()
    first.__context__, second.__context__ = second, first
    assert tracebacks.chain(first) == [first, second]


# --- what is shown of the way


def shown(error: BaseException) -> list[str]:
    names = []
    trace = error.__traceback__
    while trace is not None:
        names.append(trace.tb_frame.f_code.co_name)
        trace = trace.tb_next
    return names


def test_no_frame_of_ours_is_shown() -> None:
    def step() -> None:
        nn.CrossEntropyLoss()(torch.ones(2, 3, device="cuda"), torch.zeros(5).long().cuda())

    with emulate("cuda"), guard(mode="trace"):
        with pytest.raises(ValueError, match="batch_size") as caught:
            step()
        tracebacks.tidy(caught.value)
    names = shown(caught.value)
    assert names[1] == "step"
    assert names[-2:] == ["forward", "cross_entropy"]
    files = [trace.path.as_posix() for trace in caught.traceback]
    assert not any("src/devlint" in file for file in files)


def test_an_error_that_we_make_is_shown_to_its_end() -> None:
    def hook(error: Exception) -> Exception:
        raise AssertionError("a mistake of ours")

    with pytest.raises(AssertionError) as caught, explained(hook):
        end_with(RuntimeError("wrong"))
    tracebacks.tidy(caught.value)
    assert shown(caught.value)[-1] == "hook"


# --- processes


CHILDREN = """
import multiprocessing, sys
import torch
from torch import nn
from torch.utils.data import DataLoader

def outside():
    torch.ones(3, device="cuda") + torch.ones(3)

def inside():
    nn.Linear(3, 3).cuda()(torch.ones(1, 3))

def plain():
    {}["key"]

def code():
    sys.exit(7)

def collate(rows):
    return torch.stack(rows) + torch.ones(3, device="cuda")

if __name__ == "__main__":
    for method, targets in ("fork", [outside, inside, plain, code]), ("spawn", [outside]):
        for target in targets:
            process = multiprocessing.get_context(method).Process(target=target, name="child")
            process.start()
            process.join()
            print(process.exitcode)
    for batch in DataLoader([torch.ones(3)] * 4, 2, num_workers=1, collate_fn=collate):
        pass
"""


def test_errors_of_other_processes(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(CHILDREN)
    words = [sys.executable, "-m", "devlint", "run", "--emulate", "cuda", "train.py"]
    ran = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 1
    assert ran.stdout.split() == ["1", "1", "1", "7", "1"]
    fork, inside, plain, spawn, worker = ran.stderr.split("Traceback (most recent call last):\n")[
        1:6
    ]
    for text in (fork, spawn):
        assert 'devlint.DeviceMismatchError: torch.ones(3, device="cuda") + torch' in text
    assert "devlint.DeviceMismatchError: Linear received args[0] on cpu" in inside
    for text in (fork, inside, plain, spawn):
        assert text.startswith('  File "')
        assert text.splitlines()[0].endswith(", in run")
        assert OURS not in text
        assert text.count("Error: ") == 1
    assert "KeyError: 'key'\n" in plain
    assert plain.endswith("Process child:\n")
    assert "RuntimeError: Caught RuntimeError in DataLoader worker process 0." in worker
    last = ran.stderr.rpartition("RuntimeError: Expected all tensors")[2]
    assert last.count("devlint: ") == 1
    assert "used at    train.py:" in last


# --- notebooks


NOTEBOOK = """
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance(colors="nocolor")
shell.run_line_magic("colors", "nocolor")
kept = []
def own(self, kind, error, trace, tb_offset=None):
    kept.append((kind.__name__, getattr(error, "__notes__", [])))
shell.run_cell('''
import torch, devlint
from torch import nn
emulation = devlint.emulate("cuda").__enter__()
''')
for mode in "strict", "explain", "own":
    if mode == "own":
        shell.set_custom_exc((RuntimeError,), own)
        mode = "strict"
    before = shell.custom_exceptions, shell.CustomTB
    shell.run_cell(f"guard = devlint.install_guard({mode!r})")
    shell.run_cell("layer, x = nn.Linear(3, 3).cuda(), torch.ones(1, 3)")
    shell.run_cell("layer(x)")
    shell.run_cell("torch.ones(3, device='cuda') + x")
    shell.run_cell("{}['key']")
    shell.run_cell("guard.remove()")
    print("---", (shell.custom_exceptions, shell.CustomTB) == before, kept)
"""


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the cells print under a strict guard, one that explains, and with an own handler."""
    pytest.importorskip("IPython")
    folder = tmp_path_factory.mktemp("notebook")
    (folder / "cells.py").write_text(NOTEBOOK)
    ran = subprocess.run(
        [sys.executable, "cells.py"],
        cwd=folder,
        env={**os.environ, "IPYTHONDIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 0
    parts = re.split(r"(?<=\n)--- (.*)\n", ran.stdout)
    found = [f"{text}--- {last}" for text, last in zip(parts[::2], parts[1::2], strict=False)]
    return dict(zip(("strict", "explain", "own"), found, strict=True))


@pytest.mark.parametrize(
    ("mode", "kind"), [("strict", "DeviceMismatchError"), ("explain", "RuntimeError")]
)
def test_the_cells_of_a_notebook(notebook: dict[str, str], mode: str, kind: str) -> None:
    text = notebook[mode]
    prefix = f"{kind}: " if mode == "strict" else "devlint: "
    assert text.count(f"\n{prefix}Linear received args[0] on cpu") == 1
    assert text.count(f"\n{prefix}torch.ones(3, device='cuda') + x takes") == 1
    assert f"\n{kind}: " in text
    assert "KeyError: 'key'" in text
    assert OURS not in text
    assert text.endswith("--- True []")


def test_a_notebook_with_a_handler_of_its_own(notebook: dict[str, str]) -> None:
    text = notebook["own"]
    assert "Linear received" not in text
    assert "KeyError: 'key'" in text
    kinds = "[('DeviceMismatchError', []), ('DeviceMismatchError', [])]"
    assert text.endswith(f"--- True {kinds}")
