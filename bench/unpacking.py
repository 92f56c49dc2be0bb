"""Files of strangers, written below a folder and nowhere else."""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path


def write_below(folder: Path, name: str) -> Path:
    """The path of a file that is to be written below `folder`, which is made ready for it.

    Raises SystemExit where the name leads out of the folder.
    """
    target = folder / name
    if target == folder or not target.resolve().is_relative_to(folder.resolve()):
        raise SystemExit(f"refused to write {name!r}: it leads out of {folder}")
    target.parent.mkdir(parents=True, exist_ok=True)
    return target


def unpack(archive: tarfile.TarFile, folder: Path) -> None:
    """Write the plain files of an archive below `folder`; links, devices and modes are left out.

    `extractall` is safe with `filter="data"` only, which Python has from 3.10.12 and 3.11.4 on.
    """
    for member in archive:
        if member.isfile() and (source := archive.extractfile(member)) is not None:
            with source, write_below(folder, member.name).open("wb") as target:
                shutil.copyfileobj(source, target)
