"""What a pretended device says of itself, which is the same for all of them."""

from __future__ import annotations

from devlint.runtime.virtual.api.memory import TOTAL


class Properties:
    """What `get_device_properties` says."""

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


MEASURED = {
    "utilization": 0, "memory_usage": 0, "temperature": 40, "power_draw": 60_000,
    "clock_rate": 1410,
}  # fmt: skip
"""What sensors say of a device that does nothing: percent, degrees Celsius, mW and MHz."""
