"""What the rows say of operators, factories and moves, tested by calling them.

They are called on `meta`, to see where the result is, and with fake tensors, of which one is on
the CPU and the others on an accelerator, to see that they may not meet.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torchapi import samples
from torchapi.samples import ROWS, TABLE, Sample, is_method, of_effect, resolve

from devlint import emulate
from devlint.torchapi import Dims, Effect, Row

pytestmark = pytest.mark.filterwarnings("ignore")

OPERATORS = re.compile(r"torch\.(Tensor\.|nn\.functional\.|special\.|linalg\.|fft\.)?\w+")


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
    r".*|torch\.asarray|torch\.[A-Za-z0-9]*Tensor"
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


def test_legacy_constructors_refuse_every_device_but_their_own() -> None:
    """Their rows name the argument all the same: it says what the author meant."""
    legacy = [
        (name, row)
        for name, row in of_effect(Effect.CREATE)
        if row.to == "cpu" and row.device and name.endswith("Tensor")
    ]
    assert len(legacy) >= 10
    for name, _ in legacy:
        with pytest.raises(RuntimeError, match="legacy constructor expects device type: cpu"):
            resolve(name)(2, device="meta")


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


def test_what_takes_no_generator_draws_with_one_of_the_cpu() -> None:
    data = torch.utils.data.TensorDataset(torch.arange(4))
    draws = {
        "DataLoader": lambda: list(torch.utils.data.DataLoader(data, shuffle=True)),
        "RandomSampler": lambda: list(torch.utils.data.RandomSampler(data)),
        "random_split": lambda: torch.utils.data.random_split(data, [2, 2]),
    }
    named = {name for name, row in ROWS.items() if row.own_generator}
    assert named == {f"torch.utils.data.{name}" for name in draws}
    with emulate("cuda"), torch.device("cuda"):
        for draw in draws.values():
            with pytest.raises(RuntimeError, match="'cuda' device type for generator"):
                draw()


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
        listed = first_tensor(operands)
        right = {
            Dims.NONE: tensor.dim() == 0,
            Dims.SOME: tensor.dim() > 0,
            Dims.STACK: listed is not None and tensor.dim() == listed.dim() + 1,
            Dims.SHAPE: True,
            Dims.DATA: True,
            Dims.REDUCE: len(each.args) > 1 or tensor.dim() == 0,
            Dims.SQUEEZE: tensor.dim() <= most,
            Dims.LOSS: tensor.dim() == 0 or any(isinstance(given, int) for given in each.args),
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
        ("mul", "add", "eq", "where", "maximum", "pow", "addcmul")
        if free
        else ("index_select", "gather", "mm", "addcdiv", "logaddexp")
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


class Far(torch.Tensor):
    """A tensor that computes, but can't be copied to the host by the way."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("can't convert a far tensor to numpy")


@pytest.mark.parametrize("name", ["argmax", "clip", "cumsum", "ravel", "round", "sort", "trace"])
def test_numpy_reads_on_the_host_what_a_method_of_a_tensor_refuses(name: str) -> None:
    row = TABLE.get(f"numpy.{name}")
    assert row is not None
    assert row.effect is Effect.HOST_ONLY
    rest = (0, 1) if name == "clip" else ()
    with pytest.raises(TypeError, match="far tensor"):
        resolve(f"numpy.{name}")(torch.zeros(2, 2).as_subclass(Far), *rest)


@pytest.mark.parametrize("name", ["nonzero", "squeeze"])
def test_numpy_leaves_to_a_tensor_what_its_methods_can_do(name: str) -> None:
    row = TABLE.get(f"numpy.{name}")
    assert row is not None
    assert row.effect is Effect.OPAQUE
    resolve(f"numpy.{name}")(torch.zeros(2, 2).as_subclass(Far))


def test_numpy_takes_a_number_of_a_tensor_as_python_does() -> None:
    row = TABLE.get("numpy.float64")
    assert row is not None
    assert row.effect is Effect.OPAQUE
    assert resolve("numpy.float64")(torch.tensor(2.0).as_subclass(Far)) == 2
    with pytest.raises(TypeError, match="far tensor"):
        resolve("numpy.float32")(torch.tensor(2.0).as_subclass(Far))


WRAPPING = sorted(name for name in TABLE.rows if (row := TABLE.get(name)) and row.wraps)


@pytest.mark.parametrize("name", WRAPPING)
def test_numpy_gives_a_tensor_back_where_it_is_given_one(name: str) -> None:
    function = resolve(name)
    given = [torch.full((2, 2), 0.5)] * function.nin
    assert isinstance(function(*given), torch.Tensor)
    with pytest.raises(TypeError, match="can't convert meta device type tensor to numpy"):
        function(*(each.to("meta") for each in given))
