"""Changes of torch that are all taken back."""

from __future__ import annotations

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
