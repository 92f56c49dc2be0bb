"""What the cache knows of files that haven't changed, nor anything that their findings hang on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace

from devlint.config.settings import Settings
from devlint.config.sources import Source
from devlint.driver.cache import Cache, Entry, digest
from devlint.driver.others import Others
from devlint.safety import files


def keys_of(sources: Sequence[Source]) -> dict[Settings, str]:
    """What the cache knows each settings by."""
    return {
        settings: hashlib.blake2b(settings.decisive().encode(), digest_size=16).hexdigest()
        for settings in distinct(source.settings for source in sources)
    }


def distinct(settings: Iterable[Settings]) -> list[Settings]:
    """Each once. Neighbours mostly share one object, and hashing one takes a while."""
    found: dict[Settings, None] = {}
    last: Settings | None = None
    for item in settings:
        if item is not last:
            found[item] = None
            last = item
    return list(found)


def recall(sources: Sequence[Source], keys: dict[Settings, str], cache: Cache) -> dict[str, Entry]:
    """What the cache knows of each unchanged file, by path."""
    recalled: dict[str, Entry] = {}
    entries = {key: cache.entries(key) for key in set(keys.values())}
    others = Others(entries.values(), {source.path: source.look for source in sources})
    last: Settings | None = None
    known: dict[str, list[Entry]] = {}
    for source in sources:
        if source.settings is not last:
            last = source.settings
            known = entries[keys[last]]
        kept = known.get(source.path)
        entry = None if kept is None else _of_content(source, kept)
        if entry is None:
            continue
        if entry.look != source.look:
            cache.add(keys[last], source.path, replace(entry, look=source.look))
        if others.unchanged(entry.consulted):
            recalled[source.path] = entry
    return recalled


def _of_content(source: Source, kept: Sequence[Entry]) -> Entry | None:
    """The entry of what a file holds. Another time doesn't mean another content: a fresh checkout
    has new times."""
    for entry in kept:
        if entry.look == source.look and entry.look.tells:
            return entry
    may_be = {entry.digest: entry for entry in kept if entry.look.size == source.look.size}
    return may_be.get(_digest_of(source)) if may_be else None


def _digest_of(source: Source) -> str:
    """A hash of a file's content; "" where it can't be read."""
    most = files.most_bytes(source.language, source.settings.max_file_size)
    try:
        return digest(files.read(source.path, most))
    except OSError:
        return ""
