"""Which statements mean a module of the project."""

from __future__ import annotations

from pathlib import Path

import pytest

from devlint.project.importing import Finder, forget

FILES = (
    "pyproject.toml",
    "net.py",
    "area/__init__.py",
    "area/net.py",
    "area/deep/__init__.py",
    "area/deep/net.py",
    "area/deep/use.py",
    "other/net.py",
    "other/use.py",
)


@pytest.mark.parametrize(
    ("importer", "statement", "brought"),
    [
        ("other/use.py", "import net", "other/net.py"),
        ("other/use.py", "from net import Net", "other/net.py"),
        ("other/use.py", "import os, net as n", "other/net.py"),
        ("other/use.py", "from area import net", "area/net.py"),
        ("other/use.py", "from area import (net as n, more)", "area/net.py"),
        ("other/use.py", "import area.deep.net", "area/deep/net.py"),
        ("other/use.py", "from area.deep import net", "area/deep/net.py"),
        ("area/deep/use.py", "from . import net", "area/deep/net.py"),
        ("area/deep/use.py", "from .net import Net", "area/deep/net.py"),
        ("area/deep/use.py", "from .. import net", "area/net.py"),
        ("area/deep/use.py", "from ..net import Net", "area/net.py"),
        ("area/deep/use.py", "from torch import net", ""),
        ("area/deep/use.py", "from importlib.net import net_of", ""),
        ("area/deep/use.py", "from somewhere import net", ""),
        ("area/deep/use.py", "from .away import net", ""),
        ("area/deep/use.py", "from the net of", ""),
        ("other/use.py", "from net \\", "other/net.py"),
    ],
)
def test_an_import_brings_what_it_leads_to(
    tmp_path: Path, importer: str, statement: str, brought: str
) -> None:
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    found = {
        name
        for name in FILES
        if name.endswith("net.py")
        and Finder().brings(str(tmp_path / importer), statement, str(tmp_path / name))
    }
    assert found == ({brought} if brought else set())


def test_what_is_not_found_may_be_what_is_called_so(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    module = tmp_path / "far" / "tools" / "net.py"
    module.parent.mkdir(parents=True)
    module.touch()
    importer = str(tmp_path / "scripts" / "run.py")
    for statement in ("import net", "from net import Net", "from tools.net import Net"):
        assert Finder().brings(importer, statement, str(module))
    for statement in ("from kit import net", "import kit.net", "from tools import more"):
        assert not Finder().brings(importer, statement, str(module))


def test_a_folder_that_has_the_name_is_where_an_import_starts(tmp_path: Path) -> None:
    for name in ("kit/net.py", "kit/deep/use.py"):  # and nothing marks the root of a project
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    finder, module = Finder(), str(tmp_path / "kit" / "net.py")
    assert finder.absolute(str(tmp_path / "kit" / "deep" / "use.py"), "kit.net") == module
    (tmp_path / "kit" / ".git").mkdir()  # the root: nobody knows what lies beside it
    forget()
    assert finder.absolute(str(tmp_path / "kit" / "deep" / "use.py"), "kit.net") is None


def test_a_folder_of_folders_is_a_package(tmp_path: Path) -> None:
    """Python looks for what a folder without `__init__.py` doesn't hold further away."""
    for name in ("pyproject.toml", "part/src/data/text.md", "part/src/models/net.py", "part/use.py",
                 "src/layers/net.py"):  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    finder, importer = Finder(), str(tmp_path / "part" / "use.py")
    near, far = (tmp_path / "part/src/models/net.py", tmp_path / "src/layers/net.py")
    assert finder.absolute(importer, "src.models.net") == str(near)
    assert finder.absolute(importer, "src.layers.net") == str(far)
    assert finder.absolute(importer, "src.data.net") is None
    (tmp_path / "part/src/__init__.py").touch()  # it hides the other one
    forget()
    assert Finder().absolute(importer, "src.models.net") == str(near)
    assert Finder().absolute(importer, "src.layers.net") is None


@pytest.mark.parametrize(
    ("marks", "found"),
    [
        ((), False),
        (("kit/README.md",), True),
        (("kit/LICENSE", "kit/scripts/README.md"), True),
        (("kit/README.md", "kit/scripts/setup.py"), False),
    ],
)
def test_what_looks_like_a_root_is_one_where_nothing_is_marked(
    tmp_path: Path, marks: tuple[str, ...], found: bool
) -> None:
    for name in ("kit/tools/net.py", "kit/scripts/deep/use.py", *marks):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    forget()
    importer, module = tmp_path / "kit/scripts/deep/use.py", tmp_path / "kit/tools/net.py"
    assert Finder().absolute(str(importer), "tools.net") == (str(module) if found else None)
