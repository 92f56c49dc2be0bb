"""A file with what is set for it, and what couldn't be done with one."""

from __future__ import annotations

from dataclasses import dataclass

from devlint.config.settings import Settings
from devlint.safety.files import Look


@dataclass(frozen=True, slots=True)
class Source:
    """A file to lint: its absolute path, how messages call it, and what it looked like."""

    path: str
    shown: str
    settings: Settings
    look: Look

    @property
    def language(self) -> str:
        """What it is read as."""
        return self.settings.language_of(self.path)


@dataclass(frozen=True, slots=True)
class Failure:
    """Something that devlint couldn't do. `filename` is "" where no file is to blame."""

    filename: str
    reason: str
