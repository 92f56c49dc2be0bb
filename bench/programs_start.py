"""Start a program as `python PROGRAM ARGUMENTS` would, after preparations that it can't see.

    python bench/programs_start.py [--seed N] [--cuda-is-cpu] [--witness FILE] PROGRAM ARGUMENTS

The program's file is run as it is. Before it:

  - with --seed, the generators of Python, NumPy and PyTorch start from N;
  - with --cuda-is-cpu, `cuda` is another name of the CPU, so that a program takes its branches for
    a GPU, or has none but those, and yet runs on the plain CPU: what it would do without devlint;
  - with --witness, FILE will exist once an optimizer of it has changed parameters that are all
    on an accelerator;
  - torchvision takes made-up data in place of that whose checksum it knows, and is told the
    schemas of its operators where its compiled half doesn't fit the installed PyTorch.
"""

from __future__ import annotations

import argparse
import importlib.util
import multiprocessing.spawn
import random
import runpy
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
import torch
from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.overrides import TorchFunctionMode

CPU = torch.device("cpu")
SPAWNED = "spawned"
SCHEMAS = {
    "torchvision::nms": "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "torchvision::qnms": "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
}
"""What torchvision asks to be declared even where its operators aren't compiled."""


def prepare_torchvision() -> None:
    """Let torchvision be imported beside any PyTorch, and read data of our own making."""
    found = importlib.util.find_spec("torchvision")
    if found is None or found.origin is None:
        return
    compiled = sorted(Path(found.origin).parent.glob("_C*"))
    try:
        torch.ops.load_library(str(compiled[0]))
    except (OSError, IndexError):
        for name, schema in SCHEMAS.items():
            torch.library.define(name, schema)
    from torchvision.datasets import utils

    utils.check_md5 = lambda *_, **__: True


def seed_all(seed: int) -> None:
    random.seed(seed)
    numpy.random.seed(seed)
    torch.manual_seed(seed)


def watch_optimizers(witness: str) -> None:
    """Write `witness` after the first step whose parameters are all on an accelerator."""

    def look(optimizer: Any, *_: object) -> None:
        parameters = [each for group in optimizer.param_groups for each in group["params"]]
        if all(parameter.device.type != "cpu" for parameter in parameters):
            Path(witness).touch()
            hook.remove()

    hook = register_optimizer_step_post_hook(look)


@dataclass(frozen=True)
class Preparations:
    """What a process does before the program, and those that it spawns before they import it."""

    seed: int | None
    witness: str | None

    def __reduce__(self) -> tuple[Any, ...]:
        """Unpickling it in a spawned process carries it out."""
        return runpy.run_path, (__file__, {"told": (self.seed, self.witness)}, SPAWNED)

    def carry_out(self) -> None:
        prepare_torchvision()
        if self.seed is not None:
            seed_all(self.seed)
        if self.witness is not None:
            watch_optimizers(self.witness)
        prepare = multiprocessing.spawn.get_preparation_data

        def with_this(name: str) -> dict[str, Any]:
            return {**prepare(name), "preparations": self}

        multiprocessing.spawn.get_preparation_data = with_this


class CudaIsCpu(TorchFunctionMode):
    """Every call of PyTorch that names a CUDA device names the CPU instead."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        if func in (torch.Tensor.cuda, torch.Tensor.pin_memory):
            return args[0]
        kwargs = {key: on_cpu(value) for key, value in (kwargs or {}).items()}
        return func(*map(on_cpu, args), **kwargs)


def on_cpu(value: Any) -> Any:
    """`value`, or the CPU where it names a CUDA device."""
    if isinstance(value, torch.device) and value.type == "cuda":
        return CPU
    if isinstance(value, str) and value.partition(":")[0] == "cuda":
        return "cpu"
    return value


def answer_as_with_a_gpu() -> None:
    """Answer what a program asks before it decides for a GPU as if there were one."""

    def yes(*_: object, **__: object) -> bool:
        return True

    def one(*_: object, **__: object) -> int:
        return 1

    def first(*_: object, **__: object) -> int:
        return 0

    def nothing(*_: object, **__: object) -> None:
        return None

    torch.cuda.is_available = yes
    torch.cuda.device_count = one
    torch.cuda.current_device = first
    for name in ("set_device", "synchronize", "empty_cache", "init"):
        setattr(torch.cuda, name, nothing)
    for name in ("FloatTensor", "LongTensor"):
        setattr(torch.cuda, name, getattr(torch, name))
    torch.accelerator.is_available = yes
    torch.accelerator.device_count = one
    torch.accelerator.current_device_index = first
    torch.accelerator.current_accelerator = lambda *_, **__: CPU
    for name in ("set_device_index", "synchronize"):
        setattr(torch.accelerator, name, nothing)


def never_pin() -> None:
    """Let no DataLoader pin memory: that is a thread that would ask a real GPU."""
    loader = torch.utils.data.DataLoader
    construct = loader.__init__

    def construct_unpinned(self: Any, *args: Any, **kwargs: Any) -> None:
        kwargs.pop("pin_memory", None)
        construct(self, *args, **kwargs)

    loader.__init__ = construct_unpinned  # type: ignore[method-assign]


def run(program: Path, arguments: list[str]) -> None:
    """Run `program` as Python runs a script: its folder first on the path, its own argv."""
    sys.argv = [str(program), *arguments]
    sys.path[0] = str(program.resolve().parent)
    runpy.run_path(str(program), run_name="__main__")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--seed", type=int)
    parser.add_argument("--cuda-is-cpu", action="store_true")
    parser.add_argument("--witness")
    parser.add_argument("program", type=Path)
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()

    Preparations(options.seed, options.witness).carry_out()
    if not options.cuda_is_cpu:
        run(options.program, options.arguments)
        return
    answer_as_with_a_gpu()
    never_pin()
    with CudaIsCpu():
        run(options.program, options.arguments)


if __name__ == "__main__":
    main()
elif __name__ == SPAWNED:
    Preparations(*globals()["told"]).carry_out()
