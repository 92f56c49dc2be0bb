"""Changes of torch that are all taken back."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

_MISSING: Any = object()


class Patches:
    """Attributes that are replaced for a while, and other changes with a way back."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], object]] = []

    def set(self, owner: Any, name: str, value: Any) -> None:
        """Replace an attribute of a module, a class or an object."""
        held = (
            vars(owner).get(name, _MISSING)
            if isinstance(owner, type)
            else getattr(owner, name, _MISSING)
        )
        if held is _MISSING:
            self._undo.append(lambda: delattr(owner, name))
        else:
            self._undo.append(lambda: setattr(owner, name, held))
        setattr(owner, name, value)

    def replace(self, owner: Any, values: dict[str, Any]) -> None:
        """Replace several attributes."""
        for name, value in values.items():
            self.set(owner, name, value)

    def later(self, undo: Callable[[], object]) -> None:
        """Add something to take back."""
        self._undo.append(undo)

    def undo(self) -> None:
        """Take all of it back, the last first, whatever fails on the way."""
        failed: Exception | None = None
        while self._undo:
            try:
                self._undo.pop()()
            except Exception as error:
                failed = error
        if failed is not None:
            raise failed


class Shared:
    """Changes that several may need at once: the first makes them, the last takes them back.

    Args:
        make: makes the changes.
    """

    def __init__(self, make: Callable[[Patches], None]) -> None:
        self._make = make
        self._patches = Patches()
        self._holders = 0
        self._lock = threading.Lock()

    def hold(self) -> Callable[[], None]:
        """Have the changes until what is returned is called, once."""
        with self._lock:
            if not self._holders:
                self._make(self._patches)
            self._holders += 1
        return self._release

    def _release(self) -> None:
        with self._lock:
            self._holders -= 1
            if not self._holders:
                self._patches.undo()
