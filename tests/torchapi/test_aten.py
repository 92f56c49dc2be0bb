"""The table of operators is what the installed torch says, and agrees with the rows of functions.

What can't be asked of a build without CUDA is asked where there is one: the functions around its
kernels need no GPU to compare devices, the kernels themselves do.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torchapi import meetings, samples
from torchapi.meetings import RefusalError, UndecidedError
from torchapi.samples import ROWS, Sample, of_effect

from devlint.torchapi import Effect, aten
from devlint.torchapi.aten import Check, Operator
from tools import device_probe, operators
from tools.device_probe import ITERATOR, OUTPUT, Answer

pytestmark = pytest.mark.filterwarnings("ignore")

TABLE = aten.load()
EVERY = [each for name in TABLE.names() if (each := TABLE.operator(name))]
PINNED = pytest.mark.skipif(
    TABLE.torch != operators.RELEASE, reason="the table is of another release of torch"
)


def of_check(*checks: Check) -> Iterator[Operator]:
    return (each for each in EVERY if each.check in checks)


# --- the data --------------------------------------------------------------------------------


@PINNED
def test_the_data_is_what_the_installed_torch_makes(capsys: pytest.CaptureFixture[str]) -> None:
    assert operators.main(["--check"]) == 0
    assert capsys.readouterr().out == ""


@PINNED
def test_data_that_differs_is_out_of_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = json.loads(operators.DATA.read_text(encoding="utf-8"))
    changed["unchecked"] = ""
    monkeypatch.setattr(operators, "DATA", tmp_path / "aten.json")
    operators.DATA.write_text(json.dumps(changed), encoding="utf-8")
    assert operators.main(["--check"]) == 1
    assert "is out of date" in capsys.readouterr().out


def test_data_of_another_torch_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(operators, "DATA", tmp_path / "aten.json")
    operators.DATA.write_text('{"torch": "1.0.0"}', encoding="utf-8")
    assert operators.main(["--check"]) == 0
    assert "is for torch 1.0.0" in capsys.readouterr().out


def test_what_is_not_in_the_table_is_none() -> None:
    assert TABLE.operator("no_such_operator") is None
    assert TABLE.operator("matmul") is None  # made of others: `mm` is there


@pytest.mark.parametrize(
    "known",
    [
        Operator("mm", Check.EXACT, ("self", "mat2"), kernel="wrapper_CUDA_mm"),
        Operator(
            "addmm.out", Check.EXACT, ("out", "self", "mat1", "mat2"),
            kernel="wrapper_CUDA_addmm_out_out",
        ),
        Operator(
            "index_select", Check.EXACT, ("self", "index"), kernel="wrapper_CUDA__index_select"
        ),
        Operator(
            "clamp.Tensor", Check.EXACT, ("self", "min", "max"), kernel="wrapper_CUDA_clamp_Tensor"
        ),
        Operator(
            "searchsorted.Tensor", Check.EXACT, ("sorted_sequence", "self"),
            kernel="wrapper_CUDA_Tensor_searchsorted",
        ),
        Operator(
            "add.Tensor", Check.ITERATOR, ("self", "other"), frozenset({"self", "other"}), 1
        ),
        Operator("add_.Tensor", Check.ITERATOR, ("self", "other"), frozenset({"other"}), 1),
        Operator(
            "addcmul", Check.ITERATOR, ("self", "tensor1", "tensor2"), frozenset({"tensor2"}), 1
        ),
        Operator(
            "where.self", Check.ITERATOR, ("condition", "self", "other"),
            frozenset({"condition", "self", "other"}), 2,
        ),
        Operator("sum.IntList_out", Check.OUTPUT, ("out", "self")),
        Operator("index.Tensor", Check.OWN),
        Operator("sin", Check.NONE),
        Operator("histogram.bin_ct", Check.NONE, cuda=False),
    ],
    ids=lambda known: known.name,
)  # fmt: skip
def test_the_table_knows(known: Operator) -> None:
    assert TABLE.operator(known.name) == known


# --- against the kernels ---------------------------------------------------------------------


def agrees(operator: Operator, answer: Answer) -> bool:
    text = {Check.ITERATOR: ITERATOR, Check.OUTPUT: OUTPUT}[operator.check]
    refused = {name for name, said in answer.refused.items() if text in said}
    scalars = frozenset(answer.scalars) & set(operator.arguments)
    most = answer.most if scalars else 0
    allowed = (operator.scalars, operator.most)
    return refused == set(operator.arguments) and (scalars, most) == allowed


@PINNED
@pytest.mark.parametrize(
    "name",
    [
        "add.Tensor", "add_.Tensor", "add.out", "bitwise_and.Tensor", "pow.Tensor_Tensor",
        "div.Tensor_mode", "mse_loss", "addcdiv", "heaviside", "eq.Tensor", "maximum", "cumsum.out",
        "clamp_min.Tensor_out", "rsub.Tensor", "index_fill_.int_Scalar", "_foreach_mul.List",
        "where.self", "where.self_out",
    ],
)  # fmt: skip
def test_the_iterator_says_what_the_table_says(name: str) -> None:
    operator = TABLE.operator(name)
    assert operator is not None
    answer = device_probe.ask([name])[name]
    assert answer.failure == ""
    assert agrees(operator, answer)


def test_an_operator_that_never_ends_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_probe, "LONGEST", 0.01)  # before Python itself is there
    answers = device_probe.ask(["add.Tensor", "mm"])
    assert list(answers) == ["add.Tensor", "mm"]
    assert all(answer.failure for answer in answers.values())


def test_the_dispatcher_knows_the_operators() -> None:
    """Those without a kernel for CUDA have one for the CPU, and none that is for all devices."""
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    for each in EVERY:
        name = f"aten::{each.name}"
        if not each.cuda:
            assert has_kernel(name, "CPU") or has_kernel(name.replace("_aa", "_aa.out"), "CPU")
            assert not has_kernel(name, "CompositeImplicitAutograd"), name
            assert not has_kernel(name, "CompositeExplicitAutograd"), name
        if torch.version.cuda:
            assert has_kernel(name, "CUDA") is each.cuda, name


@PINNED
@pytest.mark.skipif(torch.version.cuda is None, reason="a build of torch for CUDA is needed")
def test_the_functions_around_the_kernels_for_cuda_say_what_the_table_says() -> None:
    asked = 0
    for each in of_check(Check.EXACT):
        probe = device_probe.Probe(each.name, "CUDA", "meta")
        tensors = dict.fromkeys(probe.tensors, ((2, 2), "float32"))
        for name in each.arguments[1:]:
            places = {**dict.fromkeys(tensors, "meta"), name: "cpu"}
            assert probe.call(places, tensors) == (
                "Expected all tensors to be on the same device, "
                f"but got {name} is on cpu, different from other tensors on meta "
                f"(when checking argument in method {each.kernel})"
            )
            asked += 1
    assert asked > 1000


@PINNED
@pytest.mark.skipif(not torch.cuda.is_available(), reason="a GPU is needed")
def test_the_kernels_for_cuda_say_what_the_table_says() -> None:
    checked = list(of_check(Check.ITERATOR))
    answers = device_probe.ask([each.name for each in checked], "", "cuda")
    wrong = [answers[each.name] for each in checked if not agrees(each, answers[each.name])]
    assert wrong == []


# --- against the rows ------------------------------------------------------------------------

CPP = "C++ looks at the devices before any operator does"
TRUE_ALL_THE_SAME = {
    "torch.block_diag": CPP,
    "torch.meshgrid": CPP,
    "torch.Tensor.inner": CPP,
    "torch.inner": CPP,
    "torch.Tensor.quantile": CPP,
    "torch.quantile": CPP,
    "torch.Tensor.nanquantile": CPP,
    "torch.nanquantile": CPP,
    "torch.nn.functional.scaled_dot_product_attention": "a mask of no dimensions is no mask",
    "torch.Tensor.histogram": "it has no kernel for CUDA",
    "torch.histogram": "it has no kernel for CUDA",
    "torch.Tensor.diff": "its sample asks for no difference at all",
    "torch.diff": "its sample asks for no difference at all",
    **{
        f"torch.{name}": "beside a bound that is a number, another one is read as a number too"
        for stem in ("clamp", "clip", "clamp_", "clip_")
        for name in (stem, f"Tensor.{stem}")
    },
    **{
        f"torch.{name}": "C++ looks at the types, that of CUDA among them, before any operator does"
        for stem in ("conv1d", "conv2d", "conv_transpose1d", "conv_transpose2d")
        for name in (stem, f"nn.functional.{stem}")
    },
}
"""Rows that the operators of their samples don't bear out."""


@pytest.fixture(scope="module")
def found() -> dict[str, Sample]:
    """A sample with two tensors or more for each row that joins, where trying finds one."""
    found: dict[str, Sample] = {}
    last: dict[str, Sample] = {}
    for name, row in of_effect(Effect.JOIN):
        stem = name.rpartition(".")[2].strip("_")
        sample = samples.find(row, row.operands, last.get(stem))
        if sample is not None:
            last[stem] = sample
            if len(list(tensors(sample.args))) > 1 and name not in TRUE_ALL_THE_SAME:
                found[name] = sample
    return found


def tensors(args: Sequence[Any]) -> Iterator[tuple[int, Tensor]]:
    """Each tensor with the position of the argument that it is, or is in."""
    for position, value in enumerate(args):
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, Tensor):
                yield position, item


def outcome(sample: Sample, near: int, scalars: tuple[int, ...] = ()) -> str:
    """What happens where the first tensor at `near` is on the CPU and the others aren't, those at
    `scalars` 0-dimensional: "passes", "refused", "undecided", or "" where no device allows it."""

    def shaped(position: int, tensor: Tensor) -> Tensor:
        return tensor.flatten()[0].clone() if position in scalars else tensor.clone()

    try:
        sample.call(sample.mapped(shaped))
    except samples.REFUSALS:
        return ""
    args = sample.mapped(shaped)
    given = list(tensors(args))
    first = next(tensor for position, tensor in given if position == near)
    places = [(each, meetings.HERE if each is first else meetings.FAR) for _, each in given]
    try:
        meetings.meet(lambda: sample.function(*args), places)
    except RefusalError:
        return "refused"
    except UndecidedError:
        return "undecided"
    return "passes"


@PINNED
def test_rows_that_join_come_down_to_operators_that_refuse(found: dict[str, Sample]) -> None:
    wrong = []
    for name, sample in found.items():
        outcomes = {place: outcome(sample, place, ()) for place in sample.places}
        # A 0-dimensional sample may be allowed what others are not: the next test is about that.
        shaped = {place for place, each in tensors(sample.args) if each.dim() > 0}
        if any(outcomes[place] == "passes" for place in shaped & set(outcomes)):
            wrong.append((name, outcomes))
    assert wrong == []
    assert len(found) > 350


@PINNED
def test_rows_let_scalars_be_where_the_operators_do(found: dict[str, Sample]) -> None:
    wrong, decided = [], 0
    for name, sample in found.items():
        every = tuple(position for position, _ in tensors(sample.args))
        outcomes = {
            outcome(sample, place, scalars)
            for place in sample.places
            for scalars in ((place,), every)
        } - {""}
        if not outcomes or "undecided" in outcomes:
            continue
        decided += 1
        if ("passes" in outcomes) is not ROWS[name].free_scalars:
            wrong.append((name, ROWS[name].free_scalars))
    assert wrong == []
    assert decided > 250
