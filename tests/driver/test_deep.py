"""Deeply nested code is either linted or refused as such."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from driver.conftest import Project

from devlint.model import ir
from devlint.verdict import saying

# Deeper than Python's own limit of recursion. LibCST takes four times the time for twice as much.
DEPTH = sys.getrecursionlimit() + 200
LAST = 'torch.device("gpu")\n'
BRANCHES = "".join(f"elif n == {i}:\n    y = torch.ones({i})\n" for i in range(DEPTH))
LINTED = {
    "a sum of many terms": "y = " + " + ".join(["x"] * DEPTH) + "\n",
    "many attributes": "y = torch" + ".a" * DEPTH + "\n",
    "many elif branches": f"if n < 0:\n    pass\n{BRANCHES}",
    "90 nested ifs": "".join(f"{' ' * i}if x{i}:\n" for i in range(90)) + " " * 90 + "pass\n",
}


@pytest.mark.skipif(
    sys.version_info[:2] == (3, 12), reason="its first releases bound LibCST's own recursion"
)
@pytest.mark.parametrize("code", LINTED.values(), ids=LINTED)
def test_what_follows_deep_code_is_found(project: Project, code: str) -> None:
    project.write({"deep.py": f"import torch\nx = torch.ones(3)\n{code}{LAST}"})
    ran = project.concise("--select=DEV304")
    assert ran.out.startswith(f"deep.py:{3 + code.count(chr(10))}:14: DEV304")
    assert (ran.code, ran.err) == (1, "")


def test_more_indentation_than_python_takes_is_refused(project: Project) -> None:
    code = "".join(f"{' ' * i}if x{i}:\n" for i in range(900))
    project.write({"deep.py": f"import torch\n{code}{' ' * 900}{LAST}"})
    ran = project.concise()
    assert ": DEV001 too many levels of indentation" in ran.out
    assert (ran.code, ran.err) == (2, "")


def test_an_interpreter_without_end_is_no_fault_of_the_file(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def endless(module: ir.Module, *rest: object, **keywords: object) -> Iterator[object]:
        return endless(module, *rest, **keywords)

    monkeypatch.setattr(saying, "interpret", endless)
    project.write({"deep.py": f"import torch\n{LAST}"})
    ran = project.concise()
    assert ran.err.startswith("devlint: deep.py: internal error: RecursionError")
    assert "DEV001" not in ran.out
    assert ran.code == 2
