"""bench/oracle.py: what tests on a device say of findings."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import oracle
import oracle_lines
import torch

import devlint
from devlint.runtime.ported.code import Code
from devlint.runtime.virtual.running import running_world


def place(*lines: int) -> oracle.Place:
    named = frozenset(("a.py", line) for line in lines)
    return oracle.Place("a.py", lines[0], "DEV203", "", named)


def test_findings_beside_causes_and_lines_that_ran() -> None:
    findings = [place(10, 12), place(20), place(30), place(40)]
    causes = [place(13, 12), place(50)]
    ran = {("a.py", 20): True, ("a.py", 30): False, ("b.py", 40): True}
    found = [(each.line, outcome) for each, outcome in oracle.labels(findings, causes, ran)]
    assert found == [(10, "raised"), (20, "ran"), (30, "host"), (40, "not run"), (50, "missed")]


def test_a_reader_s_reasons_are_kept() -> None:
    label = oracle.Label("package", "1.0", "a.py", 3, "DEV203", "missed", "text")
    before = [oracle.Label("package", "1.0", "a.py", 3, "DEV203", "missed", "", "in a callback")]
    (kept,) = oracle.with_reasons([label], before)
    assert (kept.message, kept.reason) == ("text", "in a callback")
    assert oracle.with_reasons([label], []) == [label]


def test_the_witness_notes_the_lines_of_the_project_by_what_their_calls_have(
    tmp_path: Path,
) -> None:
    source = """\
def host(x):
    return x.cpu() * 2
def both(x):
    return (
        torch.einsum("i,i->", x,
            x)
    )
def inside(x):
    thread = threading.Thread(target=x.neg)
    thread.start(), thread.join()
"""
    names: dict[str, Any] = {"torch": torch, "threading": threading}
    file = tmp_path / "package" / "module.py"
    exec(compile(source, str(file), "exec"), names)
    test: dict[str, Any] = {"names": names, "torch": torch}
    calls = """\
for device in ("cpu", "cuda"):
    for _ in range(2):
        x = torch.ones(2, device=device)
        names["host"](x.cpu())
        names["both"](x)
        names["inside"](x)
"""
    with devlint.emulate("cuda"):
        functions = running_world().functions
        code = Code(str(tmp_path))
        functions.handlers = lines = oracle_lines.Lines(functions.handlers, code)
        exec(compile(calls, str(tmp_path / "test_module.py"), "exec"), test)
    noted = {(Path(name).name, line): is_on for (name, line), is_on in lines.on_device.items()}
    assert noted == {
        ("module.py", 2): False,
        ("module.py", 5): True,
        ("module.py", 10): True,
    }
