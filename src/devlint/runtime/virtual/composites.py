"""Functions that compare or move their operands before any operator runs.

They are C++ or Python above the dispatcher, so the operator table says nothing of them; each
has a text of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from devlint.runtime.virtual import texts
from devlint.runtime.virtual.checks import common
from devlint.runtime.virtual.errors import Operand, device_error
from devlint.runtime.virtual.modes import MIXED, Handler, survey
from devlint.runtime.virtual.tags import NEUTRAL, place, put, shown_place, tensors_in
from devlint.runtime.virtual.world import World

_VF: Any = torch._C._VariableFunctions

Said = Callable[[list[Operand]], str]


class Composites:
    """Handlers of functions that decide before any operator does."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._machine = world.machine

    def handlers(self) -> Mapping[Any, Handler]:
        """What is handled, by function."""
        found: dict[Any, Handler] = {}
        for functions, said in _AGREEING:
            handler = self._agreeing(said)
            found |= dict.fromkeys(functions, handler)
        for name in ("lstm", "gru", "rnn_tanh", "rnn_relu"):
            found[getattr(_VF, name)] = self.recurrent
        for name in ("lstm_cell", "gru_cell"):
            found[getattr(_VF, name)] = self.cell
        found[_VF._pack_padded_sequence] = self.packed
        found[_VF._pad_packed_sequence] = self.unpacked
        found |= dict.fromkeys((torch.tensor_split, Tensor.tensor_split), self.tensor_split)
        found |= dict.fromkeys(_CTC, self.ctc)
        found |= dict.fromkeys((torch.inner, Tensor.inner), self.inner)
        found |= dict.fromkeys((torch.cdist, _VF.cdist), self.distances)
        found[F.scaled_dot_product_attention] = self.attention
        found[torch.gradient] = self.gradient
        found[torch.linalg.matrix_rank] = self.matrix_rank
        found |= dict.fromkeys(_CPU_ONLY, self.on_cpu_only)
        return found

    def _agreeing(self, said: Said) -> Handler:
        """A handler of a function whose tensors all have to be on one device."""

        def check(func: Any, args: Any, kwargs: Any) -> Any:
            if survey((args, kwargs)) is not MIXED:
                return self._world.functions.run(func, args, kwargs)
            operands = _operands((*args, *kwargs.values()))
            if not common(operands)[1]:
                raise device_error(RuntimeError, said(operands), operands, func.__name__)
            return self._world.functions.run(func, args, kwargs)

        return check

    def recurrent(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Of an RNN: hidden state and weights are where the input is, the hidden state first."""
        if survey(args) is not MIXED and not self._has_batch_sizes(args):
            return self._world.functions.run(func, args, kwargs)
        packed = self._has_batch_sizes(args)
        data = Operand("input", args[0], place(args[0]))
        hidden, weights = args[2:4] if packed else args[1:3]
        for name, tensors in (("hidden", hidden), ("parameter", weights)):
            for tensor in tensors_in((tensors,)):
                other = Operand(name, tensor, place(tensor))
                if NEUTRAL not in (data.device, other.device) and other.device != data.device:
                    text = (
                        f"Input and {name} tensors are not at the same device, found input "
                        f"tensor at {data.device} and {name} tensor at {other.device}"
                    )
                    raise device_error(RuntimeError, text, [data, other], func.__name__)
        if not packed:
            return self._world.functions.run(func, args, kwargs)
        sizes = place(args[1])
        if self._machine.owns(sizes):
            operand = Operand("batch_sizes", args[1], sizes)
            raise device_error(RuntimeError, _BATCH_SIZES, [operand], func.__name__)
        # Batch sizes are on the CPU by design.
        return self._world.functions.run(_apart(func, 1, args[1]), (args[0], *args[2:]), kwargs)

    @staticmethod
    def _has_batch_sizes(args: Any) -> bool:
        """Whether the arguments are data, batch sizes, hidden state and weights."""
        return isinstance(args[3], (list, tuple))

    def cell(self, func: Any, args: Any, kwargs: Any) -> Any:
        """A cell of an accelerator multiplies without bias first; one of the CPU does not."""
        data, hidden, ih, hh = args[:4]
        if self._machine.owns(place(data)):
            first = hidden[0] if isinstance(hidden, (list, tuple)) else hidden
            for vector, weight in ((data, ih), (first, hh)):
                left, right = place(vector), place(weight)
                if NEUTRAL not in (left, right) and left != right:
                    text = texts.same_device(
                        "mat2", right, left, "wrapper_CUDA_mm", self._machine.kind.title
                    )
                    operands = [Operand("input", vector, left), Operand("weight", weight, right)]
                    raise device_error(RuntimeError, text, operands, func.__name__)
        return self._world.functions.run(func, args, kwargs)

    def packed(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Lengths are read on the host: they may not be on an accelerator, whatever else is."""
        return self._world.functions.checked(func, args, kwargs)

    def unpacked(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Lengths come back on the CPU."""
        padded, lengths = func(*args, **kwargs)
        put(padded, shown_place(args[0]))
        return padded, lengths

    def tensor_split(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Where to split is asked on the host."""
        name = next((n for n in ("indices_or_sections", *_SPLITS) if n in kwargs), "")
        where = args[1] if len(args) > 1 else kwargs.get(name)
        if not isinstance(where, Tensor):
            return self._world.functions.run(func, args, kwargs)
        found = shown_place(where)
        if self._machine.owns(found):
            text = f"tensor_split expected {_SPLITS[0]} to be on cpu, but it's on {found}"
            raise device_error(
                RuntimeError, text, [Operand(_SPLITS[0], where, found)], "tensor_split"
            )
        if len(args) > 1:
            rest = (args[0], *args[2:])
            return self._world.functions.run(_apart(func, 1, where), rest, kwargs)
        others = {key: value for key, value in kwargs.items() if key != name}
        return self._world.functions.run(_apart(func, name, where), args, others)

    def inner(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Compares types of devices; another index is left to the operators below."""
        operands = _operands((*args, *kwargs.values()))
        if len({operand.device.type for operand in operands}) > 1:
            raise device_error(RuntimeError, _inner(operands), operands, "inner")
        return self._world.functions.run(func, args, kwargs)

    def distances(self, func: Any, args: Any, kwargs: Any) -> Any:
        """`cdist` compares devices itself where it multiplies matrices."""
        operands = _operands((*args[:2], *(kwargs[n] for n in ("x1", "x2") if n in kwargs)))
        p = kwargs.get("p", args[2] if len(args) > 2 else 2.0)
        mode = str(kwargs.get("compute_mode", args[3] if len(args) > 3 else ""))
        large = any(operand.tensor.shape[-2:-1] > (25,) for operand in operands)
        always, never = "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"
        multiplies = p == 2 and mode != never and (large or mode == always)
        if not multiplies or common(operands)[1]:
            return self._world.functions.run(func, args, kwargs)
        first, other = _first_two(operands)
        if first.type != other.type:
            text = f"X1 and X2 must have the same device type. X1: {first.type} X2: {other.type}"
        else:
            text = f"device of X1 ({first.index}) must match device of X2 ({other.index})"
        raise device_error(RuntimeError, text, operands, "cdist")

    def attention(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Query, key and value are compared first; the mask is left to the operators."""
        if survey((args, kwargs)) is not MIXED:
            return self._world.functions.run(func, args, kwargs)
        names = ("query", "key", "value")
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        operands = [Operand(name, given[name], place(given[name])) for name in names]
        if not common(operands)[1]:
            raise device_error(RuntimeError, _attention(operands), operands, "attention")
        return self._world.functions.run(func, args, kwargs)

    def gradient(self, func: Any, args: Any, kwargs: Any) -> Any:
        """A 0-dimensional spacing is read from wherever it is."""
        tensors = [t for t in tensors_in((*args, *kwargs.values())) if t.dim() > 0]
        operands = [Operand("spacing", tensor, place(tensor)) for tensor in tensors]
        if not common(operands)[1]:
            first, other = _first_two(operands)
            text = (
                "torch.gradient expected each tensor to be on the same device, but got devices "
                f"{first} and {other}!"
            )
            raise device_error(RuntimeError, text, operands, "gradient")
        return self.moving(func, args, kwargs)

    def matrix_rank(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Tolerances are compared with the matrix, 0-dimensional ones too."""
        matrix = args[0] if args else kwargs.get("A", kwargs.get("input"))
        tolerances = {"atol": kwargs.get("tol", args[1] if len(args) > 1 else None)}
        tolerances |= {name: kwargs[name] for name in ("atol", "rtol") if name in kwargs}
        here = place(matrix)
        for name, tolerance in tolerances.items():
            if isinstance(tolerance, Tensor) and place(tolerance) != here:
                text = (
                    f"torch.linalg.matrix_rank: Expected {name} and input tensors to be on the "
                    f"same device, but got {name} on {place(tolerance)} and input on {here}"
                )
                operands = [Operand("input", matrix, here)]
                operands.append(Operand(name, tolerance, place(tolerance)))
                raise device_error(RuntimeError, text, operands, "matrix_rank")
        return self._world.functions.run(func, args, kwargs)

    def on_cpu_only(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Functions that come down to an operator which no accelerator has."""
        operands = _operands((*args, *kwargs.values()))
        found = next((o.device for o in operands if self._machine.owns(o.device)), None)
        if found is None:
            return self._world.functions.run(func, args, kwargs)
        bins = kwargs.get("bins", args[1] if len(args) > 1 else None)
        name = _CPU_ONLY[func](bins)
        text = texts.without_kernel(name, self._machine.kind.title)
        raise device_error(NotImplementedError, text, operands, func.__name__)

    def ctc(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Targets and lengths are moved to where they are needed; the loss is beside the first."""
        result = self.moving(func, args, kwargs)
        put(result, shown_place(args[0] if args else kwargs["log_probs"]))
        return result

    def moving(self, func: Any, args: Any, kwargs: Any) -> Any:
        """The function moves its operands to where the first one is."""
        self._machine.thread.lenient += 1
        try:
            return self._world.functions.run(func, args, kwargs)
        finally:
            self._machine.thread.lenient -= 1


def _apart(func: Any, where: int | str, value: Any) -> Callable[..., Any]:
    """The function with one argument kept out of the comparison."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if isinstance(where, str):
            return func(*args, **{where: value, **kwargs})
        return func(*args[:where], value, *args[where:], **kwargs)

    return call


def _operands(values: Iterable[Any]) -> list[Operand]:
    return [
        Operand(f"tensor {index}", tensor, place(tensor))
        for index, tensor in enumerate(tensors_in(values))
    ]


_SPLITS = ("tensor_indices_or_sections", "indices", "sections")
_BATCH_SIZES = (
    "batch_sizes should always be on CPU. Instances of PackedSequence should never be created "
    "manually. They should be instantiated by functions like pack_sequence and "
    "pack_padded_sequence in nn.utils.rnn. "
    "https://pytorch.org/docs/stable/nn.html#torch.nn.utils.rnn.pack_sequence"
)


def _says(text: str) -> Said:
    """The same text always; `{0}` stands for the first device, `{1}` for the first other one."""

    def said(operands: list[Operand]) -> str:
        first, other = _first_two(operands)
        return text.format(first, other, index=_index_of_other(operands))

    return said


def _first_two(operands: list[Operand]) -> tuple[torch.device, torch.device]:
    first = operands[0].device
    return first, operands[_index_of_other(operands)].device


def _index_of_other(operands: list[Operand]) -> int:
    return next(i for i, o in enumerate(operands) if o.device != operands[0].device)


def _attention(operands: list[Operand]) -> str:
    query, key, value = (operands[i].device for i in (0, 1, 2))
    return (
        f"Expected query, key, and value to have the same device type, but got query.device: "
        f"{query} key.device: {key} and value.device: {value} instead."
    )


def _inner(operands: list[Operand]) -> str:
    first, other = _first_two(operands)
    return (
        f"Expected tensor to have {first.type} DeviceType, but got tensor with {other.type} "
        "DeviceType (while checking arguments for inner())"
    )


_AGREEING: tuple[tuple[tuple[Any, ...], Said], ...] = (
    (
        (_VF.meshgrid, torch.meshgrid, torch.cartesian_prod, _VF.cartesian_prod),
        _says("meshgrid expects all tensors to have the same device"),
    ),
    (
        (torch.stft, Tensor.stft),
        _says(
            "stft input and window must be on the same device but got self on {0} and window on {1}"
        ),
    ),
    (
        (torch.istft, Tensor.istft),
        _says(
            "istft input and window must be on the same device but got self on {0} and "
            "window on {1}"
        ),
    ),
    (
        (torch.quantile, Tensor.quantile, torch.nanquantile, Tensor.nanquantile),
        _says("quantile() q tensor must be on the same device as the input tensor"),
    ),
    (
        (torch.linalg.multi_dot, torch.chain_matmul),
        _says(
            "multi_dot(): all tensors must be on the same device but tensor 0 is on {0} and "
            "tensor {index} on {1}"
        ),
    ),
    (
        (torch.take_along_dim, Tensor.take_along_dim),
        _says(
            "Expected tensor to have {0} Device, but got tensor with {1} Device (while checking "
            "arguments for torch.take_along_dim():)"
        ),
    ),
    (
        (torch._weight_norm,),
        _says(
            "weight_norm: expected v_in and g_in to be on the same device, but v_in is on {0} "
            "and g_in is on {1}"
        ),
    ),
)
"""Functions whose tensors have to be on one device, 0-dimensional ones too, and what they say."""


def _histogram(bins: Any) -> str:
    return "histogram.bins_tensor" if isinstance(bins, Tensor) else "histogram.bin_ct"


def _histogramdd(bins: Any) -> str:
    tensors = isinstance(bins, (list, tuple)) and any(isinstance(b, Tensor) for b in bins)
    return "_histogramdd_from_bin_tensors" if tensors else "_histogramdd_bin_edges"


_CPU_ONLY: dict[Any, Callable[[Any], str]] = {
    torch.histogram: _histogram,
    Tensor.histogram: _histogram,
    torch.histogramdd: _histogramdd,
    Tensor.to_mkldnn: lambda bins: "to_mkldnn",
}
"""Functions that come down to an operator which no accelerator has: to its name."""

_CTC = (_VF.ctc_loss, torch.ctc_loss, F.ctc_loss)
