"""What a user installs: the wheel has all it needs, and nothing of it reaches for torch."""

from __future__ import annotations

import email.parser
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import shipped
from repository import Repository

ROOT = Path(__file__).parents[2]
VERSION = "1.2.3rc4"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    repository = Repository(folder / "tree")
    shipped.copy(repository.folder)
    repository.commit({})
    repository.git("tag", f"v{VERSION}")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
    command += ["--no-build-isolation", "--wheel-dir", str(folder)]
    command += [str(repository.folder)]
    subprocess.run(command, check=True)
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_carries_every_page_and_every_table(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    pages = {f"devlint/_rules/{page.name}" for page in (ROOT / "rules").glob("*.md")}
    package = ROOT / "src"
    data = (path for kind in ("toml", "css", "js", "html") for path in package.rglob(f"*.{kind}"))
    tables = {path.relative_to(package).as_posix() for path in data}
    modules = {path.relative_to(package).as_posix() for path in package.rglob("*.py")}
    assert pages
    assert tables
    assert pages | tables | modules | {"devlint/py.typed"} <= names


def test_the_wheel_carries_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        folders = {name.split("/")[0] for name in archive.namelist()}
    assert folders == {"devlint", f"devlint-{VERSION}.dist-info"}


def test_the_metadata_asks_for_torch_only_for_the_guard(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        name = f"devlint-{VERSION}.dist-info/METADATA"
        metadata = email.parser.Parser().parsestr(archive.read(name).decode())
    assert metadata["Version"] == VERSION
    assert metadata["Requires-Python"] == ">=3.10"
    requirements = metadata.get_all("Requires-Dist")
    core = {line.split(">")[0].split("<")[0] for line in requirements if "extra ==" not in line}
    core_names = {"libcst", "markdown-it-py", "packaging", "pathspec", "platformdirs"}
    assert core == {*core_names, "rich", "tomli"}
    assert [line for line in requirements if line.startswith("torch")] == [
        "torch; extra == 'runtime'"
    ]


def test_an_installed_wheel_lints_and_explains(wheel: Path, tmp_path: Path) -> None:
    target = tmp_path / "site"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    subprocess.run([*command, "--target", str(target), str(wheel)], check=True)
    (tmp_path / "bad.py").write_text("import torch\n\nx = torch.load('x.pt')\n")
    environment = os.environ | {"PYTHONPATH": str(target)}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "devlint", *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
        )

    linted = run("check", "--no-cache", "--output-format", "concise", "bad.py")
    assert linted.returncode == 1, linted.stderr
    assert "bad.py:3:5: DEV106" in linted.stdout
    assert run("--version").stdout == f"devlint {VERSION}\n"
    explained = run("rule", "DEV106")
    assert explained.returncode == 0, explained.stderr
    assert "map_location" in explained.stdout


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_run_imports_no_torch(jobs: int) -> None:
    # With None in sys.modules every `import torch` raises, so the run would report an error.
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from devlint.cli import main\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", code, "check", "--isolated", "--no-cache", "--jobs", str(jobs)]
    done = subprocess.run(
        [*command, "--output-format", "concise", str(ROOT / "examples")],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1, done.stderr
    assert "DEV201" in done.stdout


def test_importing_devlint_imports_neither_torch_nor_libcst() -> None:
    code = "import sys, devlint; print(sorted({'torch', 'libcst', 'rich'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
