"""What follows from settings before any file is read: the table, the words, the other files."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from devlint import torchapi
from devlint.config.selection import catalogue, validate
from devlint.config.settings import Settings, SettingsError
from devlint.flow.interpreter import new_project
from devlint.flow.project import Project
from devlint.project.neighbours import Neighbours
from devlint.torchapi.spellings import OTHER_FRAMEWORKS

_SIGNS = re.compile(
    "|".join((
        r"torch", r"lightning", r"accelerate", r"timm", r"cuda", r"\.to\(", r"\.cpu\(",
        r"\.numpy\(", r"\.device\b", r"get_device", r"register_buffer", r"load_url",
        r"load_state_dict_from_url", r"__main__", r"--[\w-]*(?:device|gpu)",
    )).encode(),
    re.IGNORECASE,
)  # fmt: skip
"""A file in which none of these patterns occurs, nor a user's row, holds nothing that a rule reads:
it is only parsed by Python itself. A program that names nothing of PyTorch may still bring together
what other files make."""
_WORD = re.compile(rb"[\w\x80-\xff]+")

_OTHER_FRAMEWORKS = re.compile(
    rb"^[ \t]*(?:from|import)[ \t]+(?:%b)\b" % "|".join(sorted(OTHER_FRAMEWORKS)).encode(),
    re.MULTILINE,
)


def _is_of_others(data: bytes) -> bool:
    """Whether a file computes with another framework and never mentions torch: there, what torch
    says of devices means nothing."""
    return b"torch" not in data and _OTHER_FRAMEWORKS.search(data) is not None


@dataclass(frozen=True, slots=True)
class Plan:
    """What follows from settings: the torch table with the user's rows."""

    table: torchapi.Table
    words: frozenset[bytes]
    """The first words of the user's rows."""
    device_types: frozenset[str]
    neighbours: Neighbours | None
    project: Project | None
    """The files that imports lead to; None where they aren't followed."""
    policy_off: frozenset[str] = frozenset()
    """The rows of policy that are turned off."""
    least: int | None = None
    """The least score of what is reported; None for the one that holds by default."""

    def concerns(self, data: bytes) -> bool:
        """Whether a file may hold something that a rule reads."""
        if _SIGNS.search(data) is None and not self._names(data):
            return False
        return not _is_of_others(data)

    def _names(self, data: bytes) -> bool:
        return bool(self.words) and not self.words.isdisjoint(_WORD.findall(data))


@lru_cache(maxsize=64)
def prepare(settings: Settings) -> Plan:
    """Check all that is only known with the rules and tables at hand.

    Raises `SettingsError` for a selector that stands for no rule, and for a malformed row.
    """
    validate(settings, catalogue())
    table, words = torchapi.load(), frozenset[bytes]()
    if settings.torchapi:
        rows: Mapping[str, Mapping[str, object]] = json.loads(settings.torchapi)
        try:
            table = table.with_rows(rows)
        except ValueError as error:
            raise SettingsError(f"{settings.torchapi_source}: `torchapi`: {error}") from error
        words = frozenset(name.partition(".")[0].encode() for name in rows)
    device_types = frozenset(settings.device_types)
    off, least = settings.policy_off, settings.least_confidence
    if not settings.follow_imports:
        return Plan(table, words, device_types, None, None, off, least)
    neighbours = Neighbours(settings.max_file_size)
    project = new_project(neighbours, table, device_types)
    return Plan(table, words, device_types, neighbours, project, off, least)
