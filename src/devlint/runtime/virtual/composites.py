"""Functions that compare or move their operands before any operator runs.

They are C++ or Python above the dispatcher, so the operator table says nothing of them; each
has a text of its own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

import torch
import torch.nn.functional as F
from torch import Tensor

from devlint.runtime.virtual import texts
from devlint.runtime.virtual.checks import common
from devlint.runtime.virtual.errors import Operand, device_error
from devlint.runtime.virtual.modes import MIXED, Handler, survey
from devlint.runtime.virtual.tags import argument, place, put, shown_place, tensors_in
from devlint.runtime.virtual.world import World

_VF: Any = torch._C._VariableFunctions


class Composites:
    """Handlers of functions that decide before any operator does."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._machine = world.machine
        self._run = world.functions.run

    def handlers(self) -> Mapping[Any, Handler]:
        """What is handled, by function."""
        handlers: list[tuple[Handler, Iterable[Any]]] = [
            (self.recurrent, (_VF.lstm, _VF.gru, _VF.rnn_tanh, _VF.rnn_relu)),
            (self.cell, (_VF.lstm_cell, _VF.gru_cell)),
            # Lengths are read on the host: they may not be on an accelerator, whatever else is.
            (self._world.functions.checked, (_VF._pack_padded_sequence,)),
            (self.unpacked, (_VF._pad_packed_sequence,)),
            (self.tensor_split, (torch.tensor_split, Tensor.tensor_split)),
            (self.ctc, (torch.ctc_loss, F.ctc_loss)),
            (self.inner, (torch.inner, Tensor.inner)),
            (self.distances, (torch.cdist, _VF.cdist)),
            (self.attention, (F.scaled_dot_product_attention,)),
            (self.gradient, (torch.gradient,)),
            (self.matrix_rank, (torch.linalg.matrix_rank,)),
            (self.least_squares, (torch.linalg.lstsq,)),
            (self.on_cpu_only, _CPU_ONLY),
        ]
        handlers += [(self._agreeing(text), functions) for text, functions in _AGREEING.items()]
        return {function: handler for handler, functions in handlers for function in functions}

    def _agreeing(self, text: str) -> Handler:
        """A handler of a function whose tensors all have to be on one device."""

        def check(func: Any, args: Any, kwargs: Any) -> Any:
            if survey((args, kwargs)) is MIXED:
                _compare(_operands((*args, *kwargs.values())), text, func.__name__)
            return self._run(func, args, kwargs)

        return check

    def recurrent(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Of an RNN: hidden state and weights are where the input is, the hidden state first."""
        packed = isinstance(args[3], (list, tuple))  # data, batch sizes, hidden state and weights
        data = Operand.of("input", args[0])
        on_accelerator = self._machine.owns(data.device)
        if on_accelerator or not packed:  # packed data of the host is left to the operators below
            hidden, weights = args[2:4] if packed else args[1:3]
            self._check_recurrent(func, data, hidden, weights)
        if not packed:
            result = self._run(func, args, kwargs)
        else:
            sizes = Operand.of("batch_sizes", args[1])
            if self._machine.owns(sizes.device):
                raise device_error(RuntimeError, _BATCH_SIZES, [sizes], func.__name__)
            result = self._run(_apart(func, args[1]), (args[0], *args[2:]), kwargs)
        training = argument(args, kwargs, 6 + packed, "train")
        if on_accelerator and not training and self._machine.has_cudnn:
            for tensor in tensors_in((result,)):
                if tensor.grad_fn is not None:
                    tensor.grad_fn.register_prehook(_refuse_backward)
        return result

    @staticmethod
    def _check_recurrent(func: Any, data: Operand, hidden: Any, weights: Any) -> None:
        for name, tensors in (("hidden", hidden), ("parameter", weights)):
            for tensor in tensors_in((tensors,)):
                other = Operand.of(name, tensor)
                if other.differs_from(data):
                    text = (
                        f"Input and {name} tensors are not at the same device, found input "
                        f"tensor at {data.device} and {name} tensor at {other.device}"
                    )
                    raise device_error(RuntimeError, text, [data, other], func.__name__)

    def cell(self, func: Any, args: Any, kwargs: Any) -> Any:
        """A cell of an accelerator multiplies without bias first; one of the CPU does not."""
        data, hidden, ih, hh = args[:4]
        if self._machine.owns(place(data)):
            first = hidden[0] if isinstance(hidden, (list, tuple)) else hidden
            for vector, weight in ((data, ih), (first, hh)):
                left, right = Operand.of("input", vector), Operand.of("weight", weight)
                if left.differs_from(right):
                    text = texts.same_device(
                        "mat2", right.device, left.device, "wrapper_CUDA_mm",
                        self._machine.kind.title,
                    )  # fmt: skip
                    raise device_error(RuntimeError, text, [left, right], func.__name__)
        return self._run(func, args, kwargs)

    def unpacked(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Lengths come back on the CPU."""
        padded, lengths = func(*args, **kwargs)
        put(padded, shown_place(args[0]))
        return padded, lengths

    def tensor_split(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Where to split is asked on the host."""
        name = next((n for n in ("indices_or_sections", *_SPLITS) if n in kwargs), "")
        where = argument(args, kwargs, 1, name)
        if not isinstance(where, Tensor):
            return self._run(func, args, kwargs)
        operand = Operand(_SPLITS[0], where, shown_place(where))
        if self._machine.owns(operand.device):
            text = f"tensor_split expected {_SPLITS[0]} to be on cpu, but it's on {operand.device}"
            raise device_error(RuntimeError, text, [operand], "tensor_split")
        if len(args) > 1:
            return self._run(_apart(func, where), (args[0], *args[2:]), kwargs)
        others = {key: value for key, value in kwargs.items() if key != name}
        return self._run(functools.partial(func, **{name: where}), args, others)

    def inner(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Compares types of devices; another index is left to the operators below."""
        operands = _operands((*args, *kwargs.values()))
        if len({operand.device.type for operand in operands}) > 1:
            _refuse(operands, _INNER, "inner")
        return self._run(func, args, kwargs)

    def distances(self, func: Any, args: Any, kwargs: Any) -> Any:
        """`cdist` compares devices itself where it multiplies matrices."""
        operands = _operands((*args[:2], *(kwargs[n] for n in ("x1", "x2") if n in kwargs)))
        p = argument(args, kwargs, 2, "p", 2.0)
        mode = argument(args, kwargs, 3, "compute_mode")
        large = any(operand.tensor.shape[-2:-1] > (25,) for operand in operands)
        always, never = "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"
        if p == 2 and mode != never and (large or mode == always):
            one_type = len({operand.device.type for operand in operands}) == 1
            _compare(operands, _CDIST_INDEX if one_type else _CDIST_TYPE, "cdist")
        return self._run(func, args, kwargs)

    def attention(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Query, key and value are compared first; the mask is left to the operators."""
        if survey((args, kwargs)) is MIXED:
            names = enumerate(("query", "key", "value"))
            operands = [Operand.of(n, argument(args, kwargs, i, n)) for i, n in names]
            _compare(operands, _ATTENTION, "attention")
        return self._run(func, args, kwargs)

    def gradient(self, func: Any, args: Any, kwargs: Any) -> Any:
        """A 0-dimensional spacing is read from wherever it is."""
        tensors = [t for t in tensors_in((*args, *kwargs.values())) if t.dim() > 0]
        _compare([Operand.of("spacing", tensor) for tensor in tensors], _GRADIENT, "gradient")
        return self.moving(func, args, kwargs)

    def matrix_rank(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Tolerances are compared with the matrix, 0-dimensional ones too."""
        matrix = Operand.of("input", args[0] if args else kwargs.get("A", kwargs.get("input")))
        tolerances = {"atol": argument(args, kwargs, 1, "tol")}
        tolerances |= {name: kwargs[name] for name in ("atol", "rtol") if name in kwargs}
        for name, tolerance in tolerances.items():
            if isinstance(tolerance, Tensor):
                _compare([matrix, Operand.of(name, tolerance)], _RANK[name], "matrix_rank")
        return self._run(func, args, kwargs)

    def least_squares(self, func: Any, args: Any, kwargs: Any) -> Any:
        """CUDA has one of the drivers that the CPU has."""
        where = survey((args, kwargs))
        if where is not None and where.type == "cuda" and self._machine.owns(where):
            if kwargs.get("driver") not in (None, "gels"):
                raise device_error(RuntimeError, _LEAST_SQUARES, _operands(args), "lstsq")
        return self._run(func, args, kwargs)

    def on_cpu_only(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Functions that come down to an operator which no accelerator has."""
        operands = _operands((*args, *kwargs.values()))
        if not any(self._machine.owns(operand.device) for operand in operands):
            return self._run(func, args, kwargs)
        bins = tensors_in((argument(args, kwargs, 1, "bins"),))
        of_numbers, of_tensors = _CPU_ONLY[func]
        operator = of_numbers if next(bins, None) is None else of_tensors
        text = texts.without_kernel(operator, self._machine.kind.title)
        raise device_error(NotImplementedError, text, operands, func.__name__)

    def ctc(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Targets and lengths are moved to where they are needed; the loss is beside the first."""
        result = self.moving(func, args, kwargs)
        put(result, shown_place(argument(args, kwargs, 0, "log_probs")))
        return result

    def moving(self, func: Any, args: Any, kwargs: Any) -> Any:
        """The function moves its operands to where the first one is."""
        with self._machine.thread.moving_operands():
            return self._run(func, args, kwargs)


def _refuse_backward(_: Any) -> NoReturn:
    text = "cudnn RNN backward can only be called in training mode"
    raise device_error(RuntimeError, text, [], "backward")


def _apart(func: Any, second: Any) -> Callable[..., Any]:
    """The function with its second argument kept out of the comparison."""
    return lambda first, *rest, **options: func(first, second, *rest, **options)


def _operands(values: Iterable[Any]) -> list[Operand]:
    return [Operand.of(f"tensor {index}", t) for index, t in enumerate(tensors_in(values))]


def _compare(operands: list[Operand], text: str, operation: str) -> None:
    """Refuse operands that are not all on one device."""
    if not common(operands)[1]:
        _refuse(operands, text, operation)


def _refuse(operands: list[Operand], text: str, operation: str) -> NoReturn:
    """Raise what a function says.

    Args:
        operands: what it was given.
        text: of the message. `{0}` stands for the first device, `{1}` for the first other one,
            `{index}` for the number of its tensor, and a tensor's name for where that is.
        operation: the function's name.
    """
    places = [operand.device for operand in operands]
    index = next(i for i, found in enumerate(places) if found != places[0])
    named = {operand.name: operand.device for operand in operands}
    text = text.format(places[0], places[index], index=index, **named)
    raise device_error(RuntimeError, text, operands, operation)


_SPLITS = ("tensor_indices_or_sections", "indices", "sections")
_BATCH_SIZES = (
    "batch_sizes should always be on CPU. Instances of PackedSequence should never be created "
    "manually. They should be instantiated by functions like pack_sequence and "
    "pack_padded_sequence in nn.utils.rnn. "
    "https://pytorch.org/docs/stable/nn.html#torch.nn.utils.rnn.pack_sequence"
)
_LEAST_SQUARES = "torch.linalg.lstsq: `driver` other than `gels` is not supported on CUDA"
_INNER = (
    "Expected tensor to have {0.type} DeviceType, but got tensor with {1.type} DeviceType (while "
    "checking arguments for inner())"
)
_CDIST_TYPE = "X1 and X2 must have the same device type. X1: {0.type} X2: {1.type}"
_CDIST_INDEX = "device of X1 ({0.index}) must match device of X2 ({1.index})"
_ATTENTION = (
    "Expected query, key, and value to have the same device type, but got query.device: {query} "
    "key.device: {key} and value.device: {value} instead."
)
_GRADIENT = (
    "torch.gradient expected each tensor to be on the same device, but got devices {0} and {1}!"
)
_RANK = {
    name: f"torch.linalg.matrix_rank: Expected {name} and input tensors to be on the same device, "
    f"but got {name} on {{1}} and input on {{0}}"
    for name in ("atol", "rtol")
}

_AGREEING: Mapping[str, tuple[Any, ...]] = {
    "meshgrid expects all tensors to have the same device": (
        _VF.meshgrid, torch.meshgrid, torch.cartesian_prod, _VF.cartesian_prod,
    ),
    "stft input and window must be on the same device but got self on {0} and window on {1}": (
        torch.stft, Tensor.stft,
    ),
    "istft input and window must be on the same device but got self on {0} and window on {1}": (
        torch.istft, Tensor.istft,
    ),
    "quantile() q tensor must be on the same device as the input tensor": (
        torch.quantile, Tensor.quantile, torch.nanquantile, Tensor.nanquantile,
    ),
    "multi_dot(): all tensors must be on the same device but tensor 0 is on {0} and tensor {index} "
    "on {1}": (torch.linalg.multi_dot, torch.chain_matmul),
    "Expected tensor to have {0} Device, but got tensor with {1} Device (while checking arguments "
    "for torch.take_along_dim():)": (torch.take_along_dim, Tensor.take_along_dim),
    "weight_norm: expected v_in and g_in to be on the same device, but v_in is on {0} and g_in is "
    "on {1}": (torch._weight_norm,),
}  # fmt: skip
"""Functions whose tensors have to be on one device, 0-dimensional ones too, by what they say."""

_CPU_ONLY: Mapping[Any, tuple[str, str]] = {
    torch.histogram: ("histogram.bin_ct", "histogram.bins_tensor"),
    Tensor.histogram: ("histogram.bin_ct", "histogram.bins_tensor"),
    torch.histogramdd: ("_histogramdd_bin_edges", "_histogramdd_from_bin_tensors"),
    Tensor.to_mkldnn: ("to_mkldnn", "to_mkldnn"),
}
"""Functions that come down to an operator which no accelerator has: the operator's name, and that
where bins are given as tensors."""
