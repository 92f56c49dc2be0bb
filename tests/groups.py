"""Process groups that end after everything that used them."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch.distributed as dist


@contextmanager
def groups_end_last() -> Iterator[None]:
    """Keep each process group that begins in the block until all that used it is collected.

    What lets go of a group's last reference ends it, and waits for its threads. Where Python lets
    go, it gives its lock away meanwhile; a `DistributedDataParallel` that outlives the call of
    `destroy_process_group` keeps the lock, which those threads may ask for: both wait forever. Such
    a model may be part of a circle, so that not even its last name's end is its own.
    """
    begin, kept = dist.init_process_group, []

    def begin_and_keep(*args: Any, **kwargs: Any) -> None:
        begin(*args, **kwargs)
        kept.append(dist.group.WORLD)

    dist.init_process_group = begin_and_keep
    try:
        yield
    finally:
        dist.init_process_group = begin
        if kept:
            gc.collect()
