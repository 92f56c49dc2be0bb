"""Every row that speaks of torch is a claim: here it meets the installed torch.

Names exist, arguments exist, modules are modules, what needs CUDA raises without it. Operators
are called: on `meta`, to see where the result is; and with fake tensors, of which one is on the
CPU and the others on an accelerator, to see that they may not meet.
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
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torchapi import samples
from torchapi.samples import Sample, is_method, resolve

from devlint import torchapi
from devlint.torchapi import Arg, Dims, Effect, Row

pytestmark = pytest.mark.filterwarnings("ignore")

TABLE = torchapi.load()
ROWS = {name: row for name in TABLE.rows if name.startswith("torch.") and (row := TABLE.get(name))}
OPERATORS = re.compile(r"torch\.(Tensor\.|nn\.functional\.|special\.|linalg\.|fft\.)?\w+")


def of_effect(*effects: Effect) -> Iterator[tuple[str, Row]]:
    return ((name, row) for name, row in ROWS.items() if row.effect in effects)


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
    yield from (row.device, row.like, row.data, row.of)
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
        and not re.search(r"\.(Tensor|Module|ModuleList|Sequential)\.", name)
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


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row.weights])
def test_a_weight_makes_a_module_hold_a_tensor(name: str) -> None:
    for weight in ROWS[name].weights:
        keyword = next(arg for arg in weight if isinstance(arg, str))
        value = torch.ones(2) if "weight" in keyword else True
        args = () if "Loss" in name or "Lazy" in name else (2,)
        module = resolve(name)(*args, **{keyword: value})
        assert [*module.parameters(), *module.buffers()], keyword


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
    assert set(output.split()) == {name for name in names if ROWS[name].cuda}


# --- making and moving ---------------------------------------------------------------------

FIRST: dict[str, tuple[Any, ...]] = {
    "torch.full": ((2,), 1.0), "torch.randint": (0, 2, (2,)), "torch.linspace": (0, 1, 3),
    "torch.logspace": (0, 1, 3), "torch.tril_indices": (2, 2),
    "torch.triu_indices": (2, 2), "torch.empty_strided": ((2,), (1,)),
    "torch.empty_permuted": ((2, 2), (0, 1)), "torch.sparse_coo_tensor": ([[0]], [1.0]),
    "torch.randint_like": (torch.zeros(2), 2), "torch.full_like": (torch.zeros(2), 2.0),
    "torch.Tensor.new_full": (torch.zeros(2), (2,), 1.0), "torch.scalar_tensor": (1.0,),
    "torch.Tensor.new_empty_strided": (torch.zeros(2), (2,), (1,)),
    "torch.Tensor.new_tensor": (torch.zeros(2), [1.0]),
    "torch.nested.nested_tensor": ([torch.zeros(1)],), "torch.Tensor.new": (torch.zeros(2), 2),
    "torch.nested.as_nested_tensor": ([torch.zeros(1)],),
    "torch.signal.windows.general_cosine": (4,),
}  # fmt: skip
NOT_ON_META = re.compile(
    r".*(sparse|nested|from_file|quantized|windows\.general_cosine|Uninitialized|Parameter|as_tensor)"
    r".*|torch\.asarray"
)


def made(name: str, row: Row, device: str) -> Tensor | None:
    function = resolve(name)
    if name in FIRST:
        attempts = [FIRST[name]]
    elif row.effect is Effect.CREATE_LIKE:
        attempts = [(torch.zeros(2),), (torch.zeros(2), 2)]
    else:
        attempts = [(4,), ([1.0],), (2, 2)]
    for args in attempts:
        try:
            made = function(*args, **({"device": device} if row.device else {}))
        except TypeError:
            continue
        return made if isinstance(made, Tensor) else None
    return None


def test_factories_take_their_device_where_claimed() -> None:
    tried = 0
    for name, row in of_effect(Effect.CREATE, Effect.CREATE_LIKE):
        if row.device and not NOT_ON_META.fullmatch(name):
            tensor = made(name, row, "meta")
            assert tensor is not None, name
            assert tensor.device.type == "meta", name
            tried += 1
    assert tried > 45


def test_factories_follow_the_default_device_unless_fixed() -> None:
    for name, row in of_effect(Effect.CREATE):
        if row.device and not NOT_ON_META.fullmatch(name):
            assert not row.to
            with torch.device("meta"):
                function = resolve(name)
                args = FIRST.get(name) or ((4,) if "tensor" not in name else ([1.0],))
                assert function(*args).device.type == "meta", name


@pytest.mark.parametrize("name", ["torch.Tensor", "torch.FloatTensor", "torch.LongTensor"])
def test_legacy_constructors_stay_on_the_cpu(name: str) -> None:
    assert ROWS[name].to == "cpu"
    with torch.device("meta"):
        assert resolve(name)(2).device.type == "cpu"


@pytest.mark.parametrize(
    "moved",
    [
        torch.zeros(1).to("meta"),
        torch.zeros(1).to(torch.zeros(1, device="meta")),
        torch.zeros(1).to(tensor=torch.zeros(1, device="meta")),
        nn.Linear(1, 1).to("meta").weight,
        nn.Linear(1, 1).to(tensor=torch.zeros(1, device="meta")).weight,
        nn.Linear(1, 1).to_empty(device="meta").weight,
        nn.Parameter(torch.zeros(1, device="meta")),
        nn.Buffer(torch.zeros(1, device="meta")),
    ],
)
def test_moves(moved: Tensor) -> None:
    assert moved.device.type == "meta"


def test_reads() -> None:
    for name in ("numpy", "__array__"):
        assert ROWS[f"torch.Tensor.{name}"].host == name
        with pytest.raises(TypeError, match="can't convert meta device type tensor to numpy"):
            getattr(torch.zeros(1, device="meta"), name)()
    for name, row in of_effect(Effect.READ):
        if is_method(name) and row.kind in ("number", "bool", "list") and "index" not in name:
            result = getattr(torch.ones(()), name.rpartition(".")[2])()
            assert isinstance(result, (int, float, complex, bool, list)), name


def test_lengths_must_be_on_the_cpu() -> None:
    pack = nn.utils.rnn.pack_padded_sequence
    with pytest.raises(RuntimeError, match="'lengths' argument should be a 1D CPU int64 tensor"):
        pack(torch.zeros(2, 2, 1), torch.tensor([2, 2], device="meta"))


# --- operators -----------------------------------------------------------------------------

# Trying takes long and finds nothing: three-dimensional convolutions, factorisations, spectra ...
UNTRIED = re.compile(
    r".*\.(conv3d|conv_transpose3d|lu_solve|ldl_solve|lu_unpack|sspaddmm|smm|stft|istft|sparse_mask|"
    r"multi_head_attention_forward|index_reduce_?|scatter_reduce_?|histogramdd|float_power_)"
    r"|torch\.(batch_norm|instance_norm|embedding_bag)"
)


@pytest.fixture(scope="module")
def tried() -> dict[str, Sample]:
    """A sample for each operator for which trying finds one."""
    found: dict[str, Sample] = {}
    last: dict[str, Sample] = {}
    for name, row in of_effect(Effect.KEEP, Effect.JOIN):
        if row.kind != "tensor" or not OPERATORS.fullmatch(name) or UNTRIED.fullmatch(name):
            continue
        tensors = [row.of] if row.effect is Effect.KEEP else row.operands
        stem = name.rpartition(".")[2].strip("_")
        sample = samples.find(row, tensors, last.get(stem))
        if sample is not None:
            found[name] = last[stem] = sample
    return found


def first_tensor(value: Any) -> Tensor | None:
    if isinstance(value, (tuple, list)):
        return next((tensor for item in value if (tensor := first_tensor(item)) is not None), None)
    return value if isinstance(value, Tensor) else None


def test_nearly_every_operator_is_tried(tried: dict[str, Sample]) -> None:
    assert len(tried) > 1050


# Their meta kernels are missing, or the number of elements depends on the values.
NO_META = re.compile(
    r".*\.(nonzero.*|argwhere|masked_select|unique.*|bincount|repeat_interleave|lstsq|hash_tensor|"
    r"histc|histogram.*|equal|allclose|is_nonzero|item|cov|cpu|pin_memory|isin|one_hot|"
    r"to_mkldnn|to_sparse.*|gaussian_nll_loss|share_memory_)"
)


def test_results_are_where_claimed(tried: dict[str, Sample]) -> None:
    wrong, seen = [], 0
    for name, each in tried.items():
        if NO_META.fullmatch(name):
            continue
        try:
            result = each.call(each.mapped(lambda _, tensor: tensor.to("meta")))
        except (NotImplementedError, RuntimeError):
            continue
        tensor = first_tensor(result)
        seen += 1
        if tensor is None or tensor.device.type != "meta":
            wrong.append(name)
    assert wrong == []
    assert seen > 900


def test_results_are_tuples_where_claimed(tried: dict[str, Sample]) -> None:
    wrong = []
    for name, each in tried.items():
        result = each.call(each.mapped(lambda _, tensor: tensor.clone()))
        if isinstance(result, (tuple, list)) is not ROWS[name].parts:
            wrong.append(name)
    assert wrong == []


def test_results_have_as_many_dimensions_as_claimed(tried: dict[str, Sample]) -> None:
    wrong = []
    for name, each in tried.items():
        dims = ROWS[name].dims
        tensor = first_tensor(each.call(each.mapped(lambda _, value: value.clone())))
        if tensor is None or dims is Dims.UNKNOWN:
            continue
        operands = [each.args[place] for place in each.places]
        most = max((value.dim() for value in operands if isinstance(value, Tensor)), default=-1)
        right = {
            Dims.NONE: tensor.dim() == 0,
            Dims.SOME: tensor.dim() > 0,
            Dims.SHAPE: True,
            Dims.DATA: True,
            Dims.REDUCE: len(each.args) > 1 or tensor.dim() == 0,
            Dims.SAME: most == -1 or (tensor.dim() == 0) == (most == 0),
        }
        if not right[dims]:
            wrong.append((name, tensor.dim(), most))
    assert wrong == []


def mixed(each: Sample, place: int) -> list[Any]:
    """The arguments as fake tensors: the one at `place` on the CPU, the others on CUDA."""

    def fake(position: int, tensor: Tensor) -> Tensor:
        device = "cpu" if position == place else "cuda"
        return torch.empty(tensor.shape, dtype=tensor.dtype, device=device)

    return each.mapped(fake)


# Fake convolutions let devices meet; torch itself says "Input type and weight type should be the
# same". Those of `diff` and `max_unpool` return before they look.
NO_FAKE = re.compile(r".*\.(conv\w+|diff|max_unpool1d)")


def test_operands_of_two_devices_are_refused(tried: dict[str, Sample]) -> None:
    allowed, seen = [], 0
    for name, each in tried.items():
        if ROWS[name].effect is not Effect.JOIN or len(each.places) < 2 or NO_FAKE.fullmatch(name):
            continue
        with FakeTensorMode():
            try:
                each.call(mixed(each, -1))
            except (RuntimeError, AssertionError):
                continue
            for place in each.places:
                if isinstance(each.args[place], Tensor) and each.args[place].dim() == 0:
                    continue
                seen += 1
                try:
                    each.call(mixed(each, place))
                except RuntimeError as error:
                    if "evice" in str(error):
                        continue
                allowed.append((name, place))
    assert allowed == []
    assert seen > 700


@pytest.mark.parametrize("free", [True, False])
def test_a_cpu_scalar_may_meet_any_device_where_claimed(
    tried: dict[str, Sample], free: bool
) -> None:
    names = (
        ("mul", "add", "eq", "where", "maximum", "pow", "clamp")
        if free
        else ("index_select", "gather", "mm")
    )
    for name in names:
        assert ROWS[f"torch.{name}"].free_scalars is free, name
    x = torch.ones(2, device="meta")
    if free:
        for name in ("mul", "add", "eq", "maximum", "pow", "sub", "div"):
            assert resolve(f"torch.{name}")(x, torch.tensor(2.0)).device.type == "meta"


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (
            lambda a, b: torch.stft(a.expand(8), 4, window=b.expand(4), return_complex=True),
            "window",
        ),
        (lambda a, b: torch.autograd.grad(a.requires_grad_(), a, b), "device"),
        (lambda a, b: a.requires_grad_().backward(b), "device"),
    ],
)
def test_other_meetings_are_refused(call: Any, match: str) -> None:
    with pytest.raises((RuntimeError, NotImplementedError), match=match):
        call(torch.zeros(1), torch.zeros(1, device="meta"))


@pytest.mark.parametrize(
    "name", ["numpy.asarray", "numpy.array", "numpy.concatenate", "numpy.argmax"]
)
def test_numpy_reads_on_the_host_only(name: str) -> None:
    row = TABLE.get(name)
    assert row is not None
    assert row.effect is Effect.HOST_ONLY
    with pytest.raises(TypeError, match="can't convert meta device type tensor to numpy"):
        resolve(name)([torch.zeros(2, device="meta")])
