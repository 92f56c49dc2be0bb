"""Writes what this torch's operators do where their operands are on two devices.

python tools/operators.py             # writes src/devlint/torchapi/aten.json
python tools/operators.py --check     # says whether it is out of date
python tools/operators.py --doubtful  # says which operators look for themselves, and why

Two sources: torchgen, which wrote the C++ wrappers of the kernels for CUDA, is made to write them
again; `device_probe` asks the C++ code that the wrappers leave alone. No GPU is needed.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch
import torchgen
from torchgen.dest import RegisterDispatchKey
from torchgen.gen import ParsedYaml, get_grouped_native_functions, parse_native_yaml
from torchgen.model import DispatchKey, NativeFunction, NativeFunctionsGroup
from torchgen.selective_build.selector import SelectiveBuilder
from torchgen.utils import Target

sys.path.insert(0, str(Path(__file__).parent))

import device_probe
from device_probe import ITERATOR, OUTPUT, Answer

DATA = Path(__file__).resolve().parents[1] / "src" / "devlint" / "torchapi" / "aten.json"
YAML = Path(torchgen.__file__).parent / "packaged" / "ATen" / "native"
RELEASE = torch.__version__.partition("+")[0]

SEEN_ON_CUDA = {
    # The iterator lets a scalar through, the loop for CUDA has no place for it.
    "lerp.Scalar": "self end",
    "lerp.Scalar_out": "out | self end",
    "lerp_.Scalar": "self end",
    "lerp.Tensor": "self end weight*",
    "lerp.Tensor_out": "out | self end weight*",
    "lerp_.Tensor": "self end weight*",
    "addcmul": "self tensor1 tensor2*",
    "addcmul.out": "out | self tensor1 tensor2*",
    "addcmul_": "self tensor1 tensor2*",
    "smooth_l1_loss": "self target",
    "smooth_l1_loss.out": "out | self target",
    "_foreach_lerp.List": "self tensors1 weights*",
    "_foreach_lerp_.List": "self tensors1 weights*",
    "_foreach_lerp.Scalar": "self tensors1",
    "_foreach_lerp_.Scalar": "self tensors1",
    "_foreach_lerp.ScalarList": "self tensors1",
    "_foreach_lerp_.ScalarList": "self tensors1",
    "_foreach_addcmul.Scalar": "self tensor1 tensor2*",
    "_foreach_addcmul_.Scalar": "self tensor1 tensor2*",
    "_foreach_addcmul.ScalarList": "self tensor1 tensor2*",
    "_foreach_addcmul_.ScalarList": "self tensor1 tensor2*",
    # Functions of their own for CUDA, or functions that don't know `meta`.
    "binary_cross_entropy": "self target weight*",
    "binary_cross_entropy.out": "out | self target weight*",
    "binomial": "count prob",
    "index_fill_.int_Tensor": "self index",
    "log_sigmoid_forward.output": "output | self",
    "std.correction_out": "out | self",
    "var.correction_out": "out | self",
}
"""Where the kernel for CUDA isn't the function that is asked here, or goes on after the iterator:
what the build of torch 2.13.0 for CUDA 13.0 says. `tests/torchapi/test_aten.py` asks it again on a
machine with a GPU."""

OWN_ON_CUDA = (
    "_foreach_add.Tensor", "_foreach_add_.Tensor", "_foreach_clamp_max.List",
    "_foreach_clamp_max_.List", "_foreach_clamp_min.List", "_foreach_clamp_min_.List",
    "_foreach_maximum.List", "_foreach_maximum_.List", "_foreach_minimum.List",
    "_foreach_minimum_.List",
)  # fmt: skip
"""Seen in the same way: their texts on CUDA are none of the iterator's."""


@dataclass(frozen=True)
class Wrapper:
    """The generated function between the dispatcher and a kernel for CUDA."""

    name: str
    symbol: str
    compared: tuple[str, ...]
    """The tensors whose devices it compares, in that order; none where it leaves that alone."""
    outputs: tuple[str, ...]
    tensors: tuple[str, ...]
    """All tensors that the operator takes, outputs first."""
    structured: bool
    shared: bool
    """The kernel for the CPU is the same function, or the one that CUDA's turns to."""


# --- torchgen --------------------------------------------------------------------------------


@cache
def native_functions() -> ParsedYaml:
    return parse_native_yaml(str(YAML / "native_functions.yaml"), str(YAML / "tags.yaml"))


def groups() -> list[NativeFunction | NativeFunctionsGroup]:
    return list(get_grouped_native_functions(native_functions().native_functions))


def members(group: NativeFunction | NativeFunctionsGroup) -> list[NativeFunction]:
    return [group] if isinstance(group, NativeFunction) else list(group.functions())


def writer(key: DispatchKey, target: Target) -> RegisterDispatchKey:
    return RegisterDispatchKey(
        native_functions().backend_indices[key], target, SelectiveBuilder.get_nop_selector(),
        rocm=False, symint=True, class_method_name=None, skip_dispatcher_op_registration=False,
    )  # fmt: skip


REGISTERED = re.compile(r'm\.impl\("(.+?)",\s*TORCH_FN\((\w+)\)\);')
COMPARED = re.compile(r'check_and_update_common_device\(common_device, (\w+), "(\w+)", "(\w+)"\)')


def registered(group: NativeFunction | NativeFunctionsGroup, key: DispatchKey) -> dict[str, str]:
    """The operators of a group that have a kernel for `key`, with the name of the wrapper."""
    texts = writer(key, Target.REGISTRATION)(group)
    return dict(found.groups() for text in texts if (found := REGISTERED.match(text)))  # type: ignore[misc]


@cache
def wrappers() -> dict[str, Wrapper]:
    """Every operator with a kernel for CUDA."""
    found = {}
    for group in groups():
        symbols = registered(group, DispatchKey.CUDA)
        compared: dict[str, list[str]] = defaultdict(list)
        for text in writer(DispatchKey.CUDA, Target.ANONYMOUS_DEFINITION)(group):
            for tensor, symbol, shown in COMPARED.findall(text):
                assert tensor == shown
                compared[symbol].append(tensor)
        for function in members(group):
            name = str(function.func.name)
            if name in symbols:
                found[name] = _wrapper(function, group, symbols[name], compared[symbols[name]])
    return found


def _wrapper(
    function: NativeFunction,
    group: NativeFunction | NativeFunctionsGroup,
    symbol: str,
    compared: list[str],
) -> Wrapper:
    arguments = function.func.arguments
    structured = isinstance(group, NativeFunctionsGroup) and group.structured
    by_key = native_functions().backend_indices
    everywhere, here, there = (
        kernel.kernel
        if (kernel := by_key[key].get_kernel(group if structured else function))
        else ""
        for key in (DispatchKey.CompositeExplicitAutograd, DispatchKey.CPU, DispatchKey.CUDA)
    )
    outputs = [each.name for each in arguments.out]
    inputs = [each.name for each in arguments.flat_non_out if each.type.is_tensor_like()]
    return Wrapper(
        str(function.func.name), symbol, tuple(compared), tuple(outputs), (*outputs, *inputs),
        structured, shares(here or everywhere, there),
    )  # fmt: skip


def shares(here: str, there: str) -> bool:
    """`foreach_..._cuda` leaves lists on several devices to `foreach_..._slow`, the CPU's."""
    return here == there or (
        here.startswith("foreach_") and here == there.replace("_cuda", "_slow")
    )


def without_cuda() -> Iterator[str]:
    """What has a kernel for the CPU, none for CUDA, and none that is for all."""
    for group in groups():
        here, there = (registered(group, key) for key in (DispatchKey.CPU, DispatchKey.CUDA))
        for function in members(group):
            name = str(function.func.name)
            if name in here and name not in there and not function.has_composite_kernel:
                yield name


# --- the iterator ----------------------------------------------------------------------------


@cache
def answers() -> dict[str, Answer]:
    """What the C++ code says of operators whose wrappers don't compare devices."""
    open_ones = [
        each for each in wrappers().values() if len(each.tensors) > 1 and not each.compared
    ]
    shared = [each.name for each in open_ones if each.shared]
    found = device_probe.ask(shared, "CPU")
    again = [
        each.name
        for each in open_ones
        if each.structured and (each.name not in found or found[each.name].failure)
    ]
    found |= device_probe.ask(again, "Meta")
    for each in open_ones:
        unknown = Answer(each.name, {}, failure="its kernel for CUDA is a function of its own")
        found.setdefault(each.name, unknown)
    return found


def looks(answer: Answer, text: str) -> bool:
    """Whether every one of the tensors is refused on the CPU with this text."""
    return bool(answer.refused) and all(text in said for said in answer.refused.values())


def specification(
    outputs: tuple[str, ...], tensors: tuple[str, ...], scalars: tuple[str, ...] = ()
) -> str:
    """`out | self* other*`: outputs, then inputs; those with a star may be scalars on the CPU."""
    inputs = " ".join(name + "*" * (name in scalars) for name in tensors if name not in outputs)
    return f"{' '.join(outputs)} | {inputs}" if outputs else inputs


def kernel_rule(wrapper: Wrapper) -> str:
    """What the name of a wrapper is by the rule that the reader of the data knows."""
    base, _, overload = wrapper.name.partition(".")
    base += "_out" * bool(wrapper.outputs)
    if wrapper.structured:
        return "_".join(filter(None, ["wrapper_CUDA", base, overload]))
    return f"wrapper_CUDA_{overload}_{base}"


# --- the data --------------------------------------------------------------------------------


def table() -> dict[str, object]:
    exact: dict[str, dict[str, list[str]]] = {
        "structured": defaultdict(list),
        "unstructured": defaultdict(list),
    }
    iterator: dict[str, list[str]] = defaultdict(list)
    output: dict[str, list[str]] = defaultdict(list)
    own, unchecked, several = [], [], []
    for name, each in wrappers().items():
        if each.compared:
            assert kernel_rule(each) == each.symbol, each
            assert each.compared[: len(each.outputs)] == each.outputs, each
            spec = specification(each.outputs, each.compared)
            exact["structured" if each.structured else "unstructured"][spec].append(name)
        elif len(each.tensors) < 2:
            unchecked.append(name)
        elif name in SEEN_ON_CUDA:
            iterator[SEEN_ON_CUDA[name]].append(name)
        elif name not in OWN_ON_CUDA and looks(answers()[name], ITERATOR):
            spec = specification(each.outputs, each.tensors, answers()[name].scalars)
            iterator[spec].append(name)
            if answers()[name].most > 1:
                assert answers()[name].most == 2, name
                several.append(name)
        elif looks(answers()[name], OUTPUT):
            output[specification(each.outputs, each.tensors)].append(name)
        else:
            own.append(name)
    return {
        "torch": RELEASE,
        "exact": {kind: joined(found) for kind, found in exact.items()},
        "iterator": joined(iterator),
        "several": " ".join(sorted(several)),
        "output": joined(output),
        "own": " ".join(sorted(own)),
        "unchecked": " ".join(sorted(unchecked)),
        "without_cuda": " ".join(sorted(without_cuda())),
    }


def joined(groups: Mapping[str, list[str]]) -> dict[str, str]:
    return {spec: " ".join(sorted(groups[spec])) for spec in sorted(groups)}


def text() -> str:
    return json.dumps(table(), indent=1) + "\n"


def doubtful() -> Iterator[str]:
    """The operators whose own code looks at devices, or doesn't, each with what is known of it."""
    for name in str(table()["own"]).split():
        said = answers()[name]
        seen = "; ".join(f"{tensor}: {what or 'passes'}" for tensor, what in said.refused.items())
        yield f"{name}: {said.failure or seen}"


def main(arguments: list[str]) -> int:
    """Write the data or compare it. Returns 1 where `--check` finds a difference."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("--doubtful", action="store_true", help="write nothing, but to the screen")
    given = parser.parse_args(arguments)
    if given.doubtful:
        print(*doubtful(), sep="\n")
        return 0
    written = DATA.read_text(encoding="utf-8") if DATA.is_file() else "{}"
    if given.check and (made_for := json.loads(written).get("torch")) != RELEASE:
        print(f"aten.json is for torch {made_for}, this is {RELEASE}: nothing to compare")
        return 0
    current = text()
    if given.check and current != written:
        print("aten.json is out of date: run python tools/operators.py")
        return 1
    if not given.check and current != written:
        DATA.write_text(current, encoding="utf-8", newline="\n")
        print(f"wrote {DATA.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
