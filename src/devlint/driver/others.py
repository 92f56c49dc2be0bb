"""Whether other files are as they were when a result was made that hangs on them."""

from __future__ import annotations

import json
import os
from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence

from devlint.driver.cache import Entry, content
from devlint.safety.files import UNSEEN, Look, look


class Others:
    """What the files hold that results hang on, each looked at once."""

    def __init__(self, entries: Iterable[Mapping[str, Sequence[Entry]]]) -> None:
        self._entries = ChainMap(*map(dict, entries))
        self._contents: dict[str, str] = {}
        self._verdicts: dict[str, bool] = {"": True}

    def unchanged(self, consulted: str) -> bool:
        """Whether all is as it was that a result hangs on, as `Outcome.consulted` has it."""
        verdict = self._verdicts.get(consulted)
        if verdict is None:
            known = json.loads(consulted)
            verdict = all(self._content(path) == was for path, was in known.items())
            self._verdicts[consulted] = verdict
        return verdict

    def _content(self, path: str) -> str:
        found = self._contents.get(path)
        if found is None:
            seen = _look(path)
            same = (entry for entry in self._entries.get(path, ()) if entry.look == seen)
            entry = next(same, None) if seen.tells else None
            found = content(path) if entry is None else entry.digest
            self._contents[path] = found
        return found


def _look(path: str) -> Look:
    try:
        return look(os.stat(path))
    except OSError:
        return UNSEEN
