"""The report of transfers as files: JSON, and a page to look at."""

from __future__ import annotations

from pathlib import Path

from devlint.runtime.run_page import run_page
from devlint.runtime.transfers import TransferLog
from devlint.safety.escaping import json_text
from devlint.safety.writing import overwrite


def write_report(log: TransferLog, folder: Path, root: Path) -> None:
    """Write `transfers.json` and `report.html` into a folder, which is made if it isn't there.
    Paths in the page are relative to a root.

    A file is replaced as a whole or not at all.

    Raises:
        OSError: where the folder or a file can't be written.
    """
    record = log.as_record()
    folder.mkdir(parents=True, exist_ok=True)
    overwrite(str(folder / "transfers.json"), f"{json_text(record, indent=2)}\n".encode())
    overwrite(str(folder / "report.html"), run_page(record, root).encode())
