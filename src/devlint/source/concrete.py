"""LibCST's tree of a text, just as it is read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

import libcst as cst

REFUSED = (cst.ParserSyntaxError, cst.CSTValidationError, cst.CSTLogicError)
"""What LibCST raises where it takes no text."""


def tree_of(text: str) -> cst.Module:
    """The tree of a text. Raises one of `REFUSED`."""
    with unchecked():
        return cst.parse_module(text)


@contextmanager
def unchecked() -> Iterator[None]:
    """Make nodes without a check. LibCST checks each one, also where it reads it or goes over it:
    that takes a sixth of its time, and refuses some of what Python takes, such as
    `if(a if b else c):`, or fails at it (`if(lambda: 0)():`)."""
    global _users
    with _lock:
        _users += 1
        _of_nodes.__post_init__ = _no_check
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if not _users:
                _of_nodes.__post_init__ = _check


def _no_check(node: cst.CSTNode) -> None:
    """In place of LibCST's."""


_of_nodes: Any = cst.CSTNode
_check = _of_nodes.__post_init__
_lock = Lock()
_users = 0
