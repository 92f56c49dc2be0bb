"""Parts of a run for machines that know nothing of each other: which files are whose.

Each machine works the whole partition out, from the same files, and lints its part. The partition's
digest says that all have seen the same.
"""

from __future__ import annotations

import hashlib
import heapq
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from devlint.config.settings import SettingsError
from devlint.config.sources import Source
from devlint.driver.engine import stamp
from devlint.driver.remote import meaning
from devlint.driver.units import Overview
from devlint.safety import files, writing
from devlint.safety.files import LARGEST_SOURCE


@dataclass(frozen=True, slots=True)
class Shard:
    """One part of so many. `partition` is the digest of all of them."""

    number: int
    of: int
    partition: str
    sources: tuple[Source, ...]


def shard(sources: Sequence[Source], number: int, of: int, costs: Mapping[str, float]) -> Shard:
    """A part of the sources, counted from 1; the parts are as equal as may be in costs, which are
    given by path, and else are bytes.

    A component of imports stays whole, unless it costs more than an equal part.
    """
    overview = Overview(sources, costs)
    total = sum(component.cost for component in overview.components)
    parts = [part for each in overview.components for part in each.cut(total / of)]
    parts.sort(key=lambda part: (-part.cost, part.sources[0].path))
    loads = [(0.0, index) for index in range(1, of + 1)]
    owner: dict[str, int] = {}
    for part in parts:  # the largest first, each to whoever has the least
        load, index = heapq.heappop(loads)
        heapq.heappush(loads, (load + part.cost, index))
        owner.update((source.path, index) for source in part.sources)
    hashed = hashlib.blake2b(f"{stamp()} {of}".encode(), digest_size=16)
    meanings: dict[int, str] = {}
    for source in sources:
        settings = id(source.settings)
        if settings not in meanings:
            meanings[settings] = meaning(source.settings)
        said = (
            _name(source.shown), overview.contents[source.path].digest, meanings[settings],
            str(owner[source.path]),
        )  # fmt: skip
        hashed.update("\0".join((*said, "")).encode("utf-8", "surrogateescape"))
    own = tuple(source for source in sources if owner[source.path] == number)
    return Shard(number, of, hashed.hexdigest(), own)


def _name(shown: str) -> str:
    return shown.replace(os.sep, "/")


def read_costs(path: str) -> dict[str, float]:
    """What files have cost, by absolute path. Raises `SettingsError`."""
    try:
        known = json.loads(files.read(path, LARGEST_SOURCE))
    except OSError as error:
        raise SettingsError(f"{path}: can't be read: {files.reason(error)}") from error
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"{path}: it is no JSON") from error
    if not isinstance(known, dict):
        raise SettingsError(f"{path}: it must be an object of seconds by path")
    for name, cost in known.items():
        is_number = isinstance(cost, (int, float)) and not isinstance(cost, bool)
        if not is_number or not math.isfinite(cost) or not 0 <= cost < 1e9:
            raise SettingsError(f"{path}: what `{name[:100]}` costs is no number of seconds")
    return {os.path.abspath(name): float(cost) for name, cost in known.items()}


def store_costs(path: str, sources: Iterable[Source], seconds: Mapping[str, float]) -> None:
    """Write what files have cost, those as before that come from the cache. Raises
    `SettingsError`."""
    before = read_costs(path) if os.path.lexists(path) else {}
    known = {
        _name(source.shown): round(cost, 4)
        for source in sources
        if (cost := seconds.get(source.path, before.get(source.path))) is not None
    }
    text = json.dumps(known, indent=0, sort_keys=True) + "\n"
    try:
        writing.create(path, text.encode())
    except OSError as error:
        raise SettingsError(f"{path}: can't be written: {files.reason(error)}") from error
