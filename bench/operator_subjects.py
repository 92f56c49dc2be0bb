"""The entries of PyTorch's own test databases, as functions with the samples to call them with.

The part of bench/operators.py that knows torch.testing._internal, which is private: it may change
with any release of PyTorch.
"""

from __future__ import annotations

import copy
import functools
import unittest
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from operator_calls import Call, on_a_clone, rebuilt, spread, sums, with_out

DTYPES = (torch.float32, torch.complex64, torch.int64, torch.bool)
"""An entry runs with the first of these that it takes on both devices."""

SKIPPED = unittest.skip("").__qualname__
"""What tells a test that is always skipped from one that needs some library."""

MODULE_SAMPLES = 6
"""Some modules have hundreds, and their operators have been called before them."""

FOREACH_ON_DEMAND = ("Adafactor",)
"""Optimizers that nowhere take foreach by default: it needs more memory."""

STEPS = 3
"""How often an optimizer steps."""


@dataclass(frozen=True)
class Subject:
    """One entry of a database."""

    name: str
    calls: tuple[Call, ...]
    variants: dict[str, Callable[..., Any]]
    """`function`, and the other ways to call the same."""
    order: int = 0
    """2 where there are second derivatives, 1 where there are gradients."""
    kernel: bool = True
    """Whether PyTorch has it for accelerators at all."""
    out: bool = False
    """Whether PyTorch's tests claim that out= on another device raises."""
    error_inputs: Callable[[str], Any] | None = None

    @property
    def function(self) -> Callable[..., Any]:
        return self.variants["function"]


@functools.cache
def subjects() -> dict[str, Callable[[], Subject]]:
    """What makes each subject, by name. Raises SystemExit where a package is missing."""
    try:
        from torch.testing._internal import (
            common_methods_invocations,
            common_modules,
            common_optimizers,
        )
    except ImportError as error:
        raise SystemExit(f"PyTorch's test databases need a package more: {error}") from error
    found: dict[str, Callable[[], Subject]] = {}
    for op in common_methods_invocations.op_db:
        name = f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name
        if op.supported_dtypes("cpu"):
            found[name] = functools.partial(operator, name, op)
    for kind in ("unary", "binary", "pointwise", "reduce", "other"):
        for op in getattr(common_methods_invocations, f"foreach_{kind}_op_db"):
            found[op.name] = functools.partial(foreach, op)
    for info in common_modules.module_db:
        for training in (True, False) if info.train_and_eval_differ else (True,):
            name = f"{info.name}.train" if training else f"{info.name}.eval"
            found[name] = functools.partial(module, name, info, training)
    for info in common_optimizers.optim_db:
        for implementation in implementations(info):
            name = f"optim.{info.optim_cls.__name__}.{implementation}"
            found[name] = functools.partial(optimizer, name, info, implementation)
    return found


def dtype_of(op: Any) -> torch.dtype:
    """The dtype to run an operator with: one that both devices have, if there is one."""
    on_cpu = op.supported_dtypes("cpu")
    both = on_cpu & op.supported_dtypes("cuda")
    return next(
        dtype
        for supported in (both, on_cpu)
        for dtype in (*DTYPES, *sorted(supported, key=str))
        if dtype in supported
    )


def differentiable(op: Any, dtype: torch.dtype) -> bool:
    return bool(op.supports_autograd) and (dtype.is_floating_point or dtype.is_complex)


def operator(name: str, op: Any) -> Subject:
    """An entry of the operator database."""
    dtype = dtype_of(op)
    calls = [
        Call((sample.input, *sample.args), sample.kwargs, sample.output_process_fn_grad)
        for sample in op.sample_inputs("cpu", dtype, requires_grad=differentiable(op, dtype))
    ]
    variants = {"function": op.op}
    for variant in ("method", "operator"):
        if getattr(op, f"{variant}_variant"):
            variants[variant] = getattr(op, f"{variant}_variant")
    for variant in ("inplace", "inplace_operator"):
        if getattr(op, f"{variant}_variant"):
            variants[variant] = on_a_clone(getattr(op, f"{variant}_variant"))
    variants |= {f"alias {alias.name}": alias.op for alias in op.aliases}
    if op.supports_out:
        variants["out"] = with_out(op.op)
    return Subject(
        name,
        tuple(calls),
        variants,
        order=differentiable(op, dtype) * (2 if op.supports_gradgrad else 1),
        kernel=bool(op.supported_dtypes("cuda")),
        out=op.supports_out and tested(op, "test_out", dtype),
        error_inputs=op.error_inputs
        if op.error_inputs_func and tested(op, "test_errors", dtype)
        else None,
    )


def tested(op: Any, test: str, dtype: torch.dtype) -> bool:
    """Whether PyTorch runs one of its tests for an operator on an accelerator, and it succeeds."""
    return not any(
        decorator is unittest.expectedFailure or getattr(decorator, "__qualname__", "") == SKIPPED
        for decorator in op.get_decorators("TestCommon", test, "cuda", dtype, {})
    )


def foreach(op: Any) -> Subject:
    """A function over lists of tensors, such as the optimizers use."""
    dtype = torch.float32
    samples = op.sample_inputs("cpu", dtype, requires_grad=False)
    calls = [Call((sample.input, *sample.args), sample.kwargs) for sample in samples]
    variants = {}
    if op.method_variant:
        variants["function"] = op.method_variant
    if op.inplace_variant:
        variants["inplace" if variants else "function"] = on_clones(op.inplace_variant)
    return Subject(op.name, tuple(calls), variants)


def on_clones(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that writes a list of tensors and returns nothing, called on clones."""

    def inplace(first: Sequence[torch.Tensor], *args: Any, **kwargs: Any) -> list[torch.Tensor]:
        clones = [tensor.clone() for tensor in first]
        function(clones, *args, **kwargs)
        return clones

    return inplace


def module(name: str, info: Any, training: bool) -> Subject:
    """A module. Its parameters and buffers are operands too, by the keyword `module`."""
    calls: list[Call] = []
    builders: list[Callable[[Any], torch.nn.Module]] = []
    samples = info.module_inputs_func(info, "cpu", torch.float32, True, training)
    for sample in spread([one for one in samples if one.forward_input], MODULE_SAMPLES):
        build = functools.partial(built, info, sample.constructor_input, training)
        given = sample.forward_input
        keywords = {"there": torch.device("cpu"), "number": len(builders), "module": {}}
        if not info.is_lazy:
            keywords["module"] = dict(build(None).state_dict(keep_vars=True))
        builders.append(build)
        calls.append(Call(given.args, {**given.kwargs, **keywords}))

    def called(*args: Any, there: Any, number: int, module: Any, **kwargs: Any) -> Any:
        if info.is_lazy:
            return builders[number](None).to(there)(*args, **kwargs)
        return torch.func.functional_call(builders[number](None), module, args, kwargs)

    def moved(*args: Any, there: Any, number: int, module: Any, **kwargs: Any) -> Any:
        return stepped(builders[number](None).to(there), args, kwargs)

    def made_there(*args: Any, there: Any, number: int, module: Any, **kwargs: Any) -> Any:
        made = builders[number](there)
        if not info.is_lazy:
            made.load_state_dict(builders[number](None).state_dict())
        return stepped(made, args, kwargs)

    variants = {"function": called, "moved": moved, "made there": made_there}
    order = 2 if info.supports_gradgrad else 1
    return Subject(name, tuple(calls), variants, order)


def built(info: Any, arguments: Any, training: bool, there: torch.device | None) -> torch.nn.Module:
    """A module made on the plain CPU, or on a device with what it is made of."""
    torch.manual_seed(0)
    args, kwargs = arguments.args, arguments.kwargs
    if there is None:
        made = info.module_cls(*args, **kwargs)
    else:
        args, kwargs = (
            rebuilt(value, lambda leaf: copied(leaf, there)) for value in (args, kwargs)
        )
        with there:
            made = info.module_cls(*args, **kwargs)
    made.train(training)
    return made


def copied(value: Any, there: torch.device) -> Any:
    """A copy of a tensor or module on a device, and the device instead of "cpu"."""
    if isinstance(value, (torch.Tensor, torch.nn.Module)):
        return copy.deepcopy(value).to(there)
    return there if isinstance(value, str) and value == "cpu" else value


def stepped(made: torch.nn.Module, args: Any, kwargs: Any) -> Any:
    """The result of a module, and what a step of training does to it."""
    torch.manual_seed(0)
    result = made(*args, **kwargs)
    parameters = dict(made.named_parameters())
    totals = sums(result)
    if totals and parameters:
        torch.autograd.backward(totals, inputs=list(parameters.values()), retain_graph=True)
    gradients = {name: parameter.grad for name, parameter in parameters.items()}
    return result, gradients, dict(made.named_buffers())


def implementations(info: Any) -> Iterator[str]:
    """The ways that an optimizer can do its steps."""
    yield "forloop"
    if "foreach" in info.supported_impls:
        yield "foreach"
        yield "default"
    if "fused" in info.supported_impls and "cpu" in info.supports_fused_on:
        yield "fused"


def optimizer(name: str, info: Any, implementation: str) -> Subject:
    """An optimizer with every set of options that its tests have for the CPU."""
    samples = info.optim_inputs_func(device="cpu")
    calls = [Call((torch.device("cpu"), dict(sample.kwargs)), {}) for sample in samples]

    def trained(device: Any, options: dict[str, Any]) -> Any:
        values = torch.linspace(-1, 1, 12), torch.linspace(-2, 1, 8)
        parameters = [value.reshape(4, -1).to(device).requires_grad_() for value in values]
        chosen = {**options, **flags(info, implementation, device)}
        made = info.optim_cls(parameters, **chosen)

        def closure() -> torch.Tensor:
            made.zero_grad()
            loss = torch.stack([(parameter**2).sum() for parameter in parameters]).sum()
            loss.backward()
            if info.only_supports_sparse_grads:
                for parameter in parameters:
                    parameter.grad = parameter.grad.to_sparse()
            return loss

        for _ in range(STEPS):
            made.step(closure)
        return [parameter.detach() for parameter in parameters], made.state_dict()["state"]

    return Subject(name, tuple(calls), {"function": trained})


def flags(info: Any, implementation: str, device: torch.device) -> dict[str, bool]:
    """The options that choose an implementation."""
    if implementation == "default":
        # Where nobody asks for anything PyTorch takes foreach on accelerators, and only there.
        foreach = device.type == "cpu" and info.optim_cls.__name__ not in FOREACH_ON_DEMAND
        return {"foreach": True} if foreach else {}
    if implementation == "forloop":
        return {"foreach": False} if "foreach" in info.supported_impls else {}
    return {implementation: True}
