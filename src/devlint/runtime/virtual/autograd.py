"""Gradients: where they are, and the checks that autograd makes of them.

The engine runs in C++ and no mode sees it. A gradient is placed where a program can first see
it: `.grad` is where its tensor is, a hook's argument where the hook's tensor is, the arguments of
a custom backward where the outputs of its forward were.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import BackwardCFunction

from devlint.runtime.patches import Patches
from devlint.runtime.virtual import texts
from devlint.runtime.virtual.errors import Operand, device_error
from devlint.runtime.virtual.gradients import Gradients, known_operand
from devlint.runtime.virtual.modes import Handler
from devlint.runtime.virtual.tags import (
    CPU,
    NEUTRAL,
    argument,
    is_tagged,
    place,
    put,
    shown_place,
)
from devlint.runtime.virtual.world import World


class Autograd:
    """Handlers and patches of autograd."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._machine = world.machine

    def handlers(self) -> Mapping[Any, Handler]:
        """What is handled, by function."""
        return {
            **Gradients(self._machine).handlers(),
            Tensor.backward: self.backward,
            torch.autograd.backward: self.backward_of_many,
            torch.autograd.grad: self.gradients,
            Tensor.register_hook: self.register_hook,
            Tensor.register_post_accumulate_grad_hook: self.register_accumulate_hook,
        }

    def patch(self, patches: Patches) -> None:
        """Let code that the engine calls be seen, and check what custom functions return."""

        @patches.wrap(torch.autograd.graph, "_engine_run_backward", torch.autograd)
        def run(engine: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
            with self._machine.thread.inside("engine"), self._world.modes():
                return engine(*args, **kwargs)

        patches.set(torch.autograd.Function, "apply", classmethod(self._forward()))
        patches.wrap(BackwardCFunction, "apply")(self._backward)
        self._patch_saved_tensor_hooks(patches)

    # --- running the engine

    def backward(self, func: Any, args: Any, kwargs: Any) -> Any:
        self._check_given([args[0]], [argument(args, kwargs, 1, "gradient")])
        return func(*args, **kwargs)

    def backward_of_many(self, func: Any, args: Any, kwargs: Any) -> Any:
        tensors = argument(args, kwargs, 0, "tensors")
        given = argument(args, kwargs, 1, "grad_tensors")
        self._check_given(_as_list(tensors), _as_list(given))
        return func(*args, **kwargs)

    def gradients(self, func: Any, args: Any, kwargs: Any) -> Any:
        outputs = argument(args, kwargs, 0, "outputs")
        inputs = argument(args, kwargs, 1, "inputs")
        given = argument(args, kwargs, 2, "grad_outputs")
        self._check_given(_as_list(outputs), _as_list(given))
        found = func(*args, **kwargs)
        return tuple(
            gradient if gradient is None else self._placed(gradient, shown_place(tensor))
            for gradient, tensor in zip(found, _as_list(inputs), strict=False)
        )

    def _placed(self, gradient: Tensor, expected: torch.device) -> Tensor:
        if place(gradient) is not expected:
            if is_tagged(gradient):
                gradient = gradient.clone()
            put(gradient, expected)
        return gradient

    def _check_given(self, tensors: list[Any], given: list[Any]) -> None:
        """The gradients that a program starts with are where its tensors are.

        Raises:
            RuntimeError: if one isn't.
        """
        for index, (tensor, gradient) in enumerate(zip(tensors, given, strict=False)):
            if not (isinstance(tensor, Tensor) and isinstance(gradient, Tensor)):
                continue
            root = Operand.of("tensor", tensor)
            start = known_operand(self._machine, "gradient", gradient)
            if start.differs_from(root) and gradient.dim() > 0:
                text = texts.gradient_device(index, root.device, start.device)
                raise device_error(RuntimeError, text, [root, start], "backward")

    # --- hooks

    def register_hook(self, func: Any, args: Any, kwargs: Any) -> Any:
        tensor, hook = args
        expected = shown_place(tensor)

        def placed(gradient: Tensor) -> Any:
            with torch._C.DisableTorchFunction():
                gradient = self._placed(gradient, expected)
            changed = hook(gradient)
            if isinstance(changed, Tensor):
                with torch._C.DisableTorchFunction():
                    self._check_hook(hook, gradient, changed, expected)
            return changed

        return func(tensor, placed, **kwargs)

    def _check_hook(
        self, hook: Any, gradient: Tensor, changed: Tensor, expected: torch.device
    ) -> None:
        value = known_operand(self._machine, "value", changed)
        if value.device is not NEUTRAL and value.device.type != expected.type:
            was = texts.type_string(gradient, expected)
            got = texts.type_string(changed, value.device)
            name = getattr(hook, "__name__", type(hook).__name__)
            text = f"hook '{name}' has changed the type of value (was {was} got {got})"
            raise device_error(RuntimeError, text, [value], name)

    def register_accumulate_hook(self, func: Any, args: Any, kwargs: Any) -> Any:
        tensor, hook = args
        return func(tensor, self._world.seen(hook))

    # --- functions with a backward of their own

    def _forward(self) -> Callable[..., Any]:
        own = torch.autograd.Function.__dict__.get("apply")
        apply = own or torch._C._FunctionBase.__dict__["apply"]

        def run(cls: Any, *args: Any, **kwargs: Any) -> Any:
            with self._world.modes():  # they are off in what subclasses of tensors do
                result = apply.__get__(None, cls)(*args, **kwargs)
            outputs = result if isinstance(result, tuple) else (result,)
            with torch._C.DisableTorchFunction():
                node = next(
                    (o.grad_fn for o in outputs if isinstance(o, Tensor) and o.grad_fn is not None),
                    None,
                )
                if hasattr(node, "_forward_cls"):
                    node._devlint_places = (_places(args), _places(outputs))  # type: ignore[union-attr]
            return result

        return run

    def _backward(self, apply: Callable[..., Any], node: Any, *gradients: Any) -> Any:
        inputs, outputs = getattr(node, "_devlint_places", ((), ()))
        with torch._C.DisableTorchFunction():
            for gradient, expected in zip(gradients, outputs, strict=False):
                if isinstance(gradient, Tensor) and expected is not None:
                    if not is_tagged(gradient) and expected is not CPU:
                        put(gradient, expected)
        result = apply(node, *gradients)
        returned = result if isinstance(result, tuple) else (result,)
        with torch._C.DisableTorchFunction():
            for index, (gradient, expected) in enumerate(zip(returned, inputs, strict=False)):
                if isinstance(gradient, Tensor) and expected is not None:
                    self._check_returned(type(node).__name__, index, gradient, expected)
        return result

    def _check_returned(
        self, name: str, index: int, gradient: Tensor, expected: torch.device
    ) -> None:
        returned = known_operand(self._machine, "gradient", gradient)
        # The engine moves a 0-dimensional gradient by itself.
        if returned.device not in (NEUTRAL, expected) and gradient.dim() > 0:
            text = (
                f"Function {name} returned an invalid gradient at index {index} - "
                f"expected device {expected} but got {returned.device}"
            )
            raise device_error(RuntimeError, text, [returned], name)

    # --- hooks on what is saved for the backward

    def _patch_saved_tensor_hooks(self, patches: Patches) -> None:
        hooks = torch.autograd.graph.saved_tensors_hooks
        seen, thread = self._world.seen, self._machine.thread

        @patches.wrap(hooks, "__init__")
        def init(real: Any, hook: Any, pack: Any, unpack: Any) -> None:
            real(hook, seen(pack), seen(unpack))

        @patches.wrap(hooks, "__enter__")
        def enter(real: Any, hook: Any) -> None:
            thread.enter("watched")  # what is packed has to be placed before the call returns
            real(hook)

        @patches.wrap(hooks, "__exit__")
        def leave(real: Any, hook: Any, *details: Any) -> None:
            thread.leave("watched")
            real(hook, *details)


def _as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _places(values: Any) -> tuple[torch.device | None, ...]:
    return tuple(shown_place(v) if isinstance(v, Tensor) else None for v in values)
