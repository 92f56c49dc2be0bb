"""The diagnostic for people, drawn as expected to the last blank."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest
from report.sample import HARDCODED, MISMATCH, SOURCE, finding, place, span

import devlint
from devlint.config.sources import Failure
from devlint.model.findings import (
    OTHERS,
    Confidence,
    Coverage,
    Edit,
    Finding,
    Fix,
    Level,
    Safety,
    Step,
)
from devlint.report import Summary, render
from devlint.report.cells import WIDTH
from devlint.report.text import cell_width


def full(text: str, *findings: Finding, color: bool = False) -> str:
    return render("full", findings, Summary(files=1), color, lambda filename: text)


def test_a_finding_that_a_run_decides_says_so() -> None:
    shown = full(SOURCE, finding(SOURCE, "x + y"))
    assert "confidence" not in shown
    unsure = replace(finding(SOURCE, "x + y"), confidence=Confidence.MEDIUM, score=65)
    assert "= confidence: 65 %, only a run decides one of the devices\n" in full(SOURCE, unsure)


def cells(text: str) -> int:
    """How many cells of a terminal a shown text takes."""
    return sum(map(cell_width, text))


def drawing(text: str, *findings: Finding) -> str:
    """What `full` shows below the place and above the closing line."""
    return "\n".join(full(text, *findings).split("\n")[2:-3]) + "\n"


def expected(text: str) -> str:
    return textwrap.dedent(text).lstrip("\n")


def test_a_finding_with_trace_help_and_fix() -> None:
    assert full(SOURCE, MISMATCH) == expected("""
        error[DEV202] operands-on-other-devices: `y` is on cpu but `x` is on cuda
         --> train.py:8:5
          |
        3 | x = torch.ones(3, device="cuda")
          |     ---------------------------- made on cuda here
        4 | y = torch.zeros(3)
          |     -------------- made on cpu here
        ...
        8 | z = x + y
          |     ^^^^^ used together here
          |
          = help: make `y` where `x` is
          = fix: move it (unsafe, --fix --unsafe-fixes)
          |
        8 - z = x + y
        8 + z = x + y.to(x.device)

        Found 1 error in 1 file. 1 fixable with --fix --unsafe-fixes.
    """)


def test_a_warning_with_a_safe_fix() -> None:
    assert full(SOURCE, HARDCODED) == expected("""
        warning[DEV104] hardcoded-device-index: the index 1 is fixed
         --> train.py:9:1
          |
        9 | x.cuda(1)
          | ^^^^^^^^^
          |
          = fix: drop it (safe, --fix)
          |
        9 - x.cuda(1)
        9 + x.cuda()

        Found 1 warning in 1 file. [*] 1 fixable with --fix.
    """)


MULTILINE = """\
w = foo(
    a,
    b,
)
"""

LONG = "x = '" + "a" * 200 + "' + bad(y) + '" + "b" * 200 + "'\n"


@pytest.mark.parametrize(
    ("text", "found", "lines"),
    [
        pytest.param(
            "z = x + y\n",
            finding("z = x + y\n", "x + y", Step(span("z = x + y\n", "x"), "on cuda")),
            """
              |
            1 | z = x + y
              |     -^^^^
              |     |
              |     on cuda
            """,
            id="a label within the primary span",
        ),
        pytest.param(
            "f(a, b)\n",
            finding(
                "f(a, b)\n",
                "f(a, b)",
                Step(span("f(a, b)\n", "a"), "first"),
                Step(span("f(a, b)\n", "b"), "second"),
                Step(span("f(a, b)\n", "f(a, b)"), "meet"),
            ),
            """
              |
            1 | f(a, b)
              | ^^-^^-^
              | | |  |
              | | |  second
              | | first
              | meet
            """,
            id="three labels in one line",
        ),
        pytest.param(
            "a = 1; b = 2\n",
            finding("a = 1; b = 2\n", "a", Step(span("a = 1; b = 2\n", "b"), "later")),
            """
              |
            1 | a = 1; b = 2
              | ^      - later
            """,
            id="two labels side by side",
        ),
        pytest.param(
            MULTILINE,
            finding(
                MULTILINE,
                "foo(\n    a,\n    b,\n)",
                Step(span(MULTILINE, "foo(\n    a,\n    b,\n)"), "here"),
            ),
            """
              |
            1 |   w = foo(
              |  _____^
            2 | |     a,
            3 | |     b,
            4 | | )
              | |_^ here
            """,
            id="a span over lines",
        ),
        pytest.param(
            MULTILINE,
            finding(MULTILINE, "a", Step(span(MULTILINE, MULTILINE[:-1]), "whole")),
            """
              |
            1 | / w = foo(
            2 | |     a,
              | |     ^
            3 | |     b,
            4 | | )
              | |_- whole
            """,
            id="a label within a span over lines",
        ),
        pytest.param(
            "f(\n" + "    a,\n" * 20 + ")\n",
            finding("f(\n" + "    a,\n" * 20 + ")\n", "f(\n" + "    a,\n" * 20 + ")"),
            """
               |
             1 | / f(
             2 | |     a,
             3 | |     a,
            ...  |
            21 | |     a,
            22 | | )
               | |_^
            """,
            id="a span over many lines is cut",
        ),
        pytest.param(
            "a\n1\n2\nb\n",
            finding("a\n1\n2\nb\n", "b", Step(span("a\n1\n2\nb\n", "a"), "near")),
            """
              |
            1 | a
              | - near
            2 | 1
            3 | 2
            4 | b
              | ^
            """,
            id="short gaps are shown",
        ),
        pytest.param(
            "\tif x:\ty = 1\n",
            finding("\tif x:\ty = 1\n", "y = 1"),
            """
              |
            1 |     if x:    y = 1
              |              ^^^^^
            """,
            id="tabs",
        ),
        pytest.param(
            "日本 = e\u0301; b = '👍'; c\n",
            finding("日本 = e\u0301; b = '👍'; c\n", "c"),
            """
              |
            1 | 日本 = e\u0301; b = '👍'; c
              |                     ^
            """,
            id="wide and combining characters",
        ),
        pytest.param(
            "a = '\x1b[31m\u202e'; b\n",
            finding("a = '\x1b[31m\u202e'; b\n", "b"),
            """
              |
            1 | a = '\\x1b[31m\\u202e'; b
              |                       ^
            """,
            id="orders to the terminal are defused",
        ),
        pytest.param(
            "a = (\r\n    b)\r\n",
            finding("a = (\r\n    b)\r\n", "b"),
            """
              |
            2 |     b)
              |     ^
            """,
            id="crlf",
        ),
        pytest.param(
            "x\n",
            Finding("train.py", "DEV001", "syntax-error", "end", Level.ERROR, place("x\n", 2, 2)),
            """
              |
            2 |
              | ^
            """,
            id="an empty span at the end of the file",
        ),
    ],
)
def test_drawings(text: str, found: Finding, lines: str) -> None:
    assert drawing(text, found) == expected(lines)


def test_long_lines_are_cut_around_the_span() -> None:
    source, carets = drawing(LONG, finding(LONG, "bad(y)")).splitlines()[1:]
    assert source.startswith("1 | …")
    assert source.endswith("b…")
    assert cells(source) == WIDTH + len("1 | ")
    assert source[carets.index("^") : carets.rindex("^") + 1] == "bad(y)"


def test_long_lines_of_wide_characters_stay_aligned() -> None:
    text = f"x = '{'日' * 200}' + bad(y) + '{'本' * 200}'\n"
    source, carets = drawing(text, finding(text, "bad(y)")).splitlines()[1:]
    before = source[: source.index("bad(y)")]
    assert cells(before) == carets.index("^")
    assert cells(source) <= WIDTH + len("1 | ")


@pytest.mark.parametrize(
    ("text", "edits", "lines"),
    [
        pytest.param(
            "import torch\nx = f(1)\n\n\n\ng(x)\n",
            [("import torch\n", "import torch\nimport os\n"), ("g(x)", "h(x)")],
            ["2 + import os", "...", "6 - g(x)", "7 + h(x)"],
            id="two places, rows of both sides",
        ),
        pytest.param("a\nb\nc\n", [("b\n", "")], ["2 - b"], id="a removed line"),
        pytest.param("a\nb\n", [("a", "c"), ("b", "d")], ["1 - a", "2 - b", "1 + c", "2 + d"]),
        pytest.param("f(\r\n1)\r\n", [("1", "2")], ["2 - 1)", "2 + 2)"], id="crlf"),
    ],
)
def test_fixes_are_shown_as_changed_lines(
    text: str, edits: list[tuple[str, str]], lines: list[str]
) -> None:
    fix = Fix("f", Safety.SAFE, tuple(Edit(span(text, old), new) for old, new in edits))
    shown = full(text, finding(text, text.split("\n")[0].rstrip(), fix=fix)).split("\n")
    start = next(index for index, line in enumerate(shown) if "= fix:" in line)
    assert shown[start + 2 : start + 2 + len(lines)] == lines
    assert shown[start + 2 + len(lines)] == ""


def test_a_finding_without_its_source_is_still_told() -> None:
    text = render("full", [MISMATCH], Summary(files=1), False, lambda filename: None)
    assert text.splitlines()[:4] == [
        "error[DEV202] operands-on-other-devices: `y` is on cpu but `x` is on cuda",
        " --> train.py:8:5",
        "  = help: make `y` where `x` is",
        "  = fix: move it (unsafe, --fix --unsafe-fixes)",
    ]


def test_a_source_that_has_changed_since_does_no_harm() -> None:
    assert "8:5" in full("short\n", MISMATCH)


def test_colour_changes_nothing_but_colour() -> None:
    plain = full(SOURCE, MISMATCH, HARDCODED)
    coloured = full(SOURCE, MISMATCH, HARDCODED, color=True)
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == plain
    assert "\x1b[1;31merror[DEV202]" in coloured
    assert not re.search(r"(\x1b\[[1-9][\d;]*m)[^\x1b]*\x1b\[0m\1", coloured)  # none twice in a row


def test_plain_text_needs_no_rich() -> None:
    code = (
        "import sys; from report.sample import *; from devlint.report import render\n"
        "for name in ('full', 'concise', 'grouped', 'json', 'github'):\n"
        "    assert render(name, [MISMATCH], Summary(files=1), False, lambda name: SOURCE)\n"
        "assert not {'rich', 'libcst', 'torch'} & set(sys.modules), sys.modules"
    )
    folders = [str(Path(devlint.__file__).parents[1]), str(Path(__file__).parents[1])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


@pytest.mark.parametrize(
    ("findings", "summary", "line"),
    [
        ([], Summary(files=3), "All checks passed in 3 files."),
        (
            [],
            Summary(
                files=1,
                coverage=Coverage.of(118, {"`args`": 87, OTHERS: 90, "calls of `mylib`": 41}),
            ),
            "Decided 118 of 336 places where tensors meet, 218 unknown (87 by `args`, "
            "41 by calls of `mylib`, 90 by other values).\nAll checks passed in 1 file.",
        ),
        (
            [],
            Summary(files=1, coverage=Coverage.of(1, {})),
            "Decided 1 of 1 place where tensors meet.\nAll checks passed in 1 file.",
        ),
        ([], Summary(files=0), "Nothing was checked."),
        ([], Summary(0, failures=(Failure("a.py", "gone"),)), "Nothing was checked: 1 problem."),
        ([], Summary(files=1, fixed=2), "Fixed 2 findings. All checks passed in 1 file."),
        (
            [MISMATCH, HARDCODED, HARDCODED],
            Summary(files=9),
            "Found 1 error, 2 warnings in 1 file. [*] 2 fixable with --fix "
            "(1 more with --unsafe-fixes).",
        ),
        (
            [finding(SOURCE, "x", level=Level.OFF)],
            Summary(files=1, fixed=1),
            "Fixed 1 finding. Found 1 note in 1 file.",
        ),
        (
            [finding(SOURCE, "x"), finding(SOURCE, "x", filename="b.py")],
            Summary(files=2),
            "Found 2 errors in 2 files.",
        ),
    ],
)
@pytest.mark.parametrize("output_format", ["full", "concise", "grouped"])
def test_closing_line(
    output_format: str, findings: list[Finding], summary: Summary, line: str
) -> None:
    text = render(output_format, findings, summary, False, lambda filename: SOURCE)
    assert text.rstrip("\n").endswith(line)


@pytest.mark.parametrize("output_format", ["full", "concise", "grouped"])
def test_a_quiet_run_has_no_closing_line(output_format: str) -> None:
    summary = Summary(files=1, closing=False)
    assert "Found" not in render(output_format, [MISMATCH], summary, False, lambda name: SOURCE)
    assert render(output_format, [], summary, False, lambda name: SOURCE) == ""
