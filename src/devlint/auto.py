"""`import devlint.auto` turns the guard on where `DEVLINT_GUARD` in the environment says so.

    DEVLINT_GUARD=strict python train.py

The import stands in the program, before its others, or in a `sitecustomize` module. Where the
variable isn't set it does nothing, and torch is not imported before the program imports it.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType


class _Afterwards:
    """A finder that turns the guard on as soon as torch has been imported.

    It finds torch where the finders behind it do. Who only asks where torch is, without importing
    it, gets the same answer and leaves this finder in its place.
    """

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != "torch" or self not in sys.meta_path:
            return None
        for finder in sys.meta_path[sys.meta_path.index(self) + 1 :]:
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                self._follow(spec)
                return spec
        return None

    def _follow(self, spec: ModuleSpec) -> None:
        """Have the loader say when it is done. It is this spec's own, and torch's again then."""
        loader = spec.loader

        def exec_module(module: ModuleType) -> None:
            del loader.exec_module  # type: ignore[union-attr]
            loader.exec_module(module)  # type: ignore[union-attr]
            if self in sys.meta_path:
                sys.meta_path.remove(self)
                _install()

        if loader is not None:
            loader.exec_module = exec_module  # type: ignore[method-assign]


def _install() -> None:
    # By its name: this module is imported where there may be no torch.
    try:
        importlib.import_module("devlint.runtime.guard").install_guard()
    except ImportError as error:  # a torch that is too old, or broken: it isn't for us to say so
        _complain(f"there is no guard: {error}")


def _complain(text: str) -> None:
    from devlint.safety.escaping import line

    print(line(f"devlint: {text}"), file=sys.stderr)


def stand_back() -> None:
    """Turn no guard on, where torch isn't imported yet: `devlint run` has one of its own."""
    sys.meta_path[:] = [each for each in sys.meta_path if not isinstance(each, _Afterwards)]


def _start() -> None:
    mode = os.environ.get("DEVLINT_GUARD", "")
    if mode in ("", "off"):
        return
    if mode not in ("explain", "strict", "trace", "collect"):
        text = "it must be off, explain, strict, trace or collect; no guard is on"
        _complain(f"DEVLINT_GUARD={mode}: {text}")
    elif sys.modules.get("torch") is not None:
        _install()
    else:
        sys.meta_path.insert(0, _Afterwards())


_start()
