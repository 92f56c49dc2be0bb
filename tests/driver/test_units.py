"""Units of work: what imports join stays together, and nothing is in two or in none."""

from __future__ import annotations

import time

import pytest
from driver.conftest import CLEAN, Project

from devlint.config.configuration import Configuration
from devlint.config.sources import Source
from devlint.driver.discover import discover
from devlint.driver.units import SMALLEST, Overview


def sources() -> list[Source]:
    return discover((".",), Configuration()).sources


def components(**costs: float) -> list[list[str]]:
    found = Overview(sources(), costs).components
    return [[source.shown for source in component.sources] for component in found]


IMPORTS = {
    "absolute": ("import pkg.b", True),
    "absolute, as another name": ("import os, pkg.b as b", True),
    "a name of the module": ("from pkg.b import x", True),
    "the module of its package": ("from pkg import b", True),
    "among others": ("from pkg import (\n    c,  # first\n    b,\n)", True),
    "in a line that goes on": ("from pkg import c, \\\n    b", True),
    "relative": ("from . import b", True),
    "relative, of the module": ("from .b import x", True),
    "in a function": ("def f():\n    from .b import x", True),
    "of nothing that is there": ("from .d import x\nimport b_", False),
    "in words": ("# we import b here\nx = 'from .b import x'", False),
}


@pytest.mark.parametrize("case", IMPORTS)
def test_what_imports_join_is_one_component(project: Project, case: str) -> None:
    text, joins = IMPORTS[case]
    project.write({
        "pyproject.toml": "", "pkg/__init__.py": "", "pkg/a.py": text, "pkg/b.py": "x = 1",
        "pkg/c.py": "", "other.py": "",
    })  # fmt: skip
    (own,) = [each for each in components() if "pkg/a.py" in each]
    assert ("pkg/b.py" in own) == joins
    assert ["other.py"] in components()


def test_components_are_in_order_and_join_over_several_files(project: Project) -> None:
    project.write({
        "pyproject.toml": "", "z.py": "import a", "a.py": "", "m.py": "", "k.py": "import z",
    })  # fmt: skip
    assert components() == [["a.py", "k.py", "z.py"], ["m.py"]]


def test_files_that_import_one_that_is_not_linted_have_to_do_with_each_other(
    project: Project,
) -> None:
    project.write(
        {"pyproject.toml": "", "lib/h.py": "", "a.py": "import lib.h", "b.py": "import lib.h"}
    )
    linted = discover(("a.py", "b.py"), Configuration()).sources
    assert len(Overview(linted).components) == 1


def test_a_notebook_goes_with_what_its_cells_import(project: Project) -> None:
    cell = '{"cell_type": "code", "source": [\n    "import a\\n",\n    "a.x"\n  ]}'
    project.write({"pyproject.toml": "", "n.ipynb": '{"cells": [' + cell + "]}", "a.py": "x = 1"})
    assert components() == [["a.py", "n.ipynb"]]


@pytest.mark.parametrize("workers", [1, 4, 1000])
def test_each_file_is_in_one_unit(project: Project, workers: int) -> None:
    long = "#" * (SMALLEST // 4)
    project.write({"pyproject.toml": ""})
    project.write({f"p/m{i:02}.py": f"from p import m00\n{long}" for i in range(20)})
    project.write({f"alone{i:02}.py": long if i % 2 else "" for i in range(40)})
    units = list(Overview(sources()).units(workers))
    every = [source.path for unit in units for source in unit]
    assert len(every) == 60
    assert len(set(every)) == 60
    assert all(units)
    sizes = [sum(source.look.size for source in unit) for unit in units]
    assert len(units) < 60
    if workers == 1000:  # also what imports join is in pieces, so that all have something to do
        assert max(sizes) <= SMALLEST


def test_a_component_is_one_unit_where_the_workers_have_as_much_to_do_besides(
    project: Project,
) -> None:
    long = "#" * SMALLEST
    project.write({"pyproject.toml": ""})
    project.write({f"p/m{i:02}.py": f"from p import m00\n{long}" for i in range(4)})
    project.write({f"alone{i:02}.py": long for i in range(16)})
    units = [[source.shown for source in unit] for unit in Overview(sources()).units(2)]
    assert [f"p/m{i:02}.py" for i in range(4)] in units


def test_what_can_not_be_read_is_in_a_unit_too(project: Project) -> None:
    project.write({"a.py": CLEAN, "b.py": CLEAN})
    found = sources()
    (project.folder / "a.py").unlink()
    overview = Overview(found)
    assert overview.contents[found[0].path].digest == ""
    assert [[source.shown for source in unit] for unit in overview.units(1)] == [["a.py", "b.py"]]


HOSTILE = {
    "brackets that stay open": "from a import (\n" * 100_000,
    "lines that go on": "import a\\\n" * 200_000,
    "spaces": "from" + " " * 2_000_000,
    "lines of spaces": (" " * 1000 + "\n") * 3000,
    "continued spaces": "from a import " + "\\\n" * 1_000_000,
    "dots": "from " + "." * 2_000_000,
    "commas": "import " + "a," * 1_000_000,
    "modules": "".join(f"import m{i}\n" for i in range(200_000)),
    "names": "from a import " + ",".join(f"m{i}" for i in range(300_000)),
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_imports_are_read_in_time(project: Project, text: str) -> None:
    project.write({"pyproject.toml": "", "a.py": text})
    found = sources()
    began = time.process_time()
    Overview(found)
    assert time.process_time() - began < 5
