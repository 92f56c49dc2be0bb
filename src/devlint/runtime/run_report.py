"""The report of transfers as files: JSON, and a page to look at."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from devlint.escaping import json_text
from devlint.runtime.run_page import run_page
from devlint.runtime.transfers import TransferLog


def write_report(log: TransferLog, folder: Path, root: Path) -> None:
    """Write `transfers.json` and `report.html` into a folder, which is made if it isn't there.
    Paths in the page are relative to a root.

    A file is replaced as a whole or not at all.

    Raises:
        OSError: where the folder or a file can't be written.
    """
    record = log.as_record()
    folder.mkdir(parents=True, exist_ok=True)
    with _replacing(folder / "transfers.json") as temporary:
        temporary.write_text(json_text(record, indent=2) + "\n", "utf-8")
    with _replacing(folder / "report.html") as temporary:
        temporary.write_text(run_page(record, root), "utf-8")


@contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    """A temporary file beside a path, which takes its place unless something fails."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _umask() -> int:
    held = os.umask(0o022)
    os.umask(held)
    return held
