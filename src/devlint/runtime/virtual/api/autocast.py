"""Autocast of the accelerator: which functions run in which type.

C++ takes the tensors for the CPU's, whose autocast has other lists. It is on as well, for the
matrix products that both have; what differs is done here, function by function.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.amp.autocast_mode
import torch.nn.functional as F
from torch import Tensor

from devlint.runtime.patches import Patches
from devlint.runtime.virtual.modes import Handler
from devlint.runtime.virtual.precision import (
    WITHOUT,
    autocast_of,
    get_autocast_dtype,
    host_casting,
    is_autocast_enabled,
    set_host_autocast,
)
from devlint.runtime.virtual.tags import place, tensors_in
from devlint.runtime.virtual.world import World

_SINGLE = """
acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt sinh tan pow __pow__ __rpow__
softplus layer_norm native_layer_norm rms_norm group_norm cosine_similarity poisson_nll_loss
cosine_embedding_loss nll_loss hinge_embedding_loss kl_div l1_loss smooth_l1_loss huber_loss
mse_loss margin_ranking_loss multilabel_margin_loss soft_margin_loss triplet_margin_loss
multi_margin_loss binary_cross_entropy_with_logits dist pdist cdist renorm logsumexp interpolate
cross_entropy upsample norm nuclear_norm frobenius_norm
""".split()
"""These run in float32, and so does what they return."""

_SINGLE_RESULT = "prod softmax log_softmax cumprod cumsum sum vector_norm matrix_norm".split()
"""These do so unless a `dtype` is given."""

_WIDEST = "addcdiv addcmul atan2 bilinear cross dot vdot grid_sample tensordot scatter_add".split()
"""These run in the widest type among their arguments."""

_CELLS = "lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell".split()
"""These run in autocast's type as a whole, and the CPU's autocast casts parts of them alone."""

_LAYERS = "lstm gru rnn_tanh rnn_relu".split()
"""So do these. The CPU may choose a kernel before it casts, which has none for the type then."""

_AS_GIVEN = """
adaptive_avg_pool3d adaptive_max_pool3d avg_pool3d cholesky cholesky_inverse cholesky_solve
ctc_loss fft fft2 fftn hfft ifft ifft2 ifftn ihfft irfft irfft2 irfftn rfft rfft2 rfftn cond det
eig eigh eigvals eigvalsh inv lstsq matrix_rank multi_dot pinv qr solve svd svdvals slogdet lu
max_pool3d median nanmedian nanquantile quantile polar stft trace triangular_solve view_as_complex
""".split()
"""The CPU's autocast casts for these, and the accelerator's doesn't."""

_SPACES = (torch, Tensor, F, torch.linalg, torch.fft, torch.special, torch._C._nn)

_UNSAFE = (
    "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\n"
    "Many models use a sigmoid layer right before the binary cross entropy layer.\n"
    "In this case, combine the two layers using "
    "torch.nn.functional.binary_cross_entropy_with_logits\n"
    "or torch.nn.BCEWithLogitsLoss.  binary_cross_entropy_with_logits and BCEWithLogits are\n"
    "safe to autocast."
)


def patch(world: World, patches: Patches) -> None:
    """Add the functions' handlers, and turn the CPU's autocast on with the accelerator's."""
    _Casting(world).add()
    _patch_context(world, patches)


def _patch_context(world: World, patches: Patches) -> None:
    autocast = torch.amp.autocast_mode.autocast
    kind, thread = world.machine.kind.type, world.machine.thread
    counted = {kind: "autocast", "cpu": "host_autocast"}

    @contextmanager
    def hosts_own() -> Iterator[None]:
        """Give the real CPU its own autocast back while a context changes either of them."""
        if thread.autocast:
            set_host_autocast(thread.hosts_own)
        try:
            yield
        finally:
            if thread.autocast:
                thread.hosts_own = autocast_of("cpu")
                set_host_autocast(autocast_of(kind))

    @patches.wrap(autocast, "__enter__")
    def enter(real: Any, context: Any) -> Any:
        with hosts_own():
            result = real(context)
            if context.device in counted:
                thread.enter(counted[context.device])
        return result

    @patches.wrap(autocast, "__exit__")
    def leave(real: Any, context: Any, *details: Any) -> Any:
        with hosts_own():
            if context.device in counted:
                thread.leave(counted[context.device])
            return real(context, *details)

    @patches.wrap(torch, "is_autocast_enabled")
    def is_enabled(real: Any, device_type: str | None = None) -> bool:
        if device_type is None:
            return is_autocast_enabled()
        if device_type == "cpu" and thread.autocast:
            return thread.hosts_own[0]
        return is_autocast_enabled(device_type)

    @patches.wrap(torch, "get_autocast_dtype")
    def get_dtype(real: Any, device_type: str) -> torch.dtype:
        if device_type == "cpu" and thread.autocast:
            return thread.hosts_own[1]
        return get_autocast_dtype(device_type)


class _Casting:
    """Handlers that cast before the function runs."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._machine = world.machine

    def add(self) -> None:
        """Put them around the handlers that there are."""
        for names, cast in (
            (_SINGLE, self._to_single),
            (_SINGLE_RESULT, self._to_single_result),
            (_WIDEST, self._to_widest),
            (_CELLS, self._to_narrow),
            (_LAYERS, self._to_narrow_layer),
            (_AS_GIVEN, lambda args, kwargs: (args, kwargs)),
            (["binary_cross_entropy"], self._refuse),
        ):
            wrap = functools.partial(self._wrap, cast)
            self._world.functions.wrap_handlers(names, _SPACES, wrap)

    def _wrap(self, cast: Callable[..., tuple[Any, Any]], inner: Handler) -> Handler:
        kind, thread = self._machine.kind.type, self._machine.thread

        def run(func: Any, args: Any, kwargs: Any) -> Any:
            if not thread.autocast or not is_autocast_enabled(kind):
                return inner(func, args, kwargs)
            if not any(self._machine.owns(place(t)) for t in tensors_in((*args, *kwargs.values()))):
                return inner(func, args, kwargs)
            args, kwargs = cast(args, kwargs)
            with host_casting(WITHOUT):
                return inner(func, args, kwargs)

        return run

    def _eligible(self, value: Any) -> bool:
        return (
            isinstance(value, Tensor)
            and value.is_floating_point()
            and value.dtype is not torch.float64
            and self._machine.owns(place(value))
        )

    def _cast(self, args: Any, kwargs: Any, dtype: torch.dtype) -> tuple[Any, Any]:
        def to(value: Any) -> Any:
            if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
                return type(value)(to(item) for item in value)
            if not self._eligible(value) or value.dtype is dtype:
                return value
            return self._world.functions.run(Tensor.to, (value, dtype), {})

        return tuple(to(arg) for arg in args), {name: to(value) for name, value in kwargs.items()}

    def _to_single(self, args: Any, kwargs: Any) -> tuple[Any, Any]:
        return self._cast(args, kwargs, torch.float32)

    def _to_single_result(self, args: Any, kwargs: Any) -> tuple[Any, Any]:
        given = kwargs.get("dtype") is not None or any(type(arg) is torch.dtype for arg in args)
        return (args, kwargs) if given else self._cast(args, kwargs, torch.float32)

    def _to_widest(self, args: Any, kwargs: Any) -> tuple[Any, Any]:
        found = {t.dtype for t in tensors_in((*args, *kwargs.values())) if self._eligible(t)}
        if len(found) < 2:
            return args, kwargs
        return self._cast(args, kwargs, torch.float32)

    def _to_narrow(self, args: Any, kwargs: Any) -> tuple[Any, Any]:
        return self._cast(args, kwargs, get_autocast_dtype(self._machine.kind.type))

    def _to_narrow_layer(self, args: Any, kwargs: Any) -> tuple[Any, Any]:
        # cuDNN 9.1 takes no bfloat16, and casts to float16 whatever autocast's type is.
        if self._machine.has_cudnn and args[0].dtype is not torch.bfloat16:
            return self._cast(args, kwargs, torch.float16)
        return self._to_narrow(args, kwargs)

    def _refuse(self, args: Any, kwargs: Any) -> tuple[Any, Any]:
        raise RuntimeError(_UNSAFE)
