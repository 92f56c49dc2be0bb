"""What is told when a program ends: by which process, and in one piece."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable
from contextlib import suppress
from typing import TextIO


def at_end(tell: Callable[[], object]) -> Callable[[], None]:
    """Have something told when this process ends; returns what takes that back.

    A child that is forked from it has the same to do at its end, and doesn't do it.
    """
    process = os.getpid()

    def tell_once() -> None:
        if os.getpid() == process:
            tell()

    atexit.register(tell_once)
    return lambda: atexit.unregister(tell_once)


def write(stream: TextIO | None, text: str) -> None:
    """Write all of a text at once: other processes may write to the same place.

    The stream may be missing or closed, and perhaps nobody reads it any more.
    """
    if stream is not None and text:
        with suppress(OSError, ValueError):
            stream.flush()
            stream.write(text)
            stream.flush()


def rank_line() -> str:
    """Who this process is, among several that train together; empty where it is alone."""
    rank, count = os.environ.get("RANK", ""), os.environ.get("WORLD_SIZE", "1")
    if not rank or count == "1":
        return ""
    local = os.environ.get("LOCAL_RANK", "")
    where = f", local rank {local}" if local else ""
    return f"devlint: rank {rank} of {count}{where}:\n"
