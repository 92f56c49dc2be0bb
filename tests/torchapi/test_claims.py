"""Every row that speaks of torch is a claim: here it meets the installed torch.

Names exist, arguments exist, modules are modules, what needs CUDA raises without it. What
operators do is tested in `test_operators`.
"""

from __future__ import annotations

import importlib.util
import inspect
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import torch
from torch import nn
from torchapi.samples import ROWS, TABLE, is_method, of_effect, resolve

from devlint.torchapi import Arg, Effect, Row
from devlint.torchapi.spellings import MODULE_ATTRIBUTES

pytestmark = pytest.mark.filterwarnings("ignore")

# --- names and arguments -------------------------------------------------------------------


def test_every_name_exists() -> None:
    missing = []
    for name in ROWS:
        try:
            resolve(name)
        except ImportError:
            missing.append(name)
    assert missing == []


def test_every_package_of_a_pattern_exists() -> None:
    for name in TABLE.names():
        if name.startswith("torch.") and "*" in name:
            package, _, rest = name.partition(".*")
            found = package in sys.modules or importlib.util.find_spec(package)
            assert found, f"{package}{rest}"


@cache
def schemas() -> dict[str, list[Any]]:
    found = defaultdict(list)
    for schema in torch._C._jit_get_all_schemas():
        if schema.name.startswith("aten::"):
            found[schema.name[6:]].append(schema)
    return dict(found)


@cache
def signatures(name: str) -> list[list[tuple[str, bool]]]:
    """For each overload the parameters as (name, keyword only), the receiver left out."""
    function = resolve(name)
    method = is_method(name)
    found: list[list[tuple[str, bool]]] = []
    overridden = torch.overrides.get_testing_overrides().get(function)
    for source in (function, overridden):
        try:
            parameters = list(inspect.signature(source).parameters.values())
        except (TypeError, ValueError):
            continue
        listed = [(each.name, each.kind is each.KEYWORD_ONLY) for each in parameters]
        bound = inspect.isclass(source) or not (method or ".nn.Module." in name)
        found.append(listed if bound else listed[1:])
    stem = name.removeprefix("torch.").replace("Tensor.", "").replace("nn.functional.", "")
    for schema in schemas().get(stem.replace(".", "_").strip("_"), schemas().get(stem, [])):
        listed = [(each.name, each.kwarg_only) for each in schema.arguments]
        if method:
            listed = [each for each in listed if each[0] != "self"]
        found.append([("input" if each == "self" else each, only) for each, only in listed])
    for line in (getattr(function, "__doc__", None) or "").splitlines()[:30]:
        if match := re.match(
            rf"\s*\.{{0,2}}\s*(?:function:: )?{name.rpartition('.')[2]}\((.*?)\)", line
        ):
            before, star, after = match[1].partition("*,")
            words = [(word, False) for word in re.findall(r"(\w+)(?:=[^,]*)?(?:,|$)", before)]
            words += [(word, bool(star)) for word in re.findall(r"(\w+)(?:=[^,]*)?(?:,|$)", after)]
            found.append(words)
    return found


def fits(parameter: tuple[Arg, ...], signature: list[tuple[str, bool]]) -> bool:
    """Whether the signature has the parameter, at that position and under one of those names."""
    names = [arg for arg in parameter if isinstance(arg, str)]
    at = [arg for arg in parameter if isinstance(arg, int)]
    listed = [each for each, _ in signature]
    if "kwargs" in listed and (not at or "args" in listed):
        return True  # passed on: `test_arguments_that_are_passed_on` calls these
    if not at:
        return all(name in [each for each, _ in signature] for name in names)
    if not at[0] < len(signature) or signature[at[0]][1]:
        return False
    return not names or signature[at[0]][0] in names or signature[at[0]][0] == "args"


def parameters(row: Row) -> Iterator[tuple[Arg, ...]]:
    yield from (row.device, row.like, row.data, row.of, row.generator)
    for group in (row.operands, row.cpu_only, row.weights):
        yield from group


def test_every_argument_exists() -> None:
    wrong = []
    for name, row in ROWS.items():
        known = signatures(name)
        for parameter in parameters(row):
            if not parameter or parameter in (("self",), ("*",)) or name in DESCRIBED_OTHERWISE:
                continue
            if known and not any(fits(parameter, signature) for signature in known):
                wrong.append((name, parameter))
    assert wrong == []


def test_arguments_that_are_passed_on() -> None:
    packed = nn.utils.rnn.pack_sequence([torch.zeros(1)])
    assert packed.to("meta").data.device.type == packed.to(device="meta").data.device.type == "meta"
    assert nn.utils.skip_init(nn.Linear, 1, 1, device="meta").weight.device.type == "meta"
    assert torch.Generator("cpu").device == torch.Generator(device="cpu").device
    assert torch.asarray(obj=[1.0], device="meta").device.type == "meta"


DESCRIBED_OTHERWISE = {"torch.Generator", "torch.asarray"}
"""Their documentation gives no signature that can be read: the test above calls them."""


def test_methods_speak_of_self_and_functions_do_not() -> None:
    wrong = [
        name
        for name, row in of_effect(Effect.KEEP, Effect.JOIN, Effect.INDEX)
        for parameter in ((row.of,) if row.effect is Effect.KEEP else row.operands)
        if ("self" in parameter)
        and not re.search(r"\.(Tensor|Module|ModuleList|Sequential|Generator)\.", name)
    ]
    assert wrong == []


# --- modules and other objects -------------------------------------------------------------

BUILT = {
    "AdaptiveLogSoftmaxWithLoss": (4, 6, [2]), "RNNBase": ("LSTM", 2, 2), "Unflatten": (1, (2, 2)),
    "MultiMarginLoss": (), "LPPool1d": (2, 2), "LPPool2d": (2, 2), "LPPool3d": (2, 2),
    "FractionalMaxPool2d": (2, 2), "FractionalMaxPool3d": (2, 2), "Fold": ((4, 4), 2),
    "RNNCellBase": (2, 2, True, 1), "MultiheadAttention": (2, 2), "Transformer": (2, 2, 1, 1),
    "TransformerDecoderLayer": (2, 2), "TransformerEncoderLayer": (2, 2),
}  # fmt: skip


def test_what_every_module_has() -> None:
    module = nn.Module()
    plain = {name for name in dir(module) if not name.startswith("_")}
    of_others = {  # what another library that a test has imported has put there
        name
        for name in plain
        if not getattr(getattr(module, name), "__module__", "torch").startswith("torch")
    }
    assert plain - of_others <= MODULE_ATTRIBUTES


def build(name: str, **keywords: Any) -> nn.Module:
    cls = resolve(name)
    last = name.rpartition(".")[2]
    for args in [BUILT[last]] if last in BUILT else [(), (2,), (2, 2), (2, 2, 2)]:
        try:
            module = cls(*args, **keywords)
        except TypeError:
            continue
        assert isinstance(module, nn.Module)
        return module
    raise AssertionError(f"{name} can't be built")


MODULES = [
    name
    for name, row in of_effect(Effect.CONSTRUCT)
    if row.kind == "module" and not row.managed and re.fullmatch(r"torch\.nn\.\w+", name)
]


def test_modules_are_modules_and_have_parameters_as_claimed() -> None:
    wrong = []
    for name in MODULES:
        module = build(name)
        held = [*module.parameters(), *module.buffers()]
        if bool(held) is not ROWS[name].parameters:
            wrong.append(name)
    assert wrong == []
    assert len(MODULES) > 140


def test_modules_take_their_device_where_claimed() -> None:
    for name in MODULES:
        if ROWS[name].device and ROWS[name].parameters:
            module = build(name, device="meta")
            held = [*module.parameters(), *module.buffers()]
            assert {each.device.type for each in held} == {"meta"}, name


def test_every_public_module_has_a_row() -> None:
    public = {
        f"torch.nn.{name}"
        for name, value in vars(nn).items()
        if inspect.isclass(value) and issubclass(value, nn.Module)
    }
    assert public - set(ROWS) == set()


HELD = [
    name
    for name, row in ROWS.items()
    if row.weights and row.kind == "module" and not row.parameters
]
FLAGGED = [
    name for name, row in ROWS.items() if row.weights and row.kind == "module" and row.parameters
]
CONTAINED: dict[str, object] = {"values": [torch.ones(2)], "parameters": {"a": torch.ones(2)}}


@pytest.mark.parametrize("name", HELD)
def test_a_weight_makes_a_module_hold_a_tensor(name: str) -> None:
    for weight in ROWS[name].weights:
        keyword = next(arg for arg in weight if isinstance(arg, str))
        value = CONTAINED.get(keyword, torch.ones(2) if "weight" in keyword else True)
        alone = keyword in CONTAINED or "Loss" in name or "Lazy" in name
        args = () if alone else (2,)
        module = resolve(name)(*args, **{keyword: value})
        assert [*module.parameters(), *module.buffers()], keyword


@pytest.mark.parametrize("name", FLAGGED)
def test_a_module_holds_nothing_without_its_flags(name: str) -> None:
    flags = [next(arg for arg in weight if isinstance(arg, str)) for weight in ROWS[name].weights]
    args = (1, 2) if "Group" in name else () if "Lazy" in name else (2,)

    def held(**given: bool) -> list[torch.Tensor]:
        module = resolve(name)(*args, **given)
        return [*module.parameters(), *module.buffers()]

    assert not held(**dict.fromkeys(flags, False))
    for flag in flags:
        assert held(**{**dict.fromkeys(flags, False), flag: True})


def test_optimizers_and_data() -> None:
    for name, row in of_effect(Effect.CONSTRUCT):
        if row.kind == "optimizer":
            assert issubclass(resolve(name), torch.optim.Optimizer)
        if row.kind == "dataset" and inspect.isclass(resolve(name)):
            assert issubclass(resolve(name), torch.utils.data.Dataset)
        if row.kind == "loader":
            assert issubclass(resolve(name), torch.utils.data.DataLoader)


# --- torch.cuda ----------------------------------------------------------------------------

ARGUMENTS = {
    "caching_allocator_alloc": "8", "can_device_access_peer": "0, 1", "set_device": "0",
    "set_per_process_memory_fraction": "0.5", "set_sync_debug_mode": "'warn'",
    "set_stream": "torch.Stream()", "manual_seed": "1", "manual_seed_all": "1", "stream": "None",
    "StreamContext": "None", "device_of": "torch.zeros(1)", "device": "0",
    "set_rng_state": "torch.zeros(16, dtype=torch.uint8)",
    "set_rng_state_all": "[torch.zeros(16, dtype=torch.uint8)]",
    "make_graphed_callables": "torch.nn.Linear(1, 1), (torch.zeros(1),)",
}  # fmt: skip


# A build with CUDA makes these without a driver; the first use of the result would raise.
LAZY = {"torch.cuda.Event", "torch.cuda.graph_pool_handle", "torch.cuda.memory_snapshot"}


def test_what_needs_cuda_raises_without_it() -> None:
    names = [name for name in ROWS if re.fullmatch(r"torch\.cuda\.\w+", name)]
    script = ["import torch", "assert not torch.cuda.is_available()"]
    for name in names:
        call = f"{name}({ARGUMENTS.get(name.rpartition('.')[2], '')})"
        if name == "torch.cuda.device":
            call = f"{call}.__enter__()"
        script += ["try:", f"    {call}", "except Exception:", f"    print({name!r})"]
    environment = {"CUDA_VISIBLE_DEVICES": "", "PATH": ""}
    output = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", "\n".join(script)],
        capture_output=True, text=True, check=True, env=environment,
    ).stdout  # fmt: skip
    raising, claimed = set(output.split()), {name for name in names if ROWS[name].cuda}
    assert claimed - raising == (LAZY if torch.version.cuda else set())
    assert raising <= claimed
