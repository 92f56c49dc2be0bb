"""Asks this torch's C++ code which operands of an operator may be on two devices.

python tools/device_probe.py add.Tensor where.self      # a line of JSON for each

An operator is called with operands on `meta`, then with one of them on the CPU. The kernels for
the CPU are the ones that are called, whatever the operands: where the kernel for CUDA is the same
function it would do the same with `meta` replaced by CUDA. It looks at devices before it looks at
data, and at data it never gets: there are no loops for `meta`.
"""

from __future__ import annotations

import argparse
import functools
import importlib.abc
import importlib.machinery
import itertools
import json
import subprocess
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

ITERATOR = "found at least two devices"
TOO_MANY = "Trying to pass too many CPU scalars"
OUTPUT = "Expected out tensor to have device"
PAST_THE_CHECK = (
    "DispatchStub: unsupported device type",
    "CUDAGuardImpl initialized with non-CUDA DeviceType: meta",
)
"""What is said of `meta` by code that comes after the look at devices."""
LONGEST = 300
"""Seconds for all operators that a process is asked for; some ten are enough for those of torch."""


@dataclass(frozen=True)
class Answer:
    """What was seen of one operator."""

    name: str
    refused: dict[str, str]
    """What was said when this argument alone was on the CPU; "" if nothing was."""
    scalars: tuple[str, ...] = ()
    """The arguments that may be on the CPU when they are 0-dimensional, though not otherwise."""
    most: int = 0
    """How many of them may be at the same time."""
    failure: str = ""
    """Why nothing was seen."""


def ask(names: Sequence[str], key: str = "CPU", far: str = "meta") -> dict[str, Answer]:
    """An answer for each name, by the kernels for `key`, with operands on `far`.

    The keys are "CPU", "Meta" and, in a build for it, "CUDA". With a GPU, "" as the key and "cuda"
    as the far device make it an ordinary call.

    It is asked in a process of its own: a kernel that reads data without a look at the device
    ends it, or never ends. Another one then goes on after that operator.
    """
    answers: dict[str, Answer] = {}
    left = list(names)
    while left:
        process = subprocess.Popen(
            [sys.executable, __file__, "--key", key, "--far", far],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            printed, complaint = process.communicate("\n".join(left), timeout=LONGEST)
        except subprocess.TimeoutExpired:
            process.kill()
            printed, complaint = process.communicate()
        for line in printed.splitlines():
            said = json.loads(line)
            answers[said["name"]] = Answer(**{**said, "scalars": tuple(said["scalars"])})
        left = [name for name in left if name not in answers]
        if left and process.returncode >= 0:
            raise RuntimeError(complaint)
        if left:
            answers[left[0]] = Answer(left[0], {}, failure="it reads data that isn't there")
            left = left[1:]
    return answers


# --- inside the process ----------------------------------------------------------------------


class _NoPythonKernels(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Keeps torch from putting Python functions in the place of its C++ kernels for `meta`."""

    def find_spec(self, name: str, *_: Any) -> importlib.machinery.ModuleSpec | None:
        blocked = name == "torch._meta_registrations"
        return importlib.machinery.ModuleSpec(name, self) if blocked else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        module = types.ModuleType(spec.name)

        def anything(attribute: str) -> Callable[..., Any]:
            if attribute.startswith("__"):
                raise AttributeError(attribute)
            return lambda *_, **__: lambda function: function

        module.__getattr__ = anything  # type: ignore[method-assign]
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        pass


SHAPES = ((2,), (2, 2), (1, 2, 2), (1, 2, 2, 2))
DTYPES = ("float32", "int64", "bool", "float64")
BY_NAME = {
    "rounding_mode": "floor", "dim": 0, "dtype": 6, "reduction": 1, "min": 0.5, "max": 0.5,
}  # fmt: skip
BY_TYPE = {
    "number": 0.5, "float": 0.5, "int": 1, "bool": False, "str": "none", "List[int]": [1],
    "List[float]": [0.5, 0.5], "List[number]": [0.5, 0.5],
}  # fmt: skip


class Probe:
    """One operator, called in many ways."""

    def __init__(self, name: str, key: str, far: str) -> None:
        import torch

        base, _, overload = name.partition(".")
        self.torch = torch
        self.name = name
        self.operator = getattr(getattr(torch.ops.aten, base), overload or "default")
        self.far = far
        self.run = self.operator
        if key:
            keys = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, key))
            self.run = functools.partial(self.operator.redispatch, keys)
        arguments = self.operator._schema.arguments
        self.tensors = {
            each.name: str(each.type) for each in arguments if "Tensor" in str(each.type)
        }

    def answer(self) -> Answer:
        """What is seen with tensors of each dtype, if they are all alike, else with the first."""
        failure = ""
        found: list[Answer] = []
        for kinds in self.samples():
            if found and len(set(kinds.values())) > 1:
                break
            failure = self.call(dict.fromkeys(kinds, self.far), kinds)
            if not failure:
                found.append(self.seen(kinds))
        return together(found) if found else Answer(self.name, {}, failure=failure)

    def seen(self, kinds: dict[str, tuple[Any, str]]) -> Answer:
        refused, scalars = {}, []
        for name, (shape, dtype) in kinds.items():
            moved = {**dict.fromkeys(kinds, self.far), name: "cpu"}
            refused[name] = self.call(moved, kinds)
            scalar = self.call(moved, {**kinds, name: ((), dtype)})
            if not scalar and (refused[name] or shape == ()):
                scalars.append(name)
        return Answer(self.name, refused, tuple(scalars), self.most(scalars, kinds))

    def most(self, scalars: list[str], kinds: dict[str, tuple[Any, str]]) -> int:
        """With none left on `meta` there would be no mixture: one always stays there."""
        for count in range(len(scalars), 1, -1):
            for chosen in itertools.combinations(scalars, count):
                if len(chosen) == len(kinds):
                    continue
                moved = {**dict.fromkeys(kinds, self.far), **dict.fromkeys(chosen, "cpu")}
                small = {name: ((), kinds[name][1]) for name in chosen}
                if not self.call(moved, {**kinds, **small}):
                    return count
        return min(len(scalars), 1)

    def samples(self) -> Iterator[dict[str, tuple[Any, str]]]:
        """Shapes and dtypes: all alike, one tensor 0-dimensional, one of another dtype."""
        names = list(self.tensors)
        for shape, dtype in itertools.product(SHAPES, DTYPES):
            yield dict.fromkeys(names, (shape, dtype))
        for shape, dtype, odd in itertools.product(SHAPES[:2], DTYPES, reversed(names)):
            yield {**dict.fromkeys(names, (shape, dtype)), odd: ((), dtype)}
        for shape, dtype, other, odd in itertools.product(SHAPES[:2], DTYPES, DTYPES, names):
            yield {**dict.fromkeys(names, (shape, dtype)), odd: (shape, other)}
            yield {**dict.fromkeys(names, ((), dtype)), odd: (shape, other)}

    def call(self, devices: dict[str, str], kinds: dict[str, tuple[Any, str]]) -> str:
        """The first line of what was said, "" if nothing was said of devices or anything else."""
        args: list[Any] = []
        keywords: dict[str, Any] = {}
        skipped = False
        for argument in self.operator._schema.arguments:
            if argument.name in kinds:
                value = self.made(argument.name, devices[argument.name], *kinds[argument.name])
            elif argument.has_default_value() and argument.name not in BY_NAME:
                skipped = True
                continue
            else:
                value = self.plain(argument.name, str(argument.type), argument.N)
            if argument.kwarg_only or skipped:
                keywords[argument.name] = value
            else:
                args.append(value)
        try:
            self.run(*args, **keywords)
        except Exception as error:  # whatever it is, it is the answer
            said = str(error).partition("\n")[0]
            return "" if any(text in said for text in PAST_THE_CHECK) else said
        return ""

    def plain(self, name: str, kind: str, length: int | None) -> Any:
        """An argument that is no tensor; `length` is that of a list that has one."""
        inner = kind[len("Optional[") : -1] if kind.startswith("Optional[") else kind
        if name in BY_NAME:
            return [BY_NAME[name]] if inner.startswith("List[") else BY_NAME[name]
        if inner == "List[bool]":
            return [True] * (length or 1)
        return BY_TYPE.get(inner)

    def made(self, name: str, device: str, shape: Any, dtype: str) -> Any:
        def tensor(device: str) -> Any:
            return self.torch.ones(shape, dtype=getattr(self.torch, dtype), device=device)

        if "List" not in self.tensors[name]:
            return tensor(device)
        return [tensor(self.far), tensor(device)]


def together(answers: list[Answer]) -> Answer:
    """Refused is what was refused once, allowed is what always was."""
    first = answers[0]
    refused = {
        name: next(filter(None, (each.refused[name] for each in answers)), "")
        for name in first.refused
    }
    allowed = [name for name in first.scalars if all(name in each.scalars for each in answers)]
    return Answer(first.name, refused, tuple(allowed), min(each.most for each in answers))


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="none: they are read from the standard input")
    parser.add_argument("--key", default="CPU")
    parser.add_argument("--far", default="meta")
    given = parser.parse_args(arguments)
    sys.meta_path.insert(0, _NoPythonKernels())
    for name in given.names or sys.stdin.read().split():
        print(json.dumps(vars(Probe(name, given.key, given.far).answer())), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
