"""The rule about processes that share a GPU: levels, steps and fixes."""

from __future__ import annotations

import pytest

from devlint.config.settings import check_layer, merge
from devlint.lint import check_source
from devlint.model.findings import Finding, Level, Safety

ALONE = {"select": ["DEV408"], "follow-imports": False}
SETTINGS = merge([check_layer("x", "", ALONE)])
PROGRAM = """\
import torch
import torch.distributed as dist

def main({arguments}):
    dist.init_process_group("nccl"{options})
    {uses}
"""


def finding(uses: str, arguments: str = "net, local_rank", options: str = "") -> Finding:
    text = PROGRAM.format(arguments=arguments, options=options, uses=uses)
    (found,) = check_source(text.encode(), "train_net.py", SETTINGS)
    return found


def test_what_goes_to_gpu_0_is_an_error_with_the_start_of_the_group() -> None:
    found = finding("net.cuda()")
    assert (found.level, found.span.row) == (Level.ERROR, 6)
    assert [(step.span.row, step.message) for step in found.trace] == [
        (5, "the process group is started here")
    ]
    assert "`torch.cuda.set_device(local_rank)`" in found.help


def test_what_works_on_the_current_gpu_is_a_warning_at_the_start_of_the_group() -> None:
    found = finding("net.cuda(local_rank); torch.cuda.Stream()")
    assert (found.level, found.span.row) == (Level.WARNING, 5)
    assert [step.span.row for step in found.trace] == [6]
    assert found.fix is not None


def test_what_is_loaded_is_a_warning_that_no_choice_of_a_gpu_fixes() -> None:
    load = "net.load_state_dict(torch.load(path))"
    found = finding(f"net.cuda(local_rank); {load}", "net, local_rank, path")
    assert (found.level, found.span.row, found.fix) == (Level.WARNING, 6, None)
    assert "map_location" in found.help


@pytest.mark.parametrize(
    ("arguments", "options", "text", "safety"),
    [
        ("net, local_rank", "", "set_device(local_rank)", Safety.SAFE),
        (
            "net, rank, world", ", rank=rank, world_size=world",
            "set_device(rank % torch.cuda.device_count())", Safety.UNSAFE,
        ),
    ],
)  # fmt: skip
def test_a_number_among_all_processes_is_a_guess(
    arguments: str, options: str, text: str, safety: Safety
) -> None:
    uses = 'print("local_rank"); net.cuda()'
    fix = finding(uses, arguments, options).fix
    assert fix is not None
    assert fix.safety is safety
    assert fix.edits[0].content == f"torch.cuda.{text}\n    "


def test_there_is_no_fix_where_nothing_knows_the_rank() -> None:
    found = finding("net.cuda()", "net")
    assert found.fix is None
    assert 'int(os.environ["LOCAL_RANK"])' in found.help


@pytest.mark.parametrize(
    ("above", "early", "fixed"),
    [
        ("", "", True),
        ("", "place(net)", False),
        ("", "net.cuda()", False),
        ("place(torch.nn.Linear(3, 3))", "", False),
        ("torch.nn.Linear(3, 3).cuda()", "", False),
    ],
)
def test_there_is_no_fix_where_it_comes_too_late(above: str, early: str, fixed: bool) -> None:
    text = f"""\
import torch, torch.distributed

def place(net):
    net.cuda()

{above}

def run(net, local_rank):
    {early}
    torch.distributed.init_process_group("nccl")
    place(net)
"""
    (found,) = check_source(text.encode(), "train_net.py", SETTINGS)
    assert (found.fix is not None) is fixed


@pytest.mark.parametrize(
    ("early", "late", "fixed"), [("", "net.cuda()", True), ("net.cuda()", "", False)]
)
def test_who_starts_a_group_by_a_call_is_no_other(early: str, late: str, fixed: bool) -> None:
    text = f"""\
import torch, torch.distributed

def start(local_rank):
    torch.distributed.init_process_group("nccl")

def main(net, local_rank):
    {early}
    start(local_rank)
    {late}

main(torch.nn.Linear(3, 3), 1)
"""
    (found,) = check_source(text.encode(), "train_net.py", SETTINGS)
    assert (found.fix is not None) is fixed


def test_there_is_one_finding_for_a_group() -> None:
    assert finding('net.cuda(); x = torch.zeros(3, device="cuda")').span.row == 6


@pytest.mark.parametrize(("called", "safety"), [("", Safety.SAFE), ("run(None)", Safety.UNSAFE)])
def test_what_is_spawned_may_be_called_without_a_number(called: str, safety: Safety) -> None:
    text = f"""\
import torch, torch.distributed, torch.multiprocessing

def run(gpu, net=None):
    torch.distributed.init_process_group("nccl", rank=gpu, world_size=4)
    net.cuda()

{called}
torch.multiprocessing.spawn(run, nprocs=4)
"""
    (found,) = check_source(text.encode(), "train_net.py", SETTINGS)
    assert found.fix is not None
    assert (found.fix.edits[0].content, found.fix.safety) == (
        "torch.cuda.set_device(gpu)\n    ", safety,
    )  # fmt: skip
