"""The interpreter ends, quickly, and says the same each time."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import permutations
from pathlib import Path

import pytest
from literate import FILENAME

from devlint import torchapi
from devlint.config.settings import check_layer, merge
from devlint.flow.interpreter import interpret
from devlint.flow.surroundings import Text
from devlint.lint import check_source
from devlint.model.findings import Finding
from devlint.source.lower import lower
from devlint.source.spots import File, span_of

SETTINGS = merge([check_layer("", "", {"select": ["ALL"], "pedantic": True})])
LONGEST = 120.0
"""Seconds of the processor: some fifty times what the slowest of these takes."""


def lint(source: str) -> list[Finding]:
    return check_source(source.encode(), FILENAME, SETTINGS)


def facts(source: str) -> list[tuple[str, int, str]]:
    """The kind of each fact, its row, and where it was seen."""
    file = File(FILENAME, source)
    return [
        (type(fact).__name__, span.row, str(fact.context))
        for fact in interpret(Text(lower(source, FILENAME)), torchapi.load())
        if (span := span_of(fact.node.origin, file))
    ]


def codes(findings: list[Finding]) -> set[str]:
    return {finding.code for finding in findings}


# --- inputs that could take for ever ---------------------------------------------------------


def mutual_recursion() -> str:
    return """
import torch

def even(x, n):
    return x if n == 0 else odd(x.cuda(), n - 1) + odd(x, n)

def odd(x, n):
    return x if n == 0 else even(x.cpu(), n - 1) + even(x, n)

y = even(torch.ones(3), 9)
"""


def functions_that_call_each_other() -> str:
    """200 functions, each of which calls twenty others."""
    lines = ["import torch"]
    for number in range(200):
        lines.append(f"def f{number}(x):")
        lines += [
            f"    x = f{other}(x) + f{(other + number) % 200}(x)" for other in range(0, 200, 20)
        ]
        lines.append("    return x.cuda()")
    return "\n".join([*lines, "y = f0(torch.ones(3))"])


def nested_loops() -> str:
    """Thirty loops inside each other, each of which changes what the next one sees."""
    lines = ["import torch", *(f"x{n} = torch.ones(3)" for n in range(31))]
    for depth in range(30):
        indent = " " * depth
        lines += [f"{indent}for i{depth} in range(9):", f"{indent} x{depth} = x{depth + 1}"]
    return "\n".join([*lines, " " * 30 + "x30 = x30.cuda()"])


def branches_in_sequence() -> str:
    """25 branches: 2 ** 25 paths."""
    names = ", ".join(f"a{n}" for n in range(25))
    lines = ["import torch", f"def f({names}):", " x, y = torch.ones(3), torch.ones(3)"]
    for number in range(25):
        lines += [f" if a{number}:", "  x = y.cuda()", " else:", "  y = x.cpu()"]
    return "\n".join([*lines, " return x + y"])


def branches_inside_each_other() -> str:
    lines = ["import torch", "def f(a):", " x = torch.ones(3)"]
    for depth in range(1, 60):
        lines += [" " * depth + f"if a.b{depth}:", " " * (depth + 1) + "x = x.cuda()"]
    return "\n".join([*lines, " return x"])


def elif_chain() -> str:
    """400 branches of one `if`: more are refused by the first releases of Python 3.12."""
    lines = ["import torch", "def f(kind):", " if kind == 0:", "  x = torch.ones(3)"]
    for number in range(1, 400):
        lines += [f" elif kind == {number}:", "  x = torch.ones(3).cuda()"]
    return "\n".join([*lines, " return x"])


def long_list() -> str:
    tensors = ", ".join(["torch.ones(3)"] * 3000)
    return f"import torch\nxs = [{tensors}]\nfor x in xs:\n    y = x.cuda()\n"


def large_dict() -> str:
    items = ", ".join(f"'k{n}': torch.ones(3)" for n in range(5000))
    return f"import torch\nd = {{{items}}}\nfor k, v in d.items():\n    d[k] = v.cuda()\n"


def many_stores() -> str:
    lines = ["import torch", "d = {}", *(f"d['k{n}'] = torch.ones(3).cuda()" for n in range(2000))]
    return "\n".join(lines)


def growing_list() -> str:
    """A list that holds itself, round after round."""
    return """
import torch

def f(items):
    kept = [torch.ones(3).cuda()]
    for item in items:
        kept = [kept, kept]
        kept.append(kept)
    return kept
"""


def handlers_inside_each_other() -> str:
    lines = ["import torch", "x = torch.ones(3)"]
    lines += [" " * depth + "try:" for depth in range(30)]
    lines.append(" " * 30 + "x = x.cuda()")
    for depth in reversed(range(30)):
        lines += [" " * depth + "except OSError:", " " * (depth + 1) + "x = x.cpu()"]
    return "\n".join(lines)


def line_of_descent() -> str:
    """100 classes, each the base of the next."""
    lines = ["import torch", "class C0:", " pass"]
    for number in range(1, 100):
        lines += [f"class C{number}(C{number - 1}):", f" def f{number}(self):"]
        lines.append(f"  return self.f{max(1, number - 1)}().cuda()")
    return "\n".join([*lines, "C99().f99()"])


def long_chain() -> str:
    return "import torch\nx = torch.ones(3)" + ".cuda().cpu()" * 90


def long_condition() -> str:
    test = " and ".join(f"a.b{n}" for n in range(150))
    return f"import torch\ndef f(a):\n    x = torch.ones(3)\n    if {test}:\n        x = x.cuda()\n"


PATHOLOGICAL = [
    mutual_recursion,
    functions_that_call_each_other,
    nested_loops,
    branches_in_sequence,
    branches_inside_each_other,
    elif_chain,
    long_list,
    large_dict,
    many_stores,
    growing_list,
    handlers_inside_each_other,
    line_of_descent,
    long_chain,
    long_condition,
]


@pytest.mark.parametrize("make", PATHOLOGICAL, ids=lambda make: make.__name__)
def test_it_ends_and_goes_on_to_find_things(make: Callable[[], str]) -> None:
    started = time.process_time()
    found = lint(make())
    assert time.process_time() - started < LONGEST
    assert codes(found) & {"DEV101", "DEV102"}, "`.cuda()` without a guard is found there as well"
    assert "DEV001" not in codes(found)


GROWING = {
    "statements": (
        "x{0} = torch.ones(3)\nif args.a{0}:\n    x{0} = x{0}.to(args.device)\ny{0} = x{0} + 1\n"
    ),
    "functions": "def f{0}(x, device):\n    y = torch.ones(3)\n    return x + y\n",
}


@pytest.mark.parametrize("piece", GROWING.values(), ids=GROWING)
def test_time_grows_with_the_length_of_a_file(piece: str) -> None:
    """Four times the code takes less than ten times the time."""

    def seconds(count: int) -> float:
        source = "import torch\n" + "".join(piece.format(n) for n in range(count))
        module = lower(source, FILENAME)
        table = torchapi.load()
        started = time.process_time()
        interpret(Text(module), table)
        return time.process_time() - started

    def least(count: int) -> float:
        """The least of several: a run may have to wait for the collector, or for the machine."""
        return min(seconds(count) for _ in range(4))

    seconds(50)
    assert least(1200) < 10 * max(least(300), 0.01)


# --- the same answer each time ---------------------------------------------------------------

UNRELATED = (
    """
def train(dataset, device):
    model = nn.Linear(3, 3).to(device)
    for x, y in DataLoader(dataset):
        loss = model(x).sum() + y
""",
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(3, 3)]
        self.mean = torch.zeros(3)

    def forward(self, x):
        return self.layers[0](x) - self.mean
""",
    """
def plot(x):
    if torch.cuda.is_available():
        x = x.cuda()
    return x.numpy()
""",
    """
def combine(flag, other):
    a, b = torch.ones(3), torch.ones(3)
    if flag:
        a = a.cuda()
    elif other:
        b = b.cuda()
    a.to("cuda:9")
    return a + b
""",
)
HEAD = "import torch\nfrom torch import nn\nfrom torch.utils.data import DataLoader\n"


def told(source: str) -> list[tuple[str, str, str]]:
    """The findings without their rows: the source of the row stands for it."""
    lines = source.split("\n")
    found = lint(source)
    return sorted((f.code, lines[f.span.row - 1].strip(), f.message) for f in found)


def test_the_order_of_unrelated_code_does_not_matter() -> None:
    expected = told(HEAD + "".join(UNRELATED))
    assert len({code for code, _, _ in expected}) >= 4
    for order in permutations(UNRELATED):
        assert told(HEAD + "".join(order)) == expected


def test_each_piece_says_alone_what_it_says_among_others() -> None:
    alone = sorted(item for piece in UNRELATED for item in told(HEAD + piece))
    assert alone == told(HEAD + "".join(UNRELATED))


def test_a_condition_is_told_of_once() -> None:
    found = facts(
        "from torch import nn\n"
        "def f(make):\n"
        "    model = nn.Linear(2, 2)\n"
        '    return "cuda" if model.device else "cpu"\n'
    )
    assert {"LossyDefault", "AttributeRead"} <= {kind for kind, _, _ in found}
    assert len(found) == len(set(found))


@pytest.mark.parametrize(("names", "given"), [("device", "device"), ("n, device", "device or n")])
def test_a_device_that_is_replaced_is_one_by_the_name_of_its_parameter(
    names: str, given: str
) -> None:
    found = facts(
        "import torch\n"
        "class A:\n"
        f"    def __init__(self, {names}):\n"
        f"        self.device = torch.device({given})\n"
        '        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'
    )
    told = [context for kind, _, context in found if kind == "IgnoredDevice"]
    assert ["by=('names-for-the-device',)" in each for each in told] == [True]


def test_interpreting_twice_gives_equal_facts() -> None:
    source = HEAD + "".join(UNRELATED)
    once = facts(source)
    assert once == facts(source)
    assert {"Join", "ModuleCall", "Move", "KeptModules"} <= {kind for kind, _, _ in once}


def test_hash_seeds_do_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "example.py"
    path.write_text(HEAD + "".join(UNRELATED) + mutual_recursion())
    options = ["--select", "ALL", "--no-cache", "--isolated", "--output-format", "json"]
    answers = {
        subprocess.run(
            [sys.executable, "-m", "devlint", "check", *options, str(path)],
            capture_output=True,
            text=True,
            check=False,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
        ).stdout
        for seed in ("0", "1", "31337")
    }
    assert len(answers) == 1
    assert '"DEV201"' in answers.pop()


def test_what_many_calls_use_up_is_not_taken_from_others() -> None:
    steps = "".join(f"    x = x * {number}\n" for number in range(20))
    source = f"import torch\nfrom torch import nn\n\ndef step(model, x):\n{steps}    return x\n"
    for number in range(300):
        source += f"""
def made_{number}(device):
    return torch.ones(3, device=device)

def apart_{number}(device):
    step(nn.Linear(3, 3).to(device), torch.zeros(3, device=device))
    return made_{number}(device) + torch.zeros(3)
"""
    found = [finding for finding in lint(source) if finding.code == "DEV202"]
    assert len(found) == 300
