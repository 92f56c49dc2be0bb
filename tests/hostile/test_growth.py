"""Input that asks for more time or memory than it is long: it is read in seconds, or refused in one
sentence."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from driver.conftest import BAD_DEVICE, CLEAN, Project

from devlint.config.configuration import Configuration
from devlint.flow.bodies import occasions
from devlint.flow.domain.lattice import Device
from devlint.flow.domain.values import Value
from devlint.flow.frames import steps
from devlint.flow.frames.files import File
from devlint.flow.frames.frame import Frame
from devlint.lint import check
from devlint.model.findings import Finding, Level, Span
from devlint.model.fingerprint import fingerprints
from devlint.project import neighbours
from devlint.project.plan import prepare
from devlint.report import full_format
from devlint.report.context import Context, Summary
from devlint.safety import files

SETTINGS = Configuration(isolated=True).for_folder("/")

DEEP = 3_000


def test_a_configuration_that_is_nested_too_deeply_is_one_sentence(project: Project) -> None:
    project.write({"a.py": CLEAN, "devlint.toml": f"select = {'[' * DEEP}{']' * DEEP}\n"})
    ran = project.concise()
    assert ran.code == 2
    assert ran.err == "devlint: devlint.toml: its values are nested too deeply\n"


def test_a_setting_that_is_nested_too_deeply_is_one_sentence(project: Project) -> None:
    project.write({"a.py": CLEAN})
    ran = project.concise("--config", f"select={'[' * DEEP}")
    assert ran.code == 2
    assert ran.err.endswith("its values are nested too deeply\n")
    assert "Traceback" not in ran.err


def test_a_number_too_long_to_convert_is_one_sentence(project: Project) -> None:
    project.write({"a.py": CLEAN, "devlint.toml": f"max-file-size = {'9' * 5000}\n"})
    ran = project.concise()
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert ran.err.startswith("devlint: devlint.toml: ")


@pytest.mark.parametrize("text", ["[" * 100_000, '{"version": 1, "findings": ' + "[" * 100_000])
def test_a_baseline_that_is_nested_too_deeply_is_one_sentence(project: Project, text: str) -> None:
    project.write({"a.py": CLEAN, "known.json": text})
    ran = project.concise("--baseline=known.json")
    assert ran.code == 2
    assert "known.json: it is nested too deeply for a devlint baseline" in ran.err
    assert "Traceback" not in ran.err


# --- what is worked out ----------------------------------------------------------------------

MANY_ROUNDS = (
    "a, b, c, d, e = 1, 'x', None, [1], torch.ones(1)\n"
    + "".join(f"{' ' * i}for i{i} in x:\n{' ' * (i + 1)}a=b; b=c; c=d; d=e\n" for i in range(6))
)  # fmt: skip
"""Loops inside each other, each of which takes several rounds to settle."""


def steps_of(project: Project, path: str, *before: str) -> int:
    """The steps that a file takes after others have been linted."""
    prepare.cache_clear()
    plan = prepare(SETTINGS)
    for name in (*before, path):
        file = project.folder / name
        check(file.read_bytes(), str(file), SETTINGS)
    assert plan.project is not None
    return plan.project.steps.taken


def test_a_file_that_takes_too_many_steps_is_one_entry(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "MOST_STEPS", 100)
    project.write({"a.py": f"import torch\n{MANY_ROUNDS}{BAD_DEVICE}", "b.py": BAD_DEVICE})
    ran = project.concise()
    [entry, other] = ran.out.splitlines()
    assert entry.startswith("a.py:1:1: DEV003 too much to analyse")
    assert other.startswith("b.py:3:18: DEV304")
    assert (ran.code, ran.err) == (2, "")


def test_loops_inside_each_other_end(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "MOST_STEPS", steps.MOST_STEPS // 10)
    loops = (
        f"{' ' * i}for i{i} in x:\n{' ' * (i + 1)}a=b; b=c; c=d; d=e; e=i{i}\n" for i in range(19)
    )
    first = "import torch\na, b, c, d, e = 1, 'x', None, [1], torch.ones(1)\n"
    project.write({"a.py": first + "".join(loops)})
    ran = project.concise()
    assert ": DEV003 too much to analyse" in ran.out
    assert (ran.code, ran.out.count("\n")) == (2, 1)


def kept_lists(number: int) -> str:
    """A class that keeps modules in plain lists: each is looked for in all of its methods."""
    kept = "".join(f"        self.a{i} = [nn.Linear(2, 2)]\n" for i in range(number))
    return (
        "from torch import nn\nclass M(nn.Module):\n    def __init__(self):\n"
        f"        super().__init__()\n{kept}"
    )


def loaded_arrays(number: int) -> str:
    """A function that returns an array: for each file that it loads, its statements are gone
    through."""
    loads = "".join(f"    x{i} = torch.load(path)\n" for i in range(number))
    return f"import torch\ndef read(path) -> np.ndarray:\n{loads}    return x0\n"


def long_returns(number: int) -> str:
    """A function that moves many things in one statement, and is called as often, each time with
    something else."""
    moved = ", ".join(["x.cuda()"] * number)
    return f"import torch\ndef move(x):\n    return {moved}\n" + "".join(
        f"move(y{n})\n" for n in range(number)
    )


@pytest.mark.parametrize("code", [kept_lists, loaded_arrays, long_returns])
def test_what_takes_the_square_of_its_size_takes_as_many_steps(
    project: Project, code: Callable[[int], str]
) -> None:
    project.write({"small.py": code(30), "large.py": code(120)})
    assert steps_of(project, "large.py") > 10 * steps_of(project, "small.py")


def test_a_module_that_others_hold_twice_is_met_once(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, asked = Frame.place, 0

    def counted(frame: Frame, value: Value) -> Device:
        nonlocal asked
        asked += 1
        assert asked < 100_000
        return place(frame, value)

    monkeypatch.setattr(Frame, "place", counted)
    held = "nn.Linear(3, 3)"
    source = "from torch import nn\n"
    for number in range(30):
        source += (
            f"class Net{number}(nn.Module):\n    def __init__(self):\n"
            f"        super().__init__()\n        self.part = {held}\n"
            "        self.same = self.part\n"
            "    def forward(self, x):\n        return self.same(self.part(x))\n"
        )
        held = f"Net{number}()"
    project.write({"a.py": f"{source}model = {held}.cuda()\nmodel(x.cuda())\n"})
    ran = project.concise()
    assert ran.out.count(": DEV101 ") == 2
    assert asked > 100


def test_calls_of_methods_are_searched_once_in_a_file(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched = 0
    search = occasions._asked_by_constructors

    def count(file: File) -> set[str]:
        nonlocal searched
        searched += 1
        return search(file)

    monkeypatch.setattr(occasions, "_asked_by_constructors", count)
    part = (
        "class M{0}(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "    def reset(self, x):\n        return x\n"
    )
    code = "from torch import nn\n" + "".join(part.format(i) for i in range(5))
    project.write({"a.py": code})
    check(code.encode(), str(project.folder / "a.py"), SETTINGS)
    assert searched == 1


def test_what_an_imported_file_takes_counts(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write({"a.py": "import torch\nfrom b import a\nx = torch.ones(3) + a\n"})
    project.write({"b.py": f"import torch\nx = []\n{MANY_ROUNDS}"})
    monkeypatch.setattr(steps, "MOST_STEPS", steps_of(project, "a.py") - 1)
    ran = project.concise("a.py")
    assert "a.py:1:1: DEV003 too much to analyse: the file, with what it imports" in ran.out
    assert ran.code == 2


def test_steps_are_the_same_whatever_was_read_before(project: Project) -> None:
    project.write({
        "a.py": "import torch\nfrom b import f, a\nz = f(torch.ones(3)) + a\n",
        "b.py": f"import torch\nfrom c import y, x, g\ndef f(x):\n    return g(x)\n{MANY_ROUNDS}",
        "c.py": f"import torch\n{MANY_ROUNDS}x = y = a\ndef g(x):\n    return x.cpu()\n",
    })  # fmt: skip
    fresh = steps_of(project, "a.py")
    assert fresh > 100
    for before in (["b.py"], ["c.py"], ["c.py", "b.py"], ["a.py"], ["b.py", "a.py"]):
        assert steps_of(project, "a.py", *before) == fresh


def test_what_was_given_up_is_not_kept_for_the_next_file(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write({
        "a.py": "import torch\nfrom c import y\nz = y + torch.ones(3)\n",
        "c.py": f'import torch\n{MANY_ROUNDS}y = torch.ones(3, device="cuda" if a else "cuda")\n',
    })  # fmt: skip
    path = project.folder / "a.py"

    def codes() -> set[str]:
        return {found.code for found in check(path.read_bytes(), str(path), SETTINGS).findings}

    with monkeypatch.context() as lower:
        lower.setattr(steps, "MOST_STEPS", 100)
        assert codes() == {"DEV003"}
    assert "DEV202" in codes()


@pytest.mark.parametrize(
    "line", ["{}\n", "x = [{}]\n", "x = ['é', {}]\n"], ids=["statements", "a list", "in letters"]
)
def test_findings_on_one_line_take_time_by_their_number(project: Project, line: str) -> None:
    between = ", " if "[" in line else "; "

    def seconds(number: int) -> float:
        code = line.format(between.join(["torch.load('a')"] * number))
        project.write({"a.py": f"import torch\n{code}"})
        before = time.process_time()
        assert project.concise().out.count(": DEV106 ") == number
        return time.process_time() - before

    # By their square it would be four times as long, each time.
    assert any(seconds(3000) < 3 * seconds(1500) for _ in range(3))


PROCESSES = (
    "import os\nimport torch\nimport torch.distributed as dist\n"
    "print(os.environ['LOCAL_RANK'])\nx = torch.ones(3)\nb = 'nccl'\nd = 'cuda'\n"
)


@pytest.mark.parametrize(
    "lines",
    ["b = b\n" * 60, "y = x.to(d)\n" * 2_400],
    ids=["a name that stands for itself", "a name that is used often"],
)
def test_what_a_name_may_stand_for_is_looked_up_once(project: Project, lines: str) -> None:
    code = f"{PROCESSES}{lines}dist.init_process_group(backend=b)\nx.to('cuda')\n"
    project.write({"a.py": code})
    before = time.process_time()
    assert ": DEV408 " in project.concise("--select=DEV408").out
    assert time.process_time() - before < 10


SCHEDULER = """import torch

def restore(scheduler, model):
    scheduler.load_state_dict(torch.load("a"))
    model.load_state_dict(torch.load("b"))
"""


def test_what_a_scheduler_loads_is_told_apart_from_the_rest(project: Project) -> None:
    project.write({"a.py": SCHEDULER})
    assert [line.split()[0] for line in project.concise().out.splitlines()] == ["a.py:5:27:"]


def web(files: int, code: Callable[[int], str]) -> dict[str, str]:
    """Files that import all names of each other."""
    stars = [f"from m{number} import *\n" for number in range(files)]
    return {
        f"m{number}.py": "import torch\n"
        + "".join(stars[:number] + stars[number + 1 :])
        + code(number)
        for number in range(files)
    }


def test_an_unknown_name_is_asked_for_once_in_files_that_import_each_other(
    project: Project,
) -> None:
    project.write(web(8, lambda number: "y = nowhere(torch.zeros(3).cuda())\n"))
    before = time.process_time()
    assert project.concise().out.count(": DEV101 ") == 8
    assert time.process_time() - before < 10


def test_what_stands_in_files_that_import_each_other_is_found(project: Project) -> None:
    project.write(web(8, lambda number: f"x{number} = torch.zeros(3, device='cuda:{number}')\n"))
    project.write({"a.py": "import torch\nfrom m0 import *\ny = x5 + x6\n"})
    ran = project.concise("--select=DEV202", "a.py")
    assert ran.out.startswith("a.py:3:")


def test_what_is_asked_of_other_files_counts(project: Project) -> None:
    names = "".join(f"y = nowhere{each}(torch.zeros(3))\n" for each in range(100))
    project.write(web(8, lambda number: names))
    assert steps_of(project, "m0.py") > 100 * 8


def test_each_file_of_a_project_is_searched_once_for_words(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "import torch\n\ndef {}(image: torch.Tensor):\n    return image / torch.tensor([0.2])\n"
    project.write({"pyproject.toml": "", **{f"x{each}.py": f"a{each} = 1\n" for each in range(50)}})
    project.write({f"n{each}.py": code.format(f"f{each}") for each in range(20)})
    opened: Counter[str] = Counter()
    read = files.read

    def counted(path: str, most: int) -> bytes:
        opened[Path(path).name] += 1
        return read(path, most)

    monkeypatch.setattr(neighbours.files, "read", counted)
    plan = prepare(SETTINGS)
    assert plan.neighbours is not None
    for each in range(20):
        path = str(project.folder / f"n{each}.py")
        assert plan.neighbours.mentioning(path, f"f{each}", 8) == [path]
    assert {opened[f"x{each}.py"] for each in range(50)} == {1}
    monkeypatch.setattr(neighbours, "_MOST_BYTES", 1000)
    assert plan.neighbours.mentioning(path, "f19", 8) == []


# --- what is read ----------------------------------------------------------------------------


def table(rows: int) -> str:
    return "y = {\n" + "".join(f'    "k{row}": {row},\n' for row in range(rows)) + "}\n"


def elifs(branches: int) -> str:
    return "if n < 0:\n    pass\n" + "".join(
        f"elif n == {branch}:\n    y = {branch}\n" for branch in range(branches)
    )


REFUSED = {
    "signs": ("y = " + "-" * 20_000 + "x\n", "DEV001 nested too deeply"),
    "signs apart": ("y = " + "- " * 1_100 + "x\n", "DEV001 nested too deeply"),
    "not": ("y = " + "not " * 1_100 + "x\n", "DEV001 nested too deeply"),
    "lambdas": ("y = " + "lambda: " * 1_100 + "x\n", "DEV001 nested too deeply"),
    "conditions": ("y = " + "a if b else " * 1_100 + "x\n", "DEV001 nested too deeply"),
    "powers": ("y = " + "x ** " * 1_100 + "x\n", "DEV001 nested too deeply"),
    "elif": (elifs(5_000), "DEV001 nested too deeply: more than 3000 `elif` branches"),
    "a long table": (table(100_000), "DEV003 too long: more than 150,000 tokens"),
    "a long list": ("y = [" + "1, " * 200_000 + "]\n", "DEV003 too long: more than 150,000 tokens"),
    "blank lines": ("\n" * 400_000, "DEV003 too long: more than 150,000 tokens"),
}


@pytest.mark.parametrize(("code", "entry"), REFUSED.values(), ids=REFUSED)
def test_what_takes_too_much_to_read_is_one_entry(project: Project, code: str, entry: str) -> None:
    project.write({"a.py": f"import torch\n{code}{BAD_DEVICE}"})
    before = time.process_time()
    ran = project.concise()
    assert time.process_time() - before < 20
    assert ran.out.count("\n") == 1
    assert f": {entry}" in ran.out
    assert (ran.code, ran.err) == (2, "")


READ = {
    "a long table": table(100_000),
    "separate branches": "if a:\n    y = 1\nelif b:\n    y = 2\n" * 3_100,
    "differences": "y = " + " - ".join(["x"] * 1_500) + "\n",
    "signs in a list": "y = [" + "-1, " * 3_000 + "]\n",
}


@pytest.mark.parametrize("code", READ.values(), ids=READ)
def test_what_is_long_and_plain_is_read(project: Project, code: str) -> None:
    project.write({"a.py": f"import torch\n{code}"})
    assert project.concise().code == 0


# --- what is said ----------------------------------------------------------------------------


NUMBER = 10_000
LINE = "x = [" + "f(a), " * NUMBER + "]\n"
ON_ONE_LINE = [
    Finding("a.py", "DEV304", "invalid-device", "none", Level.ERROR, span, statement=(1, 1))
    for span in (Span(at, at + 4, 1, at + 1, 1, at + 5) for at in range(5, 5 + 6 * NUMBER, 6))
]


def test_findings_on_one_line_are_drawn_from_what_is_around_them() -> None:
    context = Context(Summary(files=1), False, lambda filename: LINE)
    before = time.process_time()
    drawn = full_format.render(ON_ONE_LINE, context)
    assert time.process_time() - before < 10
    assert drawn.count("^^^^") == NUMBER


def test_a_statement_with_many_findings_is_hashed_once() -> None:
    before = time.process_time()
    marks = fingerprints(ON_ONE_LINE, lambda filename: LINE, Path())
    assert time.process_time() - before < 5
    assert len(set(marks)) == NUMBER


CODE = "```python\nimport torch\nd = torch.device('gpu')\n```\n"
ROWS = 20_000


@pytest.mark.parametrize(
    "text",
    [
        "```js\nx\n```\n" * 30_000,
        "> ```python\n\n" * ROWS,
        "- ```python\n" * ROWS,
        "-\t```python\n \tx\n" * (ROWS // 4),
        ">" * 100_000 + "\n\n",
        "- " * 50_000 + "\n\n",
        "> - " * 10_000 + "\n\n",
        "`" * 1_000_000 + " `\n\n",
        f"```python\n{' ' * 1_000_000}\n```\n",
        f"- ```python\n\t{' ' * 1_000_000}x\n\n",
        "[a\n" * ROWS + "\n",
        "<a>\n\n" * ROWS,
        "```python\nx = '\0'\n```\n" * ROWS,
    ],
    ids=range(13),
)
def test_a_page_is_read_in_seconds(project: Project, text: str) -> None:
    project.write({"a.md": text + CODE})
    began = time.monotonic()
    ran = project.concise("--extension=md:markdown", "a.md")
    assert time.monotonic() - began < 30
    row = 3 + text.count("\n")
    assert ran.out == f"a.md:{row}:18: DEV304 {ran.out.partition('DEV304 ')[2]}"


def test_fences_beyond_a_bound_are_one_sentence(project: Project) -> None:
    project.write({"a.md": "```js\nx\n```\n" * 100_000 + CODE})
    ran = project.concise("--extension=md:markdown", "a.md")
    assert (ran.code, ran.out.count("\n")) == (2, 1)
    assert "DEV003 too long: more than 150,000 tokens" in ran.out


@pytest.mark.parametrize("block", ["```python\nx\n```\n", "~~~py\nimport torch\n\n~~~\n"])
def test_blocks_beyond_a_bound_are_one_sentence(project: Project, block: str) -> None:
    project.write({"a.md": block * 10_001})
    ran = project.concise("--extension=md:markdown", "a.md")
    assert (ran.code, ran.out) == (2, "a.md:1:1: DEV003 more than 10,000 blocks of Python\n")


@pytest.mark.parametrize(("count", "found"), [(8, True), (40, False)])
def test_a_function_is_parted_by_its_last_tests(project: Project, count: int, found: bool) -> None:
    """Each `if task.is_done(x): return torch.zeros(3)` parts the rest of a function once more."""
    ways = (f"    if task.is_{n}(x):\n        return torch.zeros({n})\n" for n in range(count))
    text = f"""import torch
def first(task, x):
    x = x.cuda()
{"".join(ways)}    return x
def main(task, x):
    return torch.cat([x.cuda(), first(task, x)])
"""
    project.write({"a.py": text})
    told = project.concise("--select=DEV2", "--pedantic").out
    assert ("DEV202" in told) is found
