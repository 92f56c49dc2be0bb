"""Whether other files are as they were when a result was made that hangs on them."""

from __future__ import annotations

import json
import os
from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence

from devlint.driver.cache import Entry, content
from devlint.safety.files import Look, look


class Others:
    """What the files hold that results hang on, each looked at once: `seen` are those that have
    been, by path."""

    def __init__(
        self, entries: Iterable[Mapping[str, Sequence[Entry]]], seen: Mapping[str, Look]
    ) -> None:
        self._entries = ChainMap(*map(dict, entries))
        self._seen = seen
        self._contents: dict[str, str] = {}
        self._verdicts: dict[str, bool] = {"": True}

    def unchanged(self, consulted: str) -> bool:
        """Whether all is as it was that a result hangs on, as `Outcome.consulted` has it."""
        verdict = self._verdicts.get(consulted)
        if verdict is None:
            known = json.loads(consulted)
            for path in known.keys() - self._contents.keys():
                self._contents[path] = self._content(path)
            verdict = known.items() <= self._contents.items()
            self._verdicts[consulted] = verdict
        return verdict

    def _content(self, path: str) -> str:
        if not path.endswith(".py"):
            return content(path)
        try:
            seen = self._seen.get(path) or look(os.stat(path))
        except OSError:
            return ""  # most of these are modules that aren't there
        same = (entry for entry in self._entries.get(path, ()) if entry.look == seen)
        entry = next(same, None) if seen.tells else None
        return content(path) if entry is None else entry.digest
