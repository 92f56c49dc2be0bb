"""What reads a copy to the host before it has arrived.

A call reads the copies that it is given if it gives a number, or a tensor with memory of its own.
What looks into an array that shares the memory of a copy isn't seen; but if nobody has waited while
the array lived, nobody can have read it in time.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from devlint.runtime.explain import Explanation, explanation_of
from devlint.runtime.explaining.definitions import shown_line
from devlint.runtime.explaining.mistakes import Mistake, described
from devlint.runtime.explaining.scene import Scene
from devlint.runtime.explaining.stack import live
from devlint.runtime.guard.calls import named
from devlint.runtime.operands import NO_STORAGE
from devlint.runtime.reader import READER, place
from devlint.runtime.virtual.arrivals import ARRIVALS, Begun, Early, version_of
from devlint.runtime.virtual.tags import carrier_of, tensors_in
from devlint.runtime.waits import VALUES
from devlint.torchapi import Effect

_READING = frozenset({*VALUES, Tensor.tolist, Tensor.__repr__})
"""They give no tensor, and read what they are given. Others that give none ask for its shape."""

_MOVING = frozenset({Tensor.copy_, torch.tensor, torch.as_tensor, torch.asarray})
"""They move what they are given, besides what the table calls a move."""

Tell = Callable[[Explanation], object]
"""Is given what is said of a copy that is read too early."""


class Readers:
    """What has read copies too early, as one tracing sees it.

    Args:
        tell: is told of each.
    """

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._arrays: list[weakref.finalize[Any, Any]] = []
        self._waits = 0

    def called(self, func: Any, early: list[Early], result: Any) -> None:
        """A call has come back that was given copies under way."""
        for each in early:
            try:
                with torch._C.DisableTorchFunction():
                    told = self._looked_at(func, each, result)
            except Exception:  # whatever the program has given, it goes on
                continue
            if told is not None:
                self._tell(told)

    def _looked_at(self, func: Any, early: Early, result: Any) -> Explanation | None:
        """What is to be said of one copy, if the call has used what is in it."""
        if ARRIVALS.of(early.tensor) is not early.begun:
            return None  # the call has waited, or has begun another copy
        address = _address(result)
        if address == early.tensor.data_ptr():
            self._watch(result, early)
            return None
        if address is not None:
            return self._told(early, "read")
        if version_of(early.tensor) != early.version:
            return self._told(early, "changed")
        return self._told(early, "read") if self._is_read(func, result, early.tensor) else None

    def close(self) -> None:
        """No waits are seen from now on: tell of the arrays that are still there."""
        arrays, self._arrays = self._arrays, []
        for array in arrays:
            array()

    def _is_read(self, func: Any, result: Any, tensor: Tensor) -> bool:
        if func in _READING:
            return True
        name, row = named(func)
        if name.endswith("__get__") or (row is not None and row.effect is Effect.CREATE_LIKE):
            return False
        made = list(tensors_in((result,)))
        if any(map(partial(_is_view, tensor), made)):
            return False
        is_move = row is not None and row.effect in (Effect.MOVE, Effect.MOVE_IN_PLACE)
        if is_move or func in _MOVING:
            # A copy back to the accelerator comes behind this one, in the order of the stream.
            return any(place(each).type == "cpu" for each in made)
        return bool(made)

    def _watch(self, array: Any, early: Early) -> None:
        if early.begun.waits != self._waits:
            self._waits = early.begun.waits
            self._arrays.clear()  # those of copies that have come since
        told = self._told(early, "read")
        self._arrays.append(weakref.finalize(array, self._say, told, early.begun))

    def _say(self, told: Explanation, begun: Begun) -> None:
        if ARRIVALS.is_under_way(begun):
            self._tell(told)

    def _told(self, early: Early, verb: str) -> Explanation:
        begun, scene = early.begun, Scene(live(), READER)
        facts = READER.facts("", early.tensor)
        found = scene.named(facts, scene.use) if scene.use >= 0 else None
        text = "" if found is None else found.text
        started = shown_line(begun.site.file, begun.site.line)
        mistake = Mistake(
            headline=f"{text or 'a tensor'} is {verb} before its copy from {begun.source} has "
            "arrived: non_blocking=True only starts it",
            lines=[described("tensor", text, facts), ("copied at", started)],
            fix="remove non_blocking=True from the copy, or wait before it is read: "
            f"torch.{begun.source.type}.synchronize()",
            rule="unsynchronized-read",
            module=scene.home_label,
            argument=text,
            devices=(facts.device, str(begun.source)),
        )
        return explanation_of(scene, mistake)


def _is_view(tensor: Tensor, other: Tensor) -> bool:
    """Whether a tensor shares the memory of another."""
    try:
        return carrier_of(other) is carrier_of(tensor)
    except NO_STORAGE:
        return False


def _address(value: Any) -> int | None:
    """Where the memory of an array of numpy's is; nothing for other values."""
    is_array = hasattr(type(value), "__array_interface__")
    return value.__array_interface__["data"][0] if is_array else None
