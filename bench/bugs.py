"""The bug fixes of bugs.jsonl."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

BUGS = Path(__file__).resolve().parent / "bugs.jsonl"


@dataclass(frozen=True)
class Bug:
    """One line of bugs.jsonl."""

    repo: str
    fix: str
    parent: str
    path: str
    lines: frozenset[int]
    kind: str
    visible: str
    subkind: str = ""
    """What a bug of the kind "other" is."""

    @classmethod
    def parse(cls, line: str) -> Bug:
        record = json.loads(line)
        return cls(
            record["repo"],
            record["fix"],
            record["parent"],
            record["path"],
            frozenset(record["lines"]),
            record["class"],
            record["visible"],
            record.get("subclass", ""),
        )


def read(path: Path = BUGS) -> list[Bug]:
    return [Bug.parse(line) for line in path.read_text().splitlines()]
