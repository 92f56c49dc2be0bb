"""Process groups that end after everything that used them."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch.distributed as dist
from torch.distributed import distributed_c10d


@contextmanager
def groups_end_last() -> Iterator[None]:
    """Keep each process group that begins in the block until all that used it is collected.

    What lets go of a group's last reference ends it, and waits for its threads. Where Python lets
    go, it gives its lock away meanwhile; a `DistributedDataParallel` that outlives the call of
    `destroy_process_group` keeps the lock, which those threads may ask for: both wait forever. Such
    a model may be part of a circle, so that not even its last name's end is its own. So it is with
    the groups of a device mesh, which nobody begins by name: all that there are at an end are kept.
    """
    end, kept = dist.destroy_process_group, []

    def keep_and_end(*args: Any, **kwargs: Any) -> None:
        kept.extend(distributed_c10d._world.pg_map)
        end(*args, **kwargs)

    dist.destroy_process_group = keep_and_end
    try:
        yield
    finally:
        dist.destroy_process_group = end
        if kept:
            gc.collect()
