"""A baseline: the findings that a project lives with, so that only new ones count."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from devlint import files
from devlint.escaping import json_text
from devlint.model.findings import Finding
from devlint.model.fingerprint import Kind, fingerprints, relative_path
from devlint.writing import create

_VERSION = 1

Sources = Callable[[str], "str | None"]


class BaselineError(Exception):
    """The file can't be used as a baseline; the text says why, on one line."""


def write(path: Path, findings: Sequence[Finding], sources: Sources) -> None:
    """List all findings in a new baseline. Raises `BaselineError`.

    Paths are relative to the folder of the baseline, and no rows are kept: the file only changes
    when findings come or go.
    """
    root = _folder(path)
    marks = fingerprints(findings, sources, root)
    rows = sorted(
        (relative_path(finding.filename, root), finding.code, mark)
        for finding, mark in zip(findings, marks, strict=True)
    )
    entries = [{"path": name, "code": code, "fingerprint": mark} for name, code, mark in rows]
    text = json_text({"version": _VERSION, "findings": entries}, indent=1)
    try:
        create(str(path), f"{text}\n".encode())
    except OSError as error:
        raise BaselineError(f"{path}: {error.strerror or error}") from error


def new_findings(
    path: Path, findings: Sequence[Finding], sources: Sources, before: Mapping[Kind, int]
) -> list[Finding]:
    """The findings that a baseline doesn't list, where `before` says how many of a kind are there
    besides. Raises `BaselineError`."""
    known = Counter(_read(path))
    fresh: list[Finding] = []
    marks = fingerprints(findings, sources, _folder(path), before)
    for finding, mark in zip(findings, marks, strict=True):
        if known[mark] > 0:
            known[mark] -= 1
        else:
            fresh.append(finding)
    return fresh


def _folder(path: Path) -> Path:
    """The folder of a baseline, which its paths start from. Links in circles don't matter."""
    return Path(files.resolve(str(path))).parent


def _read(path: Path) -> list[str]:
    try:
        text = files.read(str(path), files.LARGEST_SOURCE).decode("utf-8", "surrogateescape")
        content = json.loads(text)
        if content["version"] != _VERSION:
            raise BaselineError(f"{path}: made by another version of devlint; write it anew")
        return [str(entry["fingerprint"]) for entry in content["findings"]]
    except OSError as error:
        raise BaselineError(f"{path}: {error.strerror or error}") from error
    except RecursionError as error:
        raise BaselineError(f"{path}: it is nested too deeply for a baseline of devlint") from error
    except (ValueError, KeyError, TypeError) as error:
        raise BaselineError(f"{path}: this is no baseline of devlint") from error
