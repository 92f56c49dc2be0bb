"""What follows from settings before any file is read: the table, the words, the other files."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from devlint import torchapi
from devlint.flow.interpreter import new_project
from devlint.flow.project import Project
from devlint.neighbours import Neighbours
from devlint.selection import catalogue, validate
from devlint.settings import Settings, SettingsError

SIGNS = (
    r"torch", r"lightning", r"accelerate", r"timm", r"cuda", r"\.to\(", r"\.cpu\(", r"\.numpy\(",
    r"\.device\b", r"get_device", r"register_buffer", r"load_url", r"load_state_dict_from_url",
)  # fmt: skip
"""A file in which none of these patterns occurs holds nothing that a rule reads: it is only parsed
by Python itself."""

_OTHER_FRAMEWORKS = re.compile(
    rb"^[ \t]*(?:from|import)[ \t]+"
    rb"(?:cupy|jax|jittor|mindspore|mxnet|oneflow|paddle|tensorflow|tinygrad)\b",
    re.MULTILINE,
)


def is_of_others(data: bytes) -> bool:
    """Whether a file computes with another framework and never mentions torch: there, what torch
    says of devices means nothing."""
    return b"torch" not in data and _OTHER_FRAMEWORKS.search(data) is not None


@dataclass(frozen=True, slots=True)
class Plan:
    """What follows from settings: the torch table with the user's rows."""

    table: torchapi.Table
    signs: re.Pattern[bytes]
    device_types: frozenset[str]
    neighbours: Neighbours | None
    project: Project | None
    """The files that imports lead to; None where they aren't followed."""


@lru_cache(maxsize=64)
def prepare(settings: Settings) -> Plan:
    """Check all that is only known with the rules and tables at hand.

    Raises `SettingsError` for a selector that stands for no rule, and for a malformed row.
    """
    validate(settings, catalogue())
    table, signs = torchapi.load(), list(SIGNS)
    if settings.torchapi:
        rows: Mapping[str, Mapping[str, object]] = json.loads(settings.torchapi)
        try:
            table = table.with_rows(rows)
        except ValueError as error:
            raise SettingsError(f"{settings.torchapi_source}: `torchapi`: {error}") from error
        signs.extend(re.escape(name.partition(".")[0]) for name in rows)
    pattern = re.compile("|".join(signs).encode(), re.IGNORECASE | re.MULTILINE)
    device_types = frozenset(settings.device_types)
    if not settings.follow_imports:
        return Plan(table, pattern, device_types, None, None)
    neighbours = Neighbours(settings.max_file_size)
    project = new_project(neighbours, table, device_types)
    return Plan(table, pattern, device_types, neighbours, project)
