"""Random numbers of accelerators.

One stream of random numbers serves the CPU and all accelerators, so that a program draws the
same numbers under emulation as on the CPU. A program that seeds the accelerator by itself, and
not as it has just seeded the CPU, gets a second stream, as it would on the real one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from devlint.runtime.virtual.errors import Operand, device_error
from devlint.runtime.virtual.modes import Handler, survey
from devlint.runtime.virtual.tags import CPU, place
from devlint.runtime.virtual.world import World

_DRAWING = """
bernoulli bernoulli_ cauchy_ exponential_ geometric_ log_normal_ multinomial normal normal_ poisson
rand rand_like randint randint_like randn randn_like random_ randperm uniform_ dropout dropout_
alpha_dropout feature_dropout feature_alpha_dropout rrelu rrelu_ binomial native_dropout
dropout1d dropout2d dropout3d gumbel_softmax multi_head_attention_forward
scaled_dot_product_attention lstm gru rnn_tanh rnn_relu
""".split()


class Randomness:
    """`torch.cuda.manual_seed` and its like."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._machine = world.machine
        self._shared = torch.default_generator
        self._own: torch.Generator | None = None
        """The second stream, if there is one."""
        self._seeded = self._shared.get_state()
        """The state of the shared stream when it was last seeded."""

    def functions(self) -> dict[str, Any]:
        """By name, as in `torch.cuda`."""
        return {
            "manual_seed": self.manual_seed,
            "manual_seed_all": self.manual_seed,
            "seed": self.seed,
            "seed_all": self.seed,
            "initial_seed": self.initial_seed,
            "get_rng_state": self.get_state,
            "set_rng_state": self.set_state,
            "get_rng_state_all": lambda: [self._stream.get_state() for _ in self._machine.devices],
            "set_rng_state_all": lambda new_states: self.set_state(next(iter(new_states))),
            "default_generators": tuple(
                _default_generator(self, device) for device in self._machine.devices
            ),
        }

    @property
    def _stream(self) -> torch.Generator:
        return self._shared if self._own is None else self._own

    def seed_both(self, seed_cpu: Callable[[Any], Any], seed: Any) -> Any:
        """`torch.manual_seed` seeds accelerators too: the streams are one again."""
        generator = seed_cpu(seed)
        self._own = None
        self._seeded = self._shared.get_state()
        return generator

    def set_hosts_state(self, set_state: Callable[[Tensor], None], new_state: Tensor) -> None:
        """`torch.set_rng_state`, which takes a state that is on the CPU."""
        _check_state(new_state)
        set_state(new_state)

    def manual_seed(self, seed: int) -> None:
        fresh = torch.equal(self._shared.get_state(), self._seeded)
        if fresh and int(seed) == self._shared.initial_seed():
            self._own = None
            return
        self._separate().manual_seed(int(seed))

    def seed(self) -> None:
        self._separate().seed()

    def initial_seed(self) -> int:
        return self._stream.initial_seed()

    def get_state(self, device: Any = None) -> Tensor:
        self._machine.resolve(device)
        return self._stream.get_state()

    def set_state(self, new_state: Tensor, device: Any = None) -> None:
        self._machine.resolve(device)
        _check_state(new_state)
        self._stream.set_state(new_state)

    def _separate(self) -> torch.Generator:
        if self._own is None:
            self._own = torch._C.Generator("cpu")
            self._add_handlers()
        return self._own

    def _add_handlers(self) -> None:
        """From now on, what draws on an accelerator draws from its own stream."""
        spaces = (torch, Tensor, F, torch._C._VariableFunctions)
        self._world.functions.wrap_handlers(_DRAWING, spaces, self._drawing)

    def _drawing(self, inner: Handler) -> Handler:
        if hasattr(inner, "_devlint_draws"):
            return inner

        def draw(func: Any, args: Any, kwargs: Any) -> Any:
            own = self._own
            if (
                own is None
                or kwargs.get("generator") is not None
                or not self._is_there(args, kwargs)
            ):
                return inner(func, args, kwargs)
            held = self._shared.get_state()
            self._shared.set_state(own.get_state())
            try:
                return inner(func, args, kwargs)
            finally:
                own.set_state(self._shared.get_state())
                self._shared.set_state(held)

        draw._devlint_draws = True  # type: ignore[attr-defined]
        return draw

    def _is_there(self, args: Any, kwargs: Any) -> bool:
        """Whether the numbers are for an accelerator."""
        asked = kwargs.get("device") or torch.utils._device.CURRENT_DEVICE
        target = self._machine.resolve(asked)
        if target is None:
            target = survey((args, kwargs))
        return target is not None and target is not CPU and self._machine.owns(target)


def _default_generator(source: Randomness, place: torch.device) -> torch.Generator:
    """The generator that draws on a device where a program names no other."""

    class Default(torch._C.Generator):
        device = place
        _devlint_is_default = True

        def get_state(self) -> Tensor:
            return source.get_state()

        def set_state(self, new_state: Tensor) -> Any:
            source.set_state(new_state)
            return self

        def manual_seed(self, seed: int) -> Any:
            source.manual_seed(seed)
            return self

        def seed(self) -> int:
            source.seed()
            return self.initial_seed()

        def initial_seed(self) -> int:
            return source.initial_seed()

    return Default()


def _check_state(state: Any) -> None:
    """Refuse the state of a generator that isn't on the host."""
    with torch._C.DisableTorchFunction():
        where = place(state) if isinstance(state, Tensor) else CPU
    if where is not CPU:
        text = "RNG state must be a torch.ByteTensor"
        raise device_error(TypeError, text, [Operand("new_state", state, where)])
