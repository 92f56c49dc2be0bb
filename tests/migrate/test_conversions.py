"""What becomes of programs, and that they run everywhere afterwards."""

from __future__ import annotations

import contextlib
import io
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from packaging.version import Version

import devlint
from devlint.config.configuration import Configuration
from devlint.driver.discover import discover
from devlint.migrate.choice import Choice
from devlint.migrate.project import Migration, migrate

PAGE = Path(__file__).with_name("conversions.md")
BLOCK = re.compile(
    r"^## (?P<title>[^\n]+)$|^```python (?P<kind>\w+)(?P<runs> runs)?\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
NEW, OLD = Choice(Version("2.9")), Choice(None)


@dataclass
class Section:
    title: str
    before: str = ""
    after: str = ""
    old: str = ""
    runs: bool = False


def sections() -> Iterator[Section]:
    section = Section("")
    for found in BLOCK.finditer(PAGE.read_text("utf-8")):
        if found["title"]:
            section = Section(found["title"])
        else:
            setattr(section, found["kind"], found["code"])
            section.runs = section.runs or bool(found["runs"])
            if found["kind"] == "after":
                yield section


SECTIONS = list(sections())
titles = pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.title)


def migrated(folder: Path, text: str, choice: Choice = NEW) -> tuple[str, Migration]:
    path = folder / "program.py"
    path.write_bytes(text.encode())
    found = discover((str(path),), Configuration((), isolated=True))
    migration = migrate(found.sources, choice, "device")
    assert not migration.failures
    return (migration.files[0].new.decode() if migration.files else text), migration


@titles
def test_a_program_becomes_what_the_page_says(section: Section, tmp_path: Path) -> None:
    assert migrated(tmp_path, section.before)[0] == section.after
    if section.old:
        assert migrated(tmp_path, section.before, OLD)[0] == section.old


@titles
def test_a_second_migration_changes_nothing(section: Section, tmp_path: Path) -> None:
    assert not migrated(tmp_path, section.after)[1].files
    assert not migrated(tmp_path, migrated(tmp_path, section.before, OLD)[0], OLD)[1].files


@pytest.mark.parametrize(
    "section", [each for each in SECTIONS if each.runs], ids=lambda section: section.title
)
def test_a_program_runs_everywhere_afterwards(section: Section) -> None:
    told = printed(section.before, "cuda")
    assert told
    for kind in ("cuda", "mps", ""):
        assert printed(section.after, kind) == told, kind
    if section.old:
        for kind in ("cuda", "mps", ""):
            assert printed(section.old, kind) == told, kind


def printed(code: str, kind: str) -> str:
    """What a program prints on an emulated device, or on the CPU."""
    import torch

    with contextlib.ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        if kind:
            stack.enter_context(devlint.emulate(kind))
        stack.callback(torch.set_default_device, None)
        stack.callback(torch.set_default_dtype, torch.float32)
        output = stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
        exec(compile(code, "program.py", "exec"), {"__name__": "__main__"})
        return output.getvalue()
