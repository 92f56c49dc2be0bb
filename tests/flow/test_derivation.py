"""How it is known where things are: the steps, their words, and what findings tell of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from textwrap import indent

import pytest
from literate import Case, file_cases

from devlint import torchapi
from devlint.config.settings import Settings, check_layer, merge
from devlint.flow.domain.derivation import Sort, Step, first, is_making, moved, shown, steps
from devlint.flow.domain.lattice import CPU, CUDA
from devlint.flow.domain.wording import hops
from devlint.flow.facts import UNKNOWN, Fact, Kind, Operand
from devlint.flow.interpreter import interpret
from devlint.flow.surroundings import Text
from devlint.lint import check_source
from devlint.model import ir
from devlint.model.reports import Hop
from devlint.rules import all_rules
from devlint.source.errors import SourceError
from devlint.source.lower import lower

HERE, THERE = ir.Name("here"), ir.Name("there")
SETTINGS = merge([check_layer("", "", {"select": ["ALL"], "pedantic": True})])


def test_each_sort_has_a_name_of_its_own() -> None:
    names = [sort.value for sort in Sort]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z]+\.[a-z]+(-[a-z]+)*", name) for name in names)


def test_steps_are_read_oldest_first_and_hidden_ones_are_not_shown() -> None:
    made = Step(Sort.DEFAULT, HERE, device=CPU)
    passed = Step(Sort.CALL, THERE, made)
    last = Step(Sort.MOVE_NAMED, THERE, passed, CUDA)
    assert steps(last) == [made, passed, last]
    assert hops(last) == (
        Hop(HERE, "made without `device=` here: on the CPU"),
        Hop(THERE, "moved to cuda here"),
    )
    assert [hop.sort for hop in hops(last)] == ["source.default-device", "move.named"]
    assert shown(passed) is made
    assert first(last) is HERE


def test_what_is_moved_once_more_forgets_where_it_was_moved_before() -> None:
    made = Step(Sort.DEFAULT, HERE, device=CPU)
    first_move = moved(HERE, CUDA, made)
    passed = Step(Sort.CALL, HERE, first_move)
    again = moved(THERE, CPU, passed)
    assert steps(passed) == [made, first_move, passed]
    assert steps(again) == [made, again]


def test_steps_that_are_not_shown_do_not_make_a_module_a_moved_one() -> None:
    made = Step(Sort.MODULE, HERE, Step(Sort.CALL, HERE), CPU)
    assert is_making(made)
    assert is_making(Step(Sort.HELD, THERE, made))
    assert not is_making(Step(Sort.MOVE_HOST, THERE, made, CPU))
    assert not is_making(Step(Sort.CALL, HERE))
    assert not is_making(None)


# --- what findings tell ----------------------------------------------------------------------


def _only(code: str) -> Settings:
    return merge([check_layer("", "", {"select": [code], "pedantic": True})])


def derivation(source: str, code: str) -> set[str]:
    """The sorts of the only finding of a rule."""
    found = check_source(source.encode(), "example.py", _only(code))
    (finding,) = (each for each in found if each.code == code)
    assert list(finding.sorts) == sorted(set(finding.sorts))
    return set(finding.sorts)


def module(body: str) -> str:
    return "import torch\nfrom torch import nn\n\nclass Net(nn.Module):\n" + indent(body, "    ")


@pytest.mark.parametrize(
    ("keyword", "kind"), [("load_in_8bit", "an 8-bit"), ("load_in_4bit", "a 4-bit")]
)
def test_how_a_model_was_loaded_is_told(keyword: str, kind: str) -> None:
    load = f"AutoModel.from_pretrained('a', {keyword}=True)"
    source = f"from transformers import AutoModel\n\nmodel = {load}\nmodel.to('cuda')\n"
    (finding,) = check_source(source.encode(), "example.py", _only("DEV308"))
    assert [step.message for step in finding.trace] == [f"loaded as {kind} model here"]


FOLLOWS = "convention.forward-input"
FRESH = "source.default-device"


@pytest.mark.parametrize(
    ("source", "code", "sorts"),
    [
        (
            module("def forward(self, x):\n    return x.sum() + x.relu() + torch.ones(3)\n"),
            "DEV203",
            {FOLLOWS, FRESH, "convention.tensor-by-use"},
        ),
        (
            module("def forward(self, x: torch.Tensor):\n    return x + torch.ones(3)\n"),
            "DEV203",
            {FOLLOWS, FRESH, "contract.annotation"},
        ),
        (
            "import torch\n\ndef add(x: torch.Tensor, device):\n    return x + torch.ones(3)\n",
            "DEV203",
            {"context.no-call-seen", FRESH, "contract.annotation"},
        ),
        (
            "import torch\n\ndef add(x: torch.Tensor):\n    return x + torch.ones(3)\n\n"
            "def use(x, device):\n    return add(x.to(device)), add(x.cpu())\n",
            "DEV203",
            {"context.callers-may-give-accelerators", FRESH, "contract.annotation"},
        ),
        (
            module(
                "def __init__(self):\n    super().__init__()\n    self.mask = torch.ones(3)\n"
                "    self.linear = nn.Linear(3, 3)\n\n"
                "def forward(self, x):\n    return self.linear(x) + self.mask\n"
            ),
            "DEV401",
            {FRESH, "heap.attribute-of-other-method"},
        ),
        (
            "from torch import nn\nfrom torch.utils.data import DataLoader\n\n"
            "model = nn.Linear(3, 3).cuda()\nfor x, y in DataLoader([]):\n    model(x)\n",
            "DEV201",
            {"convention.loader-on-host", "source.loaded", "move.named"},
        ),
        (
            "import torch\n\nx = torch.ones(3).cuda()\n\n"
            "def two():\n    return torch.ones(3)\n\ny = two() + x\n",
            "DEV202",
            {"summary.call", FRESH, "move.named"},
        ),
        (
            "import torch\n\ndef run(model):\n    weight = next(model.parameters())\n"
            "    return weight + torch.ones(3)\n",
            "DEV203",
            {"heap.held-by-module", FRESH},
        ),
    ],
)
def test_a_finding_tells_how_both_sides_are_known(source: str, code: str, sorts: set[str]) -> None:
    assert derivation(source, code) == sorts


CASES = [
    case
    for path in sorted((Path(__file__).parents[1] / "cases").glob("dev[245]_*.md"))
    for case in file_cases(path)
    if case.errors
]
PLACED = (
    Kind.TENSOR, Kind.BATCH, Kind.PLACED, Kind.MODULE, Kind.ENCODING, Kind.LOADER, Kind.GENERATOR,
)  # fmt: skip


def operands(part: object) -> Iterator[Operand]:
    if isinstance(part, Operand):
        yield part
    elif isinstance(part, Fact):
        for field in fields(part):
            yield from operands(getattr(part, field.name))
    elif isinstance(part, tuple):
        for each in part:
            yield from operands(each)


def underived(case: Case) -> Iterator[str]:
    """What has a place in a fact that is reported, and no step says how that is known."""
    try:
        text = Text(lower(case.source, "example.py"))
    except SourceError:
        return
    for fact in interpret(text, torchapi.load(), frozenset(case.settings.device_types)):
        reported = any(list(rule.check(fact)) for rule in all_rules() if rule.on is type(fact))
        for operand in operands(fact) if reported else ():
            if operand.kind in PLACED and operand.device != UNKNOWN and not operand.steps:
                yield f"{case.id}: `{operand}` is on {operand.device}"


def test_every_place_in_a_finding_is_derived() -> None:
    assert len(CASES) > 100
    assert [hole for case in CASES for hole in underived(case)] == []
