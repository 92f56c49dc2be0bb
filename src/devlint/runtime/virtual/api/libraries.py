"""Parts of torch that look at devices by themselves: DataParallel, optimizers, compilers."""

from __future__ import annotations

import functools
import importlib
import sys
import warnings
from contextlib import nullcontext
from typing import Any

import torch
import torch.cuda.comm
import torch.nn.parallel.comm
from torch import Tensor

from devlint.runtime.patches import Patches
from devlint.runtime.virtual.errors import Operand, device_error
from devlint.runtime.virtual.machine import Machine
from devlint.runtime.virtual.mode_stack import FAST_PATHS
from devlint.runtime.virtual.tags import CPU, put, shown_place, tensors_in
from devlint.runtime.virtual.world import World, is_ours

_TRACER_WARNING: type[Warning] = torch.jit.TracerWarning  # type: ignore[attr-defined]


def patch(world: World, patches: Patches) -> None:
    """Patch all of them."""
    _patch_data_parallel(world.machine, patches)
    _patch_compilers(world, patches)
    _patch_wrappers(world.machine, patches)
    _patch_nested(world.machine, patches)
    _patch_attention(world, patches)
    patches.enter_context(FAST_PATHS)


def _patch_data_parallel(machine: Machine, patches: Patches) -> None:
    """The C++ functions that send pieces of tensors to several devices."""

    def device(target: Any) -> torch.device:
        found = machine.resolve(machine.kind.type if target is None else target)
        assert found is not None
        return found

    def pieces(tensor: Tensor, sizes: Any, count: int, dim: int) -> tuple[Tensor, ...]:
        return tensor.split(list(sizes), dim) if sizes else tensor.chunk(count, dim)

    def scatter(
        tensor: Tensor, devices: Any, chunk_sizes: Any, dim: int, streams: Any
    ) -> list[Tensor]:
        chunks = pieces(tensor, chunk_sizes, len(devices), dim)
        return [chunk.to(device(d)) for chunk, d in zip(chunks, devices, strict=False)]

    def scatter_out(tensor: Tensor, out: Any, dim: int, streams: Any) -> list[Tensor]:
        chunks = pieces(tensor, [each.size(dim) for each in out], len(out), dim)
        return [written(i, *each) for i, each in enumerate(zip(out, chunks, strict=True))]

    def broadcast(tensor: Tensor, devices: Any) -> tuple[Tensor, ...]:
        return tuple(tensor.to(device(d)) for d in devices)

    def broadcast_out(tensor: Tensor, out: Any) -> tuple[Tensor, ...]:
        return tuple(written(i, each, tensor) for i, each in enumerate(out))

    def written(index: int, out: Tensor, tensor: Tensor) -> Tensor:
        found = shown_place(out)
        if not machine.owns(found):
            text = (
                "Expected all output tensors to be CUDA tensors, but output tensor at index "
                f"{index} has device '{found}'"
            )
            raise device_error(RuntimeError, text, [Operand("out", out, found)], "out")
        return out.copy_(tensor)

    def gather(tensors: Any, dim: int, destination: Any) -> Tensor:
        target = CPU if destination in (-1, "cpu") else device(destination)
        return torch.cat([tensor.to(target) for tensor in tensors], dim)

    def gather_out(tensors: Any, out: Tensor, dim: int) -> Tensor:
        return out.copy_(torch.cat([tensor.to(shown_place(out)) for tensor in tensors], dim))

    def broadcast_coalesced(tensors: Any, devices: Any, buffer_size: int = 0) -> Any:
        return [[tensor.to(device(d)) for tensor in tensors] for d in devices]

    def reduce_add(inputs: Any, destination: Any = None) -> Tensor:
        target = device(destination)
        total: Tensor = functools.reduce(torch.add, [tensor.to(target) for tensor in inputs])
        return total

    def reduce_add_coalesced(inputs: Any, destination: Any = None, buffer_size: int = 0) -> Any:
        return tuple(reduce_add(row, destination) for row in zip(*inputs, strict=True))

    bindings = (
        scatter, scatter_out, broadcast, broadcast_out, gather, gather_out, broadcast_coalesced
    )  # fmt: skip
    patches.replace(torch._C, {f"_{function.__name__}": function for function in bindings})
    for module in (torch.nn.parallel.comm, torch.cuda.comm):
        patches.replace(module, {f.__name__: f for f in (reduce_add, reduce_add_coalesced)})


def _patch_compilers(world: World, patches: Patches) -> None:
    """Compiled code is C++, which takes an emulated tensor for one of the CPU: run it eagerly."""

    def run_eagerly(model: Any = None, **kwargs: Any) -> Any:
        world.limit("torch.compile: the code runs eagerly")
        return (lambda function: function) if model is None else model

    def refuse(*args: Any, **kwargs: Any) -> Any:
        world.refuse("torch.export", ": export outside of the emulation")

    patches.set(torch, "compile", run_eagerly)
    patches.set(importlib.import_module("torch.export"), "export", refuse)
    patches.set(torch.nn.Module, "compile", lambda module, *args, **kwargs: run_eagerly(module))

    @patches.wrap(torch.jit, "script")
    def script(compiled: Any, obj: Any, *args: Any, **kwargs: Any) -> Any:
        if is_ours(sys._getframe(2).f_code.co_filename):
            # torch compiles some of its own, with names from the frame that asks.
            frames = 2 + kwargs.pop("_frames_up", 0)
            return compiled(obj, *args, _frames_up=frames, **kwargs)
        world.limit("torch.jit.script: the code runs eagerly")
        if isinstance(obj, torch.nn.Module):
            # What torch.compile leaves here is called instead, and isn't copied or pickled.
            obj._compiled_call_impl = functools.partial(_as_scripted, obj)
        return obj

    @patches.wrap(torch._jit_internal, "module_has_exports")
    def is_to_be_compiled(has_exports: Any, module: torch.nn.Module) -> bool:
        # A tracer leaves what is compiled already.
        done = getattr(module._compiled_call_impl, "func", None) is _as_scripted
        return not done and bool(has_exports(module))


def _as_scripted(module: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
    """Call a module as scripted code is called: a tracer doesn't look into it, and its errors are
    TorchScript's.

    Raises:
        RuntimeError: of its own, and for wrong arguments.
        torch.jit.Error: for any other error.
    """
    is_traced = torch._C._get_tracing_state() is not None
    with warnings.catch_warnings() if is_traced else nullcontext():
        if is_traced:
            warnings.simplefilter("ignore", _TRACER_WARNING)
        try:
            return module._call_impl(*args, **kwargs)
        except RuntimeError:
            raise
        except TypeError as error:
            raise RuntimeError(str(error)) from error
        except Exception as error:
            raise torch.jit.Error(f"{type(error).__name__}: {error}") from error


def _patch_wrappers(machine: Machine, patches: Patches) -> None:
    """Subclasses that wrap tensors say their device when they are made."""
    make = Tensor._make_wrapper_subclass  # type: ignore[attr-defined]

    def made(cls: Any, *args: Any, **kwargs: Any) -> Any:
        target = kwargs.get("device")
        target = machine.resolve(target) if target is not None else None
        if target is None or not machine.owns(target):
            return make(cls, *args, **kwargs)
        wrapper = make(cls, *args, **{**kwargs, "device": CPU})
        wrapper._devlint_device = target
        return wrapper

    patches.set(Tensor, "_make_wrapper_subclass", staticmethod(made))
    # C++ reads its arguments before any mode can: it knows no stream but its own.
    patches.set(Tensor, "record_stream", lambda tensor, stream: None)


def _patch_nested(machine: Machine, patches: Patches) -> None:
    """Nested tensors of strided layout are made by C++ that no mode sees."""
    bindings: Any = torch._C
    make = bindings._nested.nested_tensor

    def nested_tensor(tensor_list: Any, *, device: Any = None, **kwargs: Any) -> Tensor:
        target = machine.resolve(device)
        with torch._C.DisableTorchFunction():
            made: Tensor = make(tensor_list, device=CPU, **kwargs)
            if target is None:
                target = next(map(shown_place, tensors_in((tensor_list,))), CPU)
            put(made, target)
        return made

    patches.set(bindings._nested, "nested_tensor", nested_tensor)


_CPUS_ATTENTION = ("flash", "math")
"""The kernels of attention that the CPU has too."""


def _patch_attention(world: World, patches: Patches) -> None:
    """Where a program allows only kernels that the CPU doesn't have, its own stand in for them.

    C++ reads which of them are allowed, so what a program has said is kept here.
    """
    bindings: Any = torch._C
    names = ("flash", "math", "mem_efficient", "cudnn", "overrideable")
    held = [name for name in names if hasattr(bindings, f"_set_sdp_use_{name}")]
    allow = {name: getattr(bindings, f"_set_sdp_use_{name}") for name in held}
    said = {name: getattr(bindings, f"_get_{name}_sdp_enabled")() for name in held}
    stands_in = False

    def set_allowed(name: str, allowed: bool) -> None:
        nonlocal stands_in
        said[name] = allowed
        allow[name](allowed)
        needed = any(said.values()) and not any(said[each] for each in _CPUS_ATTENTION)
        if needed and not stands_in:
            world.limit("scaled_dot_product_attention: the CPU's kernel replaces the chosen one")
        stands_in = needed
        allow_the_cpus()

    def allow_the_cpus() -> None:
        for name in _CPUS_ATTENTION:
            allow[name](stands_in or said[name])

    @patches.callback
    def take_back() -> None:
        nonlocal stands_in
        stands_in = False
        allow_the_cpus()

    for name in held:
        patches.set(bindings, f"_set_sdp_use_{name}", functools.partial(set_allowed, name))
    for name in _CPUS_ATTENTION:
        patches.set(bindings, f"_get_{name}_sdp_enabled", functools.partial(said.get, name))
