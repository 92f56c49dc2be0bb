"""Which lines of a program copy tensors between devices, and make the host wait for one.

An accelerator works on its own while the program goes on, until the program wants to see a
result: a copy to the host, `.item()`, `if tensor:`. There it waits. Such lines are correct and
slow, and no error points at them.
"""

from __future__ import annotations

import sys
import threading
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from types import FrameType
from typing import Any

import torch

from devlint.runtime.explaining.definitions import line_of, shortened
from devlint.runtime.explaining.stack import owner_of
from devlint.runtime.operands import NO_STORAGE, Site
from devlint.runtime.timeline import Timeline
from devlint.runtime.transfer_lines import Line
from devlint.runtime.virtual.arrivals import ARRIVALS
from devlint.runtime.virtual.tags import parts_of
from devlint.safety import escaping

WAITS = "waits"
"""The row of the timeline that counts waits; the others are bytes by direction."""
NOTHING = "No copies between devices, and no waiting for one."
_SOURCE = 50
"""Characters of a line's source that the table shows."""


class _PerThread(threading.local):
    paused = 0


class TransferLog:
    """Notes the copies and the waits of a program, by line. Threads may share one.

    >>> log = TransferLog()
    >>> with devlint.emulate("cuda", transfers=log):
    ...     train()
    >>> print(log.table())
    """

    def __init__(self) -> None:
        self._lines: dict[tuple[str, int, str], Line] = {}
        self._directions: Counter[str] = Counter()
        self._timeline = Timeline()
        self._lock = threading.Lock()
        self._thread = _PerThread()
        self._steps = -1

    def __bool__(self) -> bool:
        return bool(self._lines)

    @property
    def lines(self) -> list[Line]:
        """The lines, those that wait most often first, then those that copy most."""
        with self._lock:
            return sorted(self._lines.values(), key=lambda line: (-line.waits, -line.bytes))

    # --- writing down

    def copied(self, source: torch.device, target: torch.device, tensor: Any, wait: bool) -> None:
        """Note a copy between devices.

        Args:
            source: where the data was.
            target: where it is now.
            tensor: what was copied, a tensor or a storage.
            wait: whether the call was to return only when the copy is complete.
        """
        kinds = source.type, target.type
        if "meta" in kinds or source == target:
            return
        direction = _direction(source, target)
        waits = _waits(direction, tensor, wait)
        if waits:
            ARRIVALS.end()
        if self._thread.paused:
            return
        size = _bytes(tensor)
        site = _programs_line(sys._getframe(1))
        with self._lock:
            line = self._line(site, f"{source} to {target}")
            line.copies += 1
            line.bytes += size
            line.waits += waits
            line.again += line.is_again(tensor)
            self._directions[direction] += size
            self._timeline.add(direction, size)
            if waits:
                self._timeline.add(WAITS, 1)

    def waited(self, what: str, tensor: Any = None) -> None:
        """Note that the host had to wait until the accelerator was done.

        Args:
            what: what the program did, as in `item`.
            tensor: whose value was asked for, if it was one tensor's.
        """
        ARRIVALS.end()
        if self._thread.paused:
            return
        site = _programs_line(sys._getframe(1))
        with self._lock:
            self._line(site, what).waits += 1
            self._timeline.add(WAITS, 1)

    def stepped(self) -> None:
        """Note that a training step has ended: what is counted a step lies between two of them."""
        with self._lock:
            self._steps += 1
            for line in self._lines.values():
                line.last = line.amounts
                if not self._steps:
                    line.first = line.amounts

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Let one thing that was noted already do what it does in many steps."""
        self._thread.paused += 1
        try:
            yield
        finally:
            self._thread.paused -= 1

    def _line(self, site: Site, what: str) -> Line:
        key = site.file, site.line, site.function
        line = self._lines.get(key)
        if line is None:
            line = self._lines[key] = Line(site)
        line.what[what] += 1
        return line

    # --- telling

    def table(self) -> str:
        """What was noted, as plain text."""
        lines = self.lines
        if not lines:
            return f"{NOTHING}\n"
        rows = [_HEAD, *(tuple(map(escaping.line, _row(line))) for line in lines)]
        widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
        text = "".join(f"{_aligned(row, widths)}\n" for row in rows)
        worst = lines[0]
        if not worst.waits:
            return text
        times = "once" if worst.waits == 1 else f"{worst.waits:,} times"
        return f"{escaping.line(worst.place)} waits for the device {times}\n\n{text}"

    def as_record(self) -> dict[str, Any]:
        """What was noted, for JSON.

        `steps` is how many training steps there were behind the first one, and `in_steps` what a
        line has done in them; `again` counts copies of what hasn't changed since the last one.
        """
        lines = self.lines
        with self._lock:
            directions = dict(self._directions)
            timeline = self._timeline.as_record()
            steps = self._steps
        return {
            "waits": sum(line.waits for line in lines),
            "copies": sum(line.copies for line in lines),
            "bytes": directions,
            "steps": max(steps, 0),
            "timeline": timeline,
            "lines": [
                {
                    "file": line.site.file,
                    "line": line.site.line,
                    "function": line.site.function,
                    "source": line_of(line.site.file, line.site.line),
                    "waits": line.waits,
                    "copies": line.copies,
                    "bytes": line.bytes,
                    "again": line.again,
                    "in_steps": line.in_steps,
                    "what": dict(line.what.most_common()),
                }
                for line in lines
            ],
        }


def _direction(source: torch.device, target: torch.device) -> str:
    ends = ("host" if device.type == "cpu" else "device" for device in (source, target))
    return " to ".join(ends)


def _waits(direction: str, tensor: Any, wait: bool) -> bool:
    """Whether the host waits for a copy.

    Between accelerators it never does. With `non_blocking=True` a copy to the host goes into
    memory that is pinned for it, so it needn't wait; a copy from the host has to be made ready
    first, unless what it copies is pinned.
    """
    if direction == "device to device":
        return False
    return wait or (direction == "host to device" and not is_pinned(tensor))


def is_pinned(tensor: Any) -> bool:
    """Whether a tensor or a storage is in pinned memory, or is said to be."""
    with torch._C.DisableTorchFunction():
        try:
            storage = tensor.untyped_storage() if isinstance(tensor, torch.Tensor) else tensor
            emulated = getattr(storage, "_devlint_pinned", None)  # in an emulation
            return bool(tensor.is_pinned() if emulated is None else emulated)
        except NO_STORAGE:
            return False


def _bytes(tensor: Any) -> int:
    if isinstance(tensor, torch.Tensor):
        with torch._C.DisableTorchFunction():
            is_dense = tensor.layout is torch.strided
            parts = [tensor] if is_dense else list(parts_of(tensor))  # what a sparse one holds
            return sum(int(part.numel()) * int(part.element_size()) for part in parts)
    return int(tensor.nbytes())


@lru_cache(maxsize=4096)
def _is_programs(file: str) -> bool:
    is_generated = file.startswith("<eval_with_key>")  # what torch.fx has written
    return not is_generated and owner_of(file) in ("program", "library")


def _programs_line(frame: FrameType) -> Site:
    """The innermost line of the program, or of a library that isn't torch, from a frame on."""
    for each, line in traceback.walk_stack(frame):
        if _is_programs(each.f_code.co_filename):
            return Site.of(each.f_code, line or 0)
    return Site("torch", 0, "", 0)


# --- the table

_HEAD = ("line", "source", "waits", "copies", "bytes", "what")
_NUMBERS = (2, 3, 4)


def _row(line: Line) -> tuple[str, ...]:
    where = f"{line.place} in {line.site.function}" if line.site.function else line.place
    what = ", ".join(_times(what, count) for what, count in line.what.most_common())
    return (
        where,
        shortened(line_of(line.site.file, line.site.line), _SOURCE),
        f"{line.waits:,}",
        f"{line.copies:,}",
        size_text(line.bytes),
        what,
    )


def _times(what: str, count: int) -> str:
    return what if count == 1 else f"{what} x{count:,}"


def size_text(count: int) -> str:
    """As in `1.5 MiB`."""
    if count < 1024:
        return f"{count} B" if count else "-"
    size = float(count)
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        size /= 1024
        if size < 1024 or unit == "TiB":
            return f"{size:.1f} {unit}"
    raise AssertionError(size)


def _aligned(row: tuple[str, ...], widths: list[int]) -> str:
    cells = (
        cell.rjust(width) if column in _NUMBERS else cell.ljust(width)
        for column, (cell, width) in enumerate(zip(row, widths, strict=True))
    )
    return "  ".join(cells).rstrip()
