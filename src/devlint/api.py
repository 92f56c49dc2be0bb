"""The linter as functions, for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path

from devlint.config.configuration import Configuration
from devlint.config.settings import check_layer
from devlint.driver.discover import discover
from devlint.driver.run import run
from devlint.lint import check_source
from devlint.model.findings import Finding

Paths = str | PathLike[str] | Sequence[str | PathLike[str]]


class CheckError(Exception):
    """Some files couldn't be checked. `reasons` says why; `findings` are those of the others."""

    def __init__(self, reasons: Sequence[str], findings: Sequence[Finding]) -> None:
        super().__init__("; ".join(reasons))
        self.reasons: tuple[str, ...] = tuple(reasons)
        self.findings: tuple[Finding, ...] = tuple(findings)


def check(paths: Paths, settings: Mapping[str, object] | None = None) -> list[Finding]:
    """Lint files and folders, in this process and without the cache.

    `settings` are keys of `[tool.devlint]` and override the configuration files. Files that can't
    be parsed or read are findings (DEV001, DEV003). Raises `SettingsError` for wrong settings, and
    `CheckError` if a path is missing or devlint fails.
    """
    single = isinstance(paths, (str, PathLike))
    names = (paths,) if single else tuple(paths)  # type: ignore[arg-type]
    found = discover(tuple(map(fspath, names)), _configuration(settings))  # type: ignore[arg-type]
    result = run(found.sources, jobs=1)
    failures = [*found.failures, *result.failures]
    if failures:
        raise CheckError([f"{item.filename}: {item.reason}" for item in failures], result.findings)
    return result.findings


def check_text(
    source: str | bytes, filename: str = "<text>", settings: Mapping[str, object] | None = None
) -> list[Finding]:
    """Lint the text of one file, which doesn't have to exist. Raises `SettingsError`."""
    data = source.encode("utf-8", "surrogatepass") if isinstance(source, str) else source
    folder = str(Path(filename).absolute().parent)
    return check_source(data, filename, _configuration(settings).for_folder(folder))


def _configuration(settings: Mapping[str, object] | None) -> Configuration:
    return Configuration((check_layer("settings", str(Path.cwd()), settings or {}),))
