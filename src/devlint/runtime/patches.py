"""Changes of torch that are all taken back."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

_MISSING: Any = object()


class Patches(ExitStack):
    """Attributes that are replaced for a while, and other changes with a way back.

    `close` takes all of it back, the last first, whatever fails on the way.
    """

    def set(self, owner: Any, name: str, value: Any) -> None:
        """Replace an attribute of a module, a class or an object."""
        held = getattr(owner, "__dict__", {}).get(name, _MISSING)
        if held is _MISSING and not isinstance(owner, type) and hasattr(type(owner), name):
            held = getattr(owner, name)
        if held is _MISSING:
            self.callback(delattr, owner, name)
        else:
            self.callback(setattr, owner, name, held)
        setattr(owner, name, value)

    def replace(self, owner: Any, values: dict[str, Any]) -> None:
        """Replace several attributes."""
        for name, value in values.items():
            self.set(owner, name, value)

    def wrap(self, owner: Any, name: str, *others: Any) -> Callable[[Callable[..., Any]], None]:
        """Decorate what is called in the place of a function or method, with that before its
        arguments.

        Args:
            owner: the module or the class that has it.
            name: of the function.
            others: modules that have the same one under that name.
        """

        def put(wrapper: Callable[..., Any]) -> None:
            real = getattr(owner, name)

            @functools.wraps(real)
            def wrapped(*args: Any, **kwargs: Any) -> Any:
                return wrapper(real, *args, **kwargs)

            for each in (owner, *others):
                self.set(each, name, wrapped)

        return put


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

    def __enter__(self) -> None:
        with self._lock:
            if not self._holders:
                self._make(self._patches)
            self._holders += 1

    def __exit__(self, *details: object) -> None:
        with self._lock:
            self._holders -= 1
            if not self._holders:
                self._patches.close()
