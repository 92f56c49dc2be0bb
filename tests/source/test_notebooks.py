"""Notebooks: what of them is read, where findings are, and what fixes leave alone."""

from __future__ import annotations

import codecs
import json
from typing import Any

import pytest
from cells import code, notebook, text

from devlint.config.settings import Settings
from devlint.fix.applying import FixResult, fix_source
from devlint.fix.patches import unified_diff
from devlint.lint import check_source
from devlint.model.findings import Edit, Finding
from devlint.model.spans import LineIndex
from devlint.source.cells import OTHER_ORDER
from devlint.source.magics import masked
from devlint.source.notebooks import read_notebook
from devlint.source.parsing import parses

PEDANTIC = Settings(pedantic=True)


def found(data: bytes, settings: Settings = PEDANTIC) -> list[Finding]:
    return check_source(data, "a.ipynb", settings)


def places(data: bytes) -> list[str]:
    return [f"{finding.span.place} {finding.code}" for finding in found(data)]


def fixed(data: bytes) -> FixResult:
    return fix_source(data, "a.ipynb", PEDANTIC, True, check_source)


ON_GPU = 'import torch\nx = torch.ones(3, device="cuda")\n'
MEETS = "y = torch.zeros(3)\nx + y"


# --- one module


def test_cells_share_their_names_and_count_among_all_cells() -> None:
    data = notebook(text(), code(ON_GPU, 1), text(), code(MEETS, 2))
    assert "cell 4:2:5 DEV202" in places(data)
    [finding] = (each for each in found(data) if each.code == "DEV202")
    assert [step.span.place for step in finding.trace] == ["cell 2:2:5", "cell 4:1:5"]


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [(1, 2, False), (3, 7, False), (2, 1, True), (1, 1, True), (None, 1, True), (1, None, True)],
)
def test_an_order_that_may_not_be_that_of_the_run_is_told(
    first: int | None, second: int | None, told: bool
) -> None:
    data = notebook(code(ON_GPU, first), code(MEETS, second))
    [finding] = (each for each in found(data) if each.code == "DEV202")
    assert (OTHER_ORDER in finding.help) == told


def test_what_stands_in_one_cell_hangs_on_no_order() -> None:
    data = notebook(code("import torch", 9), code(ON_GPU + MEETS, 2))
    assert not any(OTHER_ORDER in finding.help for finding in found(data))


def test_cells_of_text_and_of_other_languages_are_skipped() -> None:
    raw = {**code("x ="), "cell_type": "raw"}
    other = code("let x = 1;", metadata={"vscode": {"languageId": "javascript"}})
    assert found(notebook(text("x ="), raw, other, code(""))) == []


@pytest.mark.parametrize("language", ["R", "julia", "C++17"])
def test_notebooks_of_other_kernels_are_skipped(language: str) -> None:
    assert found(notebook(code("x <- = 1"), language=language)) == []


def test_python_2_is_another_language() -> None:
    content = json.loads(notebook(code("print 1")))
    content["metadata"]["language_info"] = {"name": "python", "version": "2.7.12"}
    assert found(json.dumps(content).encode()) == []


def test_the_third_version_of_the_format_is_read() -> None:
    cells = [
        {"cell_type": "markdown", "source": "x"},
        {"cell_type": "code", "input": [ON_GPU, MEETS], "language": "python", "prompt_number": 1},
    ]
    data = json.dumps({"worksheets": [{"cells": cells}], "nbformat": 3}).encode()
    assert "cell 2:4:5 DEV202" in places(data)


def test_a_cell_that_is_no_python_is_one_finding_and_the_others_are_read() -> None:
    data = notebook(code(ON_GPU), code("def f(:\n  pass\nx = 1 +"), code(MEETS))
    assert [each for each in places(data) if "DEV103" not in each] == [
        "cell 2:1:7 DEV001",
        "cell 3:2:5 DEV202",
    ]


@pytest.mark.parametrize("first", ['s = """', "f(", "x = 1 + \\", "if x:"])
def test_a_cell_ends_where_it_ends(first: str) -> None:
    """What one leaves open isn't closed by the next one."""
    data = notebook(code(first), code('"""\n)\n2\n    pass'.replace("\n", "\n")))
    assert [each.split(":")[0] for each in places(data)] == ["cell 1", "cell 2"]


def test_a_coding_line_means_nothing_in_a_notebook() -> None:
    data = notebook(code("# coding: latin-1\ns = 'é'; " + ON_GPU.replace("\n", "; ")))
    assert "cell 1:2:49 DEV103" in places(data)


def test_await_stands_at_the_top() -> None:
    assert found(notebook(code("x = await f()\nasync with g() as h:\n    pass"))) == []


def test_a_cell_that_is_indented_as_a_whole_is_no_error() -> None:
    assert found(notebook(code("  x = 1\n  y = 2"))) == []


# --- magics


@pytest.mark.parametrize(
    ("line", "python"),
    [
        ("%matplotlib inline", "0                 "),
        ("!ls", "0  "),
        ("x?", "0 "),
        ("?x.y", "0   "),
        ("torch.nn.Linear??", "0                "),
        ("x = !ls -l | grep a=b", "x = __               "),
        ("a.b['c'] = %time f()", "a.b['c'] = __       "),
        ("x, y = %sql select 1", "x, y = __           "),
        ("%time y = x + 1", "0;    y = x + 1"),
        ("%time for x in y: pass", "0                     "),
        ("%timeit -n 1 f(x)", "0                "),
        ("if x:\n    !ls\n    %cd y", "if x:\n    0  \n    0    "),
        ("!pip install \\\n  x \\\r\n  y\nz", "0             \n     \r\n   \nz"),
        ("x = '''\n%a\n'''\n%b", "x = '''\n%a\n'''\n0 "),
        ("f(a\n%b, '(')\n!c", "f(a\n%b, '(')\n0 "),
        ("x = y \\\n% z\n!c", "x = y \\\n% z\n0 "),
        ("# it's\n!c", "# it's\n0 "),
        ("x = 5 % y\nz != 1", "x = 5 % y\nz != 1"),
        ("%%time\nx = 1", "      \nx = 1"),
        ("\n# a\n%%capture out\n%%time\nx = 1", "\n   \n             \n      \nx = 1"),
        ("%%bash\nls -l", "      \n     "),
        ("%%writefile a.py\nx = 1", "                \n     "),
        ("%%javascript\r\nlet x", "            \r\n     "),
        ("pip install x", "             "),
    ],
)
def test_magics_are_masked_in_place(line: str, python: str) -> None:
    result = masked(line, parses).text
    assert len(result) == len(line)
    assert parses(result)
    assert result == python


def test_what_a_timed_line_binds_is_known() -> None:
    data = notebook(code(f"{ON_GPU}y = torch.zeros(3)\n%time y = y.cuda()\nx + y"))
    assert not any("DEV202" in each for each in places(data))


def test_what_a_magic_returns_is_not_known() -> None:
    data = notebook(code(f"{ON_GPU}y = torch.zeros(3)\ny = %f y\nx + y"))
    assert not any("DEV202" in each for each in places(data))


@pytest.mark.parametrize(
    "source",
    [
        "\r\n" * 20_000 + "x = !ls",
        "%a\nx = '''" + "\\\r\n" * 20_000,
        "ls a" + " " * 200_000 + "\nx",
        "? " * 100_000 + "\nx",
        "a" + " " * 200_000 + "# x\n%b",
    ],
)
def test_masks_take_time_in_proportion(source: str) -> None:
    """Expressions that read the same text in several ways would take days over some of these."""
    assert len(masked(source, parses).text) == len(source)


def test_cells_are_counted() -> None:
    [finding] = found(notebook(*[code("")] * 10_001))
    assert (finding.code, finding.message) == ("DEV003", "more than 10,000 cells of code")


# --- where things are


def test_places_in_the_file_are_exact_whatever_is_escaped() -> None:
    line = 's = \'\\u00e9\\ud83d\\ude00\\t\\"\'; x = torch.device(\\"gpu\\")'
    data = (
        f'{{"cells": [\n\n {{"source": "import torch\\n{line}", "cell_type": "code"}}]}}'.encode()
    )
    [finding] = (each for each in found(data) if each.code == "DEV304")
    cell = finding.span.cell
    assert cell is not None
    assert (finding.span.place, cell.file_row) == ("cell 1:2:30", 3)
    row = data.decode().split("\n")[cell.file_row - 1]
    assert row[cell.file_column - 1 : cell.file_end_column - 1] == '\\"gpu\\"'


def test_suppressions_work_in_every_cell() -> None:
    plain = notebook(code(ON_GPU), code('d = torch.device("gpu")'))
    one = notebook(code(ON_GPU), code('d = torch.device("gpu")  # devlint: ignore[DEV304]'))
    last = code("# devlint: file-ignore[DEV304, DEV103]")
    everywhere = notebook(code(ON_GPU), code('d = torch.device("gpu")'), last)
    assert places(plain) == ["cell 1:2:26 DEV103", "cell 2:1:18 DEV304"]
    assert places(one) == ["cell 1:2:26 DEV103"]
    assert places(everywhere) == []


# --- what is no notebook


@pytest.mark.parametrize(
    ("data", "place", "reason"),
    [
        (b"", "1:1", "not valid JSON: a value is missing"),
        (b"import torch\n", "1:1", "not valid JSON: a value is missing"),
        (b'{"cells": [', "1:12", "not valid JSON: a value is missing"),
        (b'{"cells": []', "1:13", "a `,` or `}` is missing"),
        (b'{"cells": []} x', "1:15", "more text follows"),
        (b'{"cells": [],\n "a": nope}', "2:7", "not valid JSON"),
        (b'{"cells": [], a: 1}', "1:15", "a name in double quotes is missing"),
        (b'{"cells" []}', "1:10", "a `:` is missing"),
        (b"[]", "1:1", "JSON, but not a notebook"),
        (b"3", "1:1", "JSON, but not a notebook"),
        (b'{"metadata": {}}', "1:1", "it has no `cells`"),
        (b'{"cells": {}}', "1:11", "`cells` isn't a list"),
        (b'{"cells": [3]}', "1:12", "cell 1 isn't an object"),
        (b'{"cells": [{"cell_type": "code", "source": 3}]}', "1:44", "source of cell 1 isn't text"),
        (b'{"cells": [{"cell_type": "code", "source": [null]}]}', "1:45", "a line of cell 1"),
        (b'{"cells": [{"source": "a\nb"}]}', "1:25", "Invalid control character"),
        (b'{"cells": [{"source": "\\x"}]}', "1:24", "Invalid \\escape"),
        (b'{"a": ' + b"[" * 200_000, "1:1", "nested too deeply"),
    ],
)
def test_what_is_no_notebook_is_one_finding(data: bytes, place: str, reason: str) -> None:
    [finding] = found(data)
    assert (finding.code, finding.span.place) == ("DEV001", place)
    assert reason in finding.message


@pytest.mark.parametrize(
    "data", [b'{"cells": ["\xff"]}', notebook(code("x")).decode().encode("utf-16")]
)
def test_what_is_no_utf_8_is_one_finding(data: bytes) -> None:
    [finding] = found(data)
    assert finding.code == "DEV003"
    assert "not UTF-8" in finding.message


def test_what_jupyter_reads_is_read() -> None:
    """Numbers that are none, and keys that are there twice: the last one counts."""
    huge = "9" * 10_000
    cell = (
        '{"cell_type": "markdown", "source": "x =", "cell_type": "code", "source": "import torch"}'
    )
    data = f'{{"cells": 3, "a": [NaN, -Infinity, 1e999, {huge}], "cells": [{cell}]}}'
    assert [each.code for each in found(data.replace("3, ", "[3], ").encode())] == ["DEV001"]
    assert found(data.replace('"cells": 3, ', '"cells": [], ').encode()) == []


@pytest.mark.parametrize("source", ["s = '\ud83d'", "x = '\0'"])
def test_characters_that_python_refuses_cost_one_cell(source: str) -> None:
    data = notebook(code(source), code(ON_GPU), ensure_ascii=True)
    assert places(data) == ["cell 1:1:6 DEV001", "cell 2:2:26 DEV103"]


def test_outputs_count_for_nothing() -> None:
    """The bound on the size of files is one of the code, in a notebook."""
    big = code(ON_GPU, outputs=[{"data": {"image/png": "A" * 5_000_000}}])
    assert places(notebook(big)) == ["cell 1:2:26 DEV103"]
    [finding] = found(notebook(code("x = 1\n" * 1000)), Settings(max_file_size=1000))
    assert finding.code == "DEV003"


# --- fixes

BEFORE = "def f():\n    y = torch.zeros(3)  # é \u2028 😀\n    return x + y\n\nz = 1"


def only_cells_differ(old: bytes, new: bytes) -> None:
    """All but the source of cells of code is the same, as it is read."""

    def rest(data: bytes) -> Any:
        content = json.loads(data.decode("utf-8-sig"))
        for cell in content["cells"]:
            if cell["cell_type"] == "code":
                cell["source"] = ""
        return content

    assert rest(old) == rest(new)


@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF8])
@pytest.mark.parametrize("ensure_ascii", [True, False])
@pytest.mark.parametrize("indent", [1, 2, "\t", None])
@pytest.mark.parametrize("lines", [True, False])
@pytest.mark.parametrize("ends", ["\n", "\r\n", ""])
def test_a_fix_changes_its_line_and_no_other_byte(
    mark: bytes, ensure_ascii: bool, indent: Any, lines: bool, ends: str
) -> None:
    cells = [text("é"), code(ON_GPU), code(BEFORE)]
    for cell in cells:
        if not lines:
            cell["source"] = "".join(cell["source"])
    data = notebook(*cells, indent=indent, ensure_ascii=ensure_ascii)
    data = mark + data.rstrip(b"\n").replace(b"\n", (ends or "\n").encode()) + ends.encode()
    result = fixed(data)
    assert "DEV202" in [each.code for each in result.applied]
    assert result.data == data.replace(b"zeros(3)", b"zeros(3, device=x.device)")
    only_cells_differ(data, result.data)
    assert fixed(result.data).data == result.data


def test_a_fix_that_adds_lines_adds_strings_to_a_list() -> None:
    source = "import torch\nx = torch.ones(3)\nx.cuda()\n"
    data = notebook(code(source))
    result = fixed(data)
    assert result.applied
    content = json.loads(result.data)
    lines = content["cells"][0]["source"]
    assert all(line.count("\n") == line.endswith("\n") for line in lines)
    assert json.dumps(content, indent=1, ensure_ascii=False) + "\n" == result.data.decode()


def test_no_fix_touches_what_only_ipython_reads() -> None:
    data = notebook(code("%%time\nimport torch\nd = torch.device('cuda')\n!ls\n"))
    cells = read_notebook(data)
    index = LineIndex(cells.text)
    for start, end in ((0, 0), (3, 9), (cells.shown.index("!ls") + 1,) * 2):
        with pytest.raises(ValueError, match="only IPython"):
            cells.edited([Edit(index.span(start, end), "x")])
    two = read_notebook(notebook(code("x"), code("y")))
    both = LineIndex(two.text).span(0, 3)
    with pytest.raises(ValueError, match="several cells"):
        two.edited([Edit(both, "x")])


def test_a_diff_is_one_of_cells() -> None:
    data = notebook(text(), code(ON_GPU), code(BEFORE))
    diff = unified_diff(data, fixed(data).data, "a.ipynb").decode()
    assert diff.splitlines()[:2] == ["--- a.ipynb:cell 3\t", "+++ a.ipynb:cell 3\t"]
    assert "-    y = torch.zeros(3)" in diff
