"""What the cache knows of files that haven't changed, nor anything that their findings hang on."""

from __future__ import annotations

import hashlib
import json
import os
from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from devlint import files
from devlint.config.settings import Settings
from devlint.driver.cache import Cache, Entry, content, digest
from devlint.driver.discover import Source
from devlint.files import UNSEEN, Look, look


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
    entries: dict[str, dict[str, Entry]] = {key: cache.entries(key) for key in set(keys.values())}
    others = _Others(entries.values())
    last: Settings | None = None
    known: dict[str, Entry] = {}
    for source in sources:
        if source.settings is not last:
            last = source.settings
            known = entries[keys[last]]
        entry = known.get(source.path)
        if entry is None or entry.look.size != source.look.size:
            continue
        if entry.look != source.look or not entry.look.tells:
            # Another time doesn't mean another content: a fresh checkout has new times.
            if not _unchanged(source, entry):
                continue
            if entry.look != source.look:
                cache.add(keys[last], source.path, replace(entry, look=source.look))
        if others.unchanged(entry):
            recalled[source.path] = entry
    return recalled


class _Others:
    """What the files hold that results hang on, each looked at once."""

    def __init__(self, entries: Iterable[Mapping[str, Entry]]) -> None:
        self._entries = ChainMap(*map(dict, entries))
        self._contents: dict[str, str] = {}
        self._verdicts: dict[str, bool] = {"": True}

    def unchanged(self, entry: Entry) -> bool:
        """Whether all is as it was that an entry hangs on."""
        verdict = self._verdicts.get(entry.consulted)
        if verdict is None:
            consulted = json.loads(entry.consulted)
            verdict = all(self._content(path) == known for path, known in consulted.items())
            self._verdicts[entry.consulted] = verdict
        return verdict

    def _content(self, path: str) -> str:
        found = self._contents.get(path)
        if found is None:
            entry = self._entries.get(path)
            same = entry is not None and entry.look.tells and _look(path) == entry.look
            found = entry.digest if entry is not None and same else content(path)
            self._contents[path] = found
        return found


def _look(path: str) -> Look:
    try:
        return look(os.stat(path))
    except OSError:
        return UNSEEN


def _unchanged(source: Source, entry: Entry) -> bool:
    try:
        data = files.read(
            source.path, files.most_bytes(source.language, source.settings.max_file_size)
        )
    except OSError:
        return False
    return digest(data) == entry.digest
