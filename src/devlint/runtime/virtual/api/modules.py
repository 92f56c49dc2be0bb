"""`torch.cuda`, `torch.xpu`, `torch.mps` and `torch.accelerator` of the emulated machine."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch

from devlint.runtime.patches import Patches
from devlint.runtime.virtual import texts
from devlint.runtime.virtual.api.memory import TOTAL, Memory
from devlint.runtime.virtual.api.objects import Streams
from devlint.runtime.virtual.api.profiling import cuda_runtime
from devlint.runtime.virtual.api.randomness import Randomness
from devlint.runtime.virtual.api.surface import answering, stand_in
from devlint.runtime.virtual.machine import Machine, real_device_type
from devlint.runtime.virtual.running import RUNNING
from devlint.runtime.virtual.world import World


def patch(world: World, patches: Patches) -> None:
    """Patch all of them."""
    Surface(world).patch(patches)


class Properties:
    """What `get_device_properties` says, the same of all devices."""

    def __init__(self, kind: str) -> None:
        self.name = f"Emulated {kind.upper()} device"
        self.major, self.minor = 8, 0
        self.total_memory = TOTAL
        self.multi_processor_count = 108
        self.max_threads_per_multi_processor = 2048
        self.max_threads_per_block = 1024
        self.regs_per_multiprocessor = 65536
        self.shared_memory_per_block = 49152
        self.shared_memory_per_block_optin = 166912
        self.shared_memory_per_multiprocessor = 167936
        self.L2_cache_size = 40 << 20
        self.warp_size = 32
        self.is_integrated, self.is_multi_gpu_board = False, False
        self.gcnArchName = ""
        self.uuid = "00000000-0000-0000-0000-000000000000"
        self.pci_bus_id, self.pci_device_id, self.pci_domain_id = 0, 0, 0

    def __repr__(self) -> str:
        return (
            f"_DeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
            f"total_memory={self.total_memory >> 20}MB, "
            f"multi_processor_count={self.multi_processor_count})"
        )


_ANSWERS = {
    "is_available": True,
    "_lazy_call": None,
    "can_device_access_peer": True,
    "get_arch_list": ["sm_80"],
    "is_bf16_supported": True,
    "is_tf32_supported": True,
    "is_current_stream_capturing": False,
    "ipc_collect": None,
    "get_sync_debug_mode": 0,
    "set_sync_debug_mode": None,
    "nccl.version": (2, 27, 3),
}
"""What functions answer, whatever they are asked."""

_MPS_ANSWERS = {
    "recommended_max_memory": TOTAL,
    "profiler.start": None,
    "profiler.stop": None,
    "profiler.is_capturing_metal": False,
    "profiler.is_metal_capture_enabled": False,
}

_CUDNN_ANSWERS = {
    "is_acceptable": False,  # the weights of RNNs aren't packed: they are in the CPU's memory
    "is_available": True,
    "version": 90100,
}

_MEASURED = {
    "utilization": 0, "memory_usage": 0, "temperature": 40, "power_draw": 60_000,
    "clock_rate": 1410,
}  # fmt: skip
"""What sensors say of a device that does nothing: percent, degrees Celsius, mW and MHz."""


class Surface:
    """The functions that all kinds of accelerators have, under their several names."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._machine: Machine = world.machine
        self._properties = Properties(world.machine.kind.type)
        self._streams = Streams(world.machine, self.synchronize)
        self._memory = Memory(world)
        self._random = Randomness(world)
        self._cudart = cuda_runtime(self._memory)
        self._pools = itertools.count(1)

    def patch(self, patches: Patches) -> None:
        """Put the functions into `torch.<kind>`, `torch.accelerator` and `torch`."""
        kind = self._machine.kind.type
        patches.set(torch, "Stream", self._streams.stream_type)
        patches.set(torch, "Event", self._streams.event_type)
        patches.wrap(torch, "manual_seed", torch.random)(self._random.seed_both)
        patches.wrap(torch, "set_rng_state", torch.random)(self._random.set_hosts_state)
        for name in texts.LEGACY_TYPES:
            if hasattr(torch, name):
                patches.set(torch, name, _host_type(name, getattr(torch, name)))
        if kind == "mps":
            self._patch_mps(patches)
        else:
            self._patch_module(getattr(torch, kind), patches)
        if kind == "cuda":
            self._patch_cuda_backends(patches)
        if hasattr(torch._C, "_get_accelerator"):  # what torch's own Python asks
            patches.set(torch._C, "_get_accelerator", lambda check=False: torch.device(kind))
        if hasattr(torch, "accelerator"):
            functions = {**self._functions(), "get_device_capability": self._capability}
            stand_in(torch.accelerator, functions, self._world.refuse, patches)
            for name in ("_accelerator_exchangeDevice", "_accelerator_maybeExchangeDevice"):
                patches.set(torch._C, name, self._exchange)

    def _patch_module(self, module: ModuleType, patches: Patches) -> None:
        stand_in(module, self._functions(), self._world.refuse, patches)
        for name, dtype in texts.LEGACY_TYPES.items():
            patches.set(module, name, self._legacy_type(name, dtype))
            if hasattr(getattr(module, "sparse", None), name):
                patches.set(module.sparse, name, self._legacy_type(f"sparse.{name}", dtype))

    def _functions(self) -> dict[str, Any]:
        """By name, as in any of the modules: each takes those that it has."""
        machine, streams = self._machine, self._streams
        return {
            **{name: answering(value) for name, value in _ANSWERS.items()},
            "device_count": lambda: machine.count,
            "current_accelerator": lambda check_available=False: torch.device(machine.kind.type),
            **dict.fromkeys(
                ("current_device", "current_device_index", "current_device_idx"),
                self.current_device,
            ),
            **dict.fromkeys(("set_device", "set_device_index", "set_device_idx"), self.set_device),
            "_exchange_device": self._exchange,
            "_maybe_exchange_device": self._exchange,
            "is_initialized": lambda: machine.initialized,
            "init": machine.wake,
            "_lazy_init": machine.wake_for_torch,
            "_is_in_bad_fork": lambda: machine.forked,
            "synchronize": self.synchronize,
            "get_device_name": lambda device=None: self._of(device).name,
            "get_device_capability": lambda device=None: (self._of(device).major, 0),
            "get_device_properties": lambda device=None: self._of(device),
            **self._memory.functions(),
            **self._random.functions(),
            "Stream": streams.stream_type,
            "Event": streams.event_type,
            "ExternalStream": streams.external,
            "get_stream_from_external": streams.external,
            "current_stream": streams.current,
            "default_stream": streams.default,
            "set_stream": streams.set_current,
            "graph_pool_handle": lambda: (0, next(self._pools)),
            "cudart": lambda: self._cudart,
            "_cudart": self._cudart,
            "list_gpu_processes": self._processes,
            **{name: self._measuring(value) for name, value in _MEASURED.items()},
        }

    def _patch_mps(self, patches: Patches) -> None:
        for name in ("is_available", "is_built"):
            patches.set(torch.backends.mps, name, answering(True))
        functions = {
            **self._functions(),
            **dict.fromkeys(
                ("current_allocated_memory", "driver_allocated_memory"), self._memory.used
            ),
            **{name: answering(value) for name, value in _MPS_ANSWERS.items()},
        }
        stand_in(torch.mps, functions, self._world.refuse, patches)

    def _patch_cuda_backends(self, patches: Patches) -> None:
        if torch.version.cuda is None:
            patches.set(torch.version, "cuda", "12.8")
        patches.set(torch.backends.cuda, "is_built", answering(True))
        if not hasattr(torch._C, "_cuda_CUDAAllocator_AllocatorState"):
            # torch's compiler, which it imports to forget what was compiled, asks for it by name.
            patches.set(torch._C, "_cuda_CUDAAllocator_AllocatorState", object)
        for name, value in _CUDNN_ANSWERS.items():
            patches.set(torch.backends.cudnn, name, answering(value))

    # --- functions

    def _measuring(self, value: Any) -> Callable[..., Any]:
        def measure(device: Any = None) -> Any:
            self._of(device)
            return value

        return measure

    def _capability(self, device: Any = None) -> dict[str, Any]:
        self._of(device)
        return {"supported_dtypes": set(texts.LEGACY_TYPES.values())}

    def _processes(self, device: Any = None) -> str:
        self._of(device)
        return f"GPU:{self._machine.resolve_or_current(device).index}\nno processes are running"

    def _of(self, device: Any) -> Properties:
        if device is not None:
            index: int | None = (
                device if isinstance(device, int) else real_device_type(device).index
            )
            if index is not None and not 0 <= index < self._machine.count:
                raise AssertionError("Invalid device id")
        self._machine.wake()
        return self._properties

    def current_device(self) -> int:
        self._machine.wake()
        return self._machine.thread.current

    def set_device(self, device: Any) -> None:
        if isinstance(device, int) and device < 0:
            return
        found = self._machine.resolve(device)
        if found is None or not self._machine.owns(found):
            raise ValueError(f"Expected a {self._machine.kind.type} device, but got: {device}")
        self._machine.thread.current = found.index

    def synchronize(self, device: Any = None) -> None:
        self._machine.resolve(self._machine.kind.type if device is None else device)
        for log in RUNNING.logs:
            log.waited("synchronize")

    def _exchange(self, index: int) -> int:
        """Choose a device, unless the index is negative; returns the one that was chosen before."""
        if index < 0:
            return -1
        before = self._machine.thread.current
        self._machine.thread.current = self._machine.at(index).index
        return before

    def _legacy_type(self, name: str, dtype: torch.dtype) -> type:
        """`torch.cuda.FloatTensor`, `torch.cuda.sparse.FloatTensor` and their like: a factory, a
        name for `.type()`, a test."""
        kind = self._machine.kind.type
        is_sparse = name.startswith("sparse.")
        layout = torch.sparse_coo if is_sparse else torch.strided
        of_data: Any = torch.sparse_coo_tensor if is_sparse else torch.tensor

        def make(*args: Any) -> torch.Tensor:
            if all(isinstance(each, (int, torch.Size)) for each in args):
                return torch.empty(*(args or (0,)), dtype=dtype, layout=layout, device=kind)
            made: torch.Tensor = of_data(*args, dtype=dtype, device=kind)
            return made

        return _tensor_type(f"torch.{kind}.{name}", dtype, make)


def _host_type(name: str, real: Any) -> type:
    """`torch.FloatTensor`, of which no tensor of an accelerator is an instance."""
    return _tensor_type(f"torch.{name}", real.dtype, real)


def _tensor_type(full_name: str, dtype: torch.dtype, make: Callable[..., torch.Tensor]) -> type:
    class Meta(type):
        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, torch.Tensor) and instance.type() == full_name

    class Typed(metaclass=Meta):
        def __new__(cls, *args: Any, **kwargs: Any) -> Any:
            return make(*args, **kwargs)

    Typed.dtype = dtype  # type: ignore[attr-defined]
    Typed._devlint_name = full_name  # type: ignore[attr-defined]
    Typed.__module__, _, Typed.__name__ = full_name.rpartition(".")
    Typed.__qualname__ = Typed.__name__
    return Typed
