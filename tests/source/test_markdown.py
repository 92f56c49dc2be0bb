"""Markdown: which blocks are read, what they share, where findings are, what fixes leave alone."""

from __future__ import annotations

import ast
import codecs
from dataclasses import replace

import pytest

from devlint.config.settings import Settings
from devlint.fix.applying import FixResult, fix_source
from devlint.fix.patches import unified_diff
from devlint.lint import check_source
from devlint.model.findings import Edit, Finding
from devlint.source.blocks import OWN_EXAMPLES
from devlint.source.continuing import chains
from devlint.source.markdown import read_markdown

SETTINGS = Settings(pedantic=True, extension=(("md", "markdown"),))
ON_GPU = 'import torch\nx = torch.ones(3, device="cuda")\n'
MEETS = "y = torch.zeros(3)\nz = x + y\n"
NAME = "gpu = torch.device('gpu')\n"


def fenced(code: str, info: str = "python", fence: str = "```") -> str:
    return f"{fence}{info}\n{code}{fence}\n"


def found(text: str | bytes, code: str = "") -> list[Finding]:
    data = text.encode() if isinstance(text, str) else text
    return [each for each in check_source(data, "a.md", SETTINGS) if code in ("", each.code)]


def places(text: str | bytes, code: str = "DEV202") -> list[str]:
    return [finding.span.place for finding in found(text, code)]


def fixed(text: str | bytes) -> FixResult:
    data = text.encode() if isinstance(text, str) else text
    settings = replace(SETTINGS, select=("DEV202",))
    return fix_source(data, "a.md", settings, True, check_source, language="markdown")


def python(text: str) -> str:
    """The rows of a file that are Python, without the others."""
    return "\n".join(row for row in read_markdown(text.encode()).text.split("\n") if row)


# --- what is read


@pytest.mark.parametrize(
    "info",
    [
        "python",
        "py",
        "Python3",
        'python title="a.py" hl_lines="1"',
        "python,linenos",
        "python{1,2}",
        "{.python .numberLines}",
        "{ .py }",
        "{python}",
        "{python, echo=TRUE}",
        "{code-cell} ipython3",
        "{code-block} python",
        "{code-cell}",
    ],
)
def test_blocks_of_python_are_read(info: str) -> None:
    assert places(fenced(ON_GPU + MEETS, info)) == ["5:9"]


@pytest.mark.parametrize(
    "info",
    ["", "python2", "pytb", "bash", "py.typed", "python-requirements", "{r}", "diff", "json"],
)
def test_other_blocks_are_passed_by(info: str) -> None:
    assert found(fenced(ON_GPU + MEETS, info)) == []


def test_text_and_code_without_a_fence_are_passed_by() -> None:
    indented = "".join(f"    {line}\n" for line in (ON_GPU + MEETS).splitlines())
    comment = f"<!--\n{fenced(ON_GPU + MEETS)}-->\n"
    shown = fenced(fenced(ON_GPU + MEETS), "markdown", "````")
    assert found(f"# Title\n\n{ON_GPU}{MEETS}\n{indented}\n{comment}\n{shown}") == []


@pytest.mark.parametrize("fence", ["```", "~~~", "`````", "~~~~"])
def test_both_fences_of_any_length_are_read(fence: str) -> None:
    assert places(fenced(ON_GPU + MEETS, fence=fence)) == ["5:9"]


@pytest.mark.parametrize(
    ("before", "column"),
    [("", 9), ("  ", 11), ("> ", 11), ("> > ", 13), (">", 10)],
)
def test_what_stands_before_rows_is_taken_off(before: str, column: int) -> None:
    text = "".join(f"{before}{line}\n" for line in fenced(ON_GPU + MEETS).splitlines())
    assert places(text) == [f"5:{column}"]


def test_blocks_in_lists_are_read() -> None:
    code = fenced(ON_GPU + MEETS).splitlines()
    items = "".join(f"   {line}\n" for line in code)
    assert places(f"1. one:\n\n{items}") == ["7:12"]
    text = f"- {code[0]}\n" + "".join(f"  {line}\n" for line in code[1:])
    assert places(text) == ["5:11"]
    text = f"1. > {code[0]}\n" + "".join(f"   > {line}\n" for line in code[1:])
    assert places(text) == ["5:14"]
    tabs = "".join(f"\t{line}\n" for line in code)
    assert places(f"-\tone\n\n{tabs}") == ["7:10"]


def test_a_block_that_nothing_closes_ends_with_what_it_stands_in() -> None:
    assert places(f"```python\n{ON_GPU}{MEETS}") == ["5:9"]
    assert places(f"```python\n{ON_GPU}{MEETS}".rstrip("\n")) == ["5:9"]
    quoted = "".join(f"> {line}\n" for line in f"```python\n{ON_GPU}{MEETS}".splitlines())
    assert places(f"{quoted}\nx = {{ more text\n") == ["5:11"]


def test_a_block_that_is_indented_as_a_whole_is_read_without_the_indent() -> None:
    code = "".join(f"    {line}\n" if line else "\n" for line in (ON_GPU + MEETS).split("\n"))
    assert places(fenced(code)) == ["5:13"]


def test_blocks_that_are_no_python_are_silent() -> None:
    broken = (
        'Trainer(accelerator="gpu", ...)\n',
        "def forward(self, x)\n",
        "- x = 1\n+ x = 2\n",
        "class A(Module):\n    def f(self):\n",
        "x = torch.ones(3\n",
        "x = '\0'\n",
    )
    text = "".join(map(fenced, broken))
    assert found(f"{text}{fenced(ON_GPU + MEETS)}", "DEV001") == []
    assert len(found(f"{text}{fenced(ON_GPU + MEETS)}", "DEV202")) == 1


def test_the_input_of_a_console_is_read_without_its_prompts_and_output() -> None:
    console = (
        ">>> import torch\n"
        '>>> x = torch.ones(3, device="cuda")\n'
        ">>> for _ in range(3):\n"
        "...     y = torch.zeros(\n"
        "...         3)\n"
        "tensor([0., 0.])\n"
        "... that is output as well\n"
        ">>> x + y\n"
        "Traceback: x + y\n"
    )
    for info in ("pycon", "python", "py"):
        assert places(fenced(console, info)) == ["9:9"]
    assert found(fenced("no prompt = here\n", "pycon")) == []


def test_what_only_ipython_reads_is_masked() -> None:
    code = f"%matplotlib inline\n!pip install torch\n{ON_GPU}{MEETS}"
    assert places(fenced(code)) == ["7:9"]
    assert found(fenced("%%bash\nx = {\n")) == []


def test_what_a_directive_is_told_is_no_python() -> None:
    assert places(fenced(f":tags: [hide]\n:lineno-start: 3\n{ON_GPU}{MEETS}", "{code-cell}")) == [
        "7:9"
    ]
    told = f"---\ntags: [hide]\n---\n{ON_GPU}{MEETS}"
    assert places(fenced(told, "{code-cell} python")) == ["8:9"]


# --- what blocks share


def test_a_block_goes_on_from_the_one_whose_names_it_uses() -> None:
    text = f"{fenced(ON_GPU)}\nThen:\n\n{fenced(MEETS)}"
    [finding] = found(text, "DEV202")
    assert finding.span.place == "10:9"
    assert [step.span.place for step in finding.trace] == ["3:5", "9:5"]
    assert finding.help.endswith(OWN_EXAMPLES)


def test_what_stands_in_one_block_hangs_on_no_order() -> None:
    [finding] = found(fenced("import torch\n") + fenced(ON_GPU + MEETS), "DEV202")
    assert OWN_EXAMPLES not in finding.help


def test_examples_with_nothing_between_them_share_nothing() -> None:
    waits = "import torch\nwhile True:\n    x = torch.ones(3)\n"
    assert places(fenced(waits) + fenced(ON_GPU + MEETS)) == ["10:9"]
    default = "import torch\ntorch.set_default_device('cuda')\n"
    other = "import torch\nz = torch.ones(3) + torch.ones(3, device='cpu')\n"
    assert places(fenced(default + other)) != []
    assert places(fenced(default) + fenced(other)) == []


def test_a_name_is_that_of_the_nearest_block_above() -> None:
    rebound = fenced("import torch\nx = torch.ones(3)\n")
    assert places(fenced(ON_GPU) + rebound + fenced(MEETS)) == []
    assert places(rebound + fenced(ON_GPU) + fenced(MEETS)) == ["11:9"]


@pytest.mark.parametrize(
    ("codes", "together"),
    [
        (("x = 1", "y = x"), [[0, 1]]),
        (("x = 1", "x = 2", "y = x"), [[0], [1, 2]]),
        (("x = 1", "x = x + 1"), [[0, 1]]),
        (("x = 1", "x += 1"), [[0, 1]]),
        (("import a.b", "a.b.c()"), [[0, 1]]),
        (("from a import b as c", "c()"), [[0, 1]]),
        (("def f(): pass", "f()"), [[0, 1]]),
        (("class A: pass", "class B(A): pass"), [[0, 1]]),
        (("x = 1", "def f(): return x"), [[0, 1]]),
        (("x = 1", "def f(y=x): pass"), [[0, 1]]),
        (("x = 1", "@x\ndef f(): pass"), [[0, 1]]),
        (("x = 1", "def f(x): return x"), [[0], [1]]),
        (("x = 1", "def f():\n    x = 2\n    return x"), [[0], [1]]),
        (("x = 1", "def f(): return x\nx = 2"), [[0], [1]]),
        (("x = 1", "class A:\n    def f(self): return x"), [[0, 1]]),
        (("x = 1", "for x in y: x"), [[0], [1]]),
        (("x = 1", "for y in x: y"), [[0, 1]]),
        (("x = 1", "[x for x in y]"), [[0], [1]]),
        (("x = 1", "lambda x: x"), [[0], [1]]),
        (("x = 1", "with a as x: x"), [[0], [1]]),
        (("x = 1", "try: pass\nexcept E as x: x"), [[0], [1]]),
        (("x = 1", "match a:\n    case [x]: x"), [[0], [1]]),
        (("if a:\n    x = 1", "x"), [[0, 1]]),
        (("y = x", "x = 1"), [[0], [1]]),
        (("a = 1", "b = 1", "c = a", "d = b"), [[0, 2], [1, 3]]),
        (("a = 1", "b = 1", "c = a + b"), [[0, 1, 2]]),
    ],
)
def test_what_is_linked_by_names(codes: tuple[str, ...], together: list[list[int]]) -> None:
    assert chains([ast.parse(code) for code in codes]) == together


def test_a_block_may_leave_a_name_to_its_reader() -> None:
    code = "import torch\nmodel = torch.nn.Linear(3, 3).to(device)\n"
    assert not found(fenced(code), "DEV110")
    alone = check_source(code.encode(), "a.py", SETTINGS)
    assert [each.code for each in alone] == ["DEV110"]


def test_steps_of_blocks_apart_are_not_added(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("devlint.flow.frames.steps.MOST_STEPS", 40)
    block = fenced(ON_GPU + MEETS)
    assert len(found(block * 20, "DEV202")) == 20


# --- where findings are


def test_places_are_those_of_the_file() -> None:
    text = "# Título 😀\n\n" + "".join(
        f"> {line}\n" for line in fenced(ON_GPU + "é = torch.zeros(3); z = x + é\n").splitlines()
    )
    [finding] = found(text, "DEV202")
    span = finding.span
    assert (span.row, span.column, span.cell) == (6, 31, None)
    assert text[span.start : span.end] == "é"
    [step] = (step for step in finding.trace if "CPU" in step.message)
    assert text[step.span.start : step.span.end] == "torch.zeros(3)"
    assert finding.statement == (6, 6)


def test_a_span_of_several_rows_ends_where_it_does_in_the_file() -> None:
    code = f"{ON_GPU}z = x + torch.zeros(\n    3,\n)\n"
    text = "".join(f"> {line}\n" for line in fenced(code).splitlines())
    [finding] = found(text, "DEV202")
    assert text[finding.span.start : finding.span.end] == "torch.zeros(\n>     3,\n> )"


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_every_line_end_is_one(newline: str) -> None:
    text = f"text\x0c\u2028more\n{fenced(ON_GPU + MEETS)}".replace("\n", newline)
    assert places(text) == ["6:9"]


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    assert places(codecs.BOM_UTF8 + fenced(ON_GPU + MEETS).encode()) == ["5:9"]


@pytest.mark.parametrize("data", [b"# \xff\n```python\nx\n```\n", "x".encode("utf-16")])
def test_what_is_not_utf8_is_one_finding(data: bytes) -> None:
    [finding] = found(data)
    assert finding.code == "DEV003"
    assert "not UTF-8" in finding.message


# --- comments


def test_comments_suppress_in_their_block_and_in_the_file() -> None:
    ignored = MEETS.replace("x + y", "x + y  # devlint: ignore[DEV202]")
    assert found(fenced(ON_GPU) + fenced(ignored), "DEV202") == []
    everywhere = "# devlint: file-ignore[DEV202]\n"
    assert found(fenced(ON_GPU + MEETS) + fenced(everywhere), "DEV202") == []
    assert found(fenced(ON_GPU + MEETS) + fenced(everywhere), "DEV002") == []
    [idle] = found(fenced("x = 1  # devlint: ignore[DEV202]\n"), "DEV002")
    assert idle.span.place == "2:8"


# --- what is written


def test_a_fix_changes_its_block_and_nothing_else() -> None:
    text = f"text\t \n\n> quote:\n>\n{fenced(ON_GPU + MEETS)}\n\n- more \n  text"
    quoted = text.replace("```", "> ```")
    for each in (text, "".join(f"> {line}\n" for line in text.split("\n")), quoted):
        done = fixed(each)
        wanted = each.replace("zeros(3)", "zeros(3, device=x.device)") if done.applied else each
        assert done.data.decode() == wanted
    assert len(fixed(text).applied) == 1


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    ("first", "before"), [("", ""), ("> ", "> "), ("- ", "  "), ("1. > ", "   > "), ("  ", "  ")]
)
def test_added_rows_begin_as_those_of_their_block(first: str, before: str, newline: str) -> None:
    def text(code: str) -> str:
        opening, *rows = fenced(code).splitlines()
        lines = [first + opening, *(before + row for row in rows)]
        return "".join(f"{line}{newline}" for line in lines)

    blocks = read_markdown(text("if a:\n    b\nc\n").encode())
    index = blocks._own_index

    def edited(row: int, column: int, end_row: int, end_column: int, content: str) -> str:
        span = index.span(index.offset(row, column), index.offset(end_row, end_column))
        return blocks.edited([blocks.placed_edit(Edit(span, content))]).decode()

    assert edited(3, 6, 3, 6, "\n    d\n\n    e") == text(
        "if a:\n    b\n    d\n\n    e\nc\n"
    ).replace(f"{before}{newline}", f"{before.rstrip()}{newline}")
    assert edited(3, 1, 3, 1, "    d\n") == text("if a:\n    d\n    b\nc\n")
    assert edited(4, 2, 4, 2, "\nd") == text("if a:\n    b\nc\nd\n")
    assert edited(2, 1, 4, 1, "") == text("c\n")
    assert edited(4, 1, 5, 1, "") == text("if a:\n    b\n")
    assert edited(4, 1, 5, 1, "d\n") == text("if a:\n    b\nd\n")


def test_a_block_that_is_indented_as_a_whole_keeps_its_indent() -> None:
    blocks = read_markdown(b"> ```python\n>     a\n>     b\n> ```\n")
    end = blocks._own_index.offset(2, 2)
    edit = blocks.placed_edit(Edit(blocks._own_index.span(end, end), "\nc"))
    assert blocks.edited([edit]) == b"> ```python\n>     a\n>     c\n>     b\n> ```\n"


def test_an_edit_stays_within_the_python_of_one_block() -> None:
    text = (
        fenced("a\n")
        + "text\n"
        + fenced("%time\nb\n")
        + fenced(">>> c\n1\n", "pycon")
        + fenced(":tags: x\nd\n", "{code-cell}")
    )
    blocks = read_markdown(text.encode())
    index = blocks._own_index

    def refused(row: int, end_row: int, content: str = "") -> bool:
        span = index.span(index.offset(row, 1), index.offset(end_row, 2))
        try:
            blocks.placed_edit(Edit(span, content))
        except ValueError:
            return True
        return False

    assert not refused(2, 2, "z")
    assert refused(1, 1)  # a fence
    assert refused(4, 4)  # text
    assert refused(2, 7)  # two blocks
    assert refused(6, 6)  # a magic
    assert not refused(7, 7)
    assert not refused(10, 10)  # the input of a console
    assert refused(10, 10, "y\nz")
    assert refused(11, 11)  # its output
    assert refused(14, 14)  # what a directive is told
    assert not refused(15, 15)


def test_a_finding_has_no_fix_where_that_would_change_more() -> None:
    console = "".join(f">>> {line}\n" for line in (ON_GPU + MEETS).splitlines())
    [finding] = found(fenced(console), "DEV202")
    assert finding.fix is not None
    assert finding.fix.edits[0].span.row == 4
    magic = "%time y = torch.zeros(3)\nz = x + y\n"
    [finding] = found(fenced(ON_GPU + magic), "DEV202")
    assert finding.fix is None


def test_an_edit_that_breaks_a_block_is_refused() -> None:
    blocks = read_markdown(fenced("a = 1\n").encode())
    span = blocks._own_index.span(*(blocks._own_index.offset(2, each) for each in (3, 4)))
    edit = blocks.placed_edit(Edit(span, ")"))
    with pytest.raises(ValueError, match="no longer parse"):
        blocks.edited([edit])


def test_a_diff_is_one_of_the_file() -> None:
    text = f"# Title\n\n- a\n\n{fenced(ON_GPU + MEETS)}".replace("\n", "\r\n").encode()
    diff = unified_diff(text, fixed(text).data, "a.md", "markdown")
    assert diff.startswith(b"--- a.md\n+++ a.md\n@@ -5,6 +5,6 @@\n")
    assert b"\n-y = torch.zeros(3)\r\n+y = torch.zeros(3, device=x.device)\r\n" in diff
