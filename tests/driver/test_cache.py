"""The cache: it is fast, it is right, and it is never a reason to fail."""

from __future__ import annotations

import os
import sqlite3
import stat
import sys
from pathlib import Path

import pytest
from driver.conftest import BAD_DEVICE, CLEAN, Project, Ran

from devlint import engine

DATABASE = ".devlint_cache/results.sqlite"


def run(project: Project, *args: str) -> Ran:
    return project.run("--output-format=concise", "-v", *args)


def cached(ran: Ran) -> int:
    """How many files came from the cache."""
    line = next(line for line in ran.err.splitlines() if "from the cache" in line)
    return int(line.split(" files, ")[1].split()[0])


def age(path: Path, seconds: int = 60) -> None:
    """Let a file look as if it had been written a while ago."""
    then = path.stat().st_mtime_ns - seconds * 10**9
    os.utime(path, ns=(then, then))


def test_the_second_run_says_the_same_and_lints_nothing(project: Project) -> None:
    load = 'import torch\n\nw = torch.load("w.pt")\nx = torch.zeros(3).cuda()\nx.numpy()\n'
    project.write({"a.py": load, "b.py": BAD_DEVICE, "c.py": CLEAN, "d.py": "def f(:\n"})
    for output_format in ("json", "full", "sarif"):
        first = project.run("--output-format", output_format)
        second = project.run("--output-format", output_format)
        fresh = project.run("--output-format", output_format, "--no-cache")
        assert first == second == fresh
        assert '"trace"' in first.out or output_format != "json"
    assert cached(run(project)) == 4


def test_a_changed_file_is_linted_again(project: Project) -> None:
    project.write({"a.py": CLEAN, "b.py": CLEAN})
    assert cached(run(project)) == 0
    project.write({"a.py": BAD_DEVICE})
    ran = run(project)
    assert "a.py:3:" in ran.out
    assert cached(ran) == 1


def test_a_file_that_begins_to_call_another_lints_that_again(project: Project) -> None:
    helper = """
import torch

def normalized(image: torch.Tensor):
    return image / torch.tensor([0.2, 0.3, 0.4])

def sent(x, device):
    return x.to(device)
"""
    use = "from helper import normalized\n\ndef show(x):\n    return normalized(x.cpu())\n"
    project.write({"pyproject.toml": "", "helper.py": helper, "idle.py": CLEAN})
    assert "helper.py:5:" in run(project).out
    project.write({"below/use.py": use})
    assert "helper.py:5:" not in run(project).out
    project.write({"below/use.py": use.replace("cpu", "cuda")})
    ran = run(project)
    assert "helper.py:5:" in ran.out
    assert cached(ran) == 1
    assert cached(run(project)) == 3


def test_a_change_that_keeps_size_and_almost_the_time_is_seen(project: Project) -> None:
    project.write({"a.py": CLEAN.replace("zeros", "ones ")})
    run(project)
    status = (project.folder / "a.py").stat()
    broken = 'import torch\n\nd = torch.device("gp")'
    project.write({"a.py": broken.ljust(status.st_size)[: status.st_size]})
    os.utime(project.folder / "a.py", ns=(status.st_atime_ns, status.st_mtime_ns))
    # The time proves nothing for a file that was written just before the first run.
    assert cached(run(project)) == 0


def test_a_file_with_another_time_but_the_same_content_is_not_linted(project: Project) -> None:
    project.write({"a.py": BAD_DEVICE})
    age(project.folder / "a.py")
    run(project)
    age(project.folder / "a.py")
    assert cached(run(project)) == 1


def test_an_old_file_is_not_even_read(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    from devlint import run as run_module

    project.write({"a.py": BAD_DEVICE})
    age(project.folder / "a.py")
    run(project)

    def refuse(data: bytes) -> str:
        raise AssertionError("the file was read")

    monkeypatch.setattr(run_module, "digest", refuse)
    ran = run(project)
    assert cached(ran) == 1
    assert "a.py:3:" in ran.out


def test_other_settings_are_other_results(project: Project) -> None:
    project.write({"a.py": BAD_DEVICE})
    run(project)
    ran = run(project, "--ignore", "DEV304")
    assert (cached(ran), ran.code) == (0, 0)
    assert cached(run(project)) == 1
    assert cached(run(project, "--ignore", "DEV304")) == 1
    # Options that findings don't depend on change nothing.
    assert cached(run(project, "--output-format=json", "--extend-exclude=x")) == 1


def test_another_devlint_starts_afresh(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write({"a.py": BAD_DEVICE})
    run(project)
    from devlint import cache

    monkeypatch.setattr(cache, "stamp", lambda: "another")
    assert cached(run(project)) == 0
    assert cached(run(project)) == 1


def test_the_stamp_follows_code_rules_and_tables(tmp_path: Path) -> None:
    import shutil

    root = Path(engine.__file__).parents[2]
    shutil.copytree(root / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(root / "rules", tmp_path / "rules")

    def stamp() -> str:
        import subprocess

        code = "from devlint.engine import stamp; print(stamp())"
        env = {**os.environ, "PYTHONPATH": str(tmp_path / "src")}
        return subprocess.check_output([sys.executable, "-c", code], env=env, text=True)

    seen = [stamp()]
    assert stamp() == seen[0]
    for name in ("src/devlint/lint.py", "src/devlint/torchapi/creation.toml"):
        path = tmp_path / name
        path.write_text(path.read_text() + "\n# changed\n")
        seen.append(stamp())
    page = next((tmp_path / "rules").glob("*.md"))
    page.write_text(page.read_text() + "\nMore.\n")
    seen.append(stamp())
    assert len(set(seen)) == 4


def test_the_folder_is_marked(project: Project) -> None:
    project.write({"a.py": CLEAN})
    run(project)
    assert project.read(".devlint_cache/.gitignore") == "*\n"
    assert project.read(".devlint_cache/CACHEDIR.TAG").startswith(
        "Signature: 8a477f597d28d172789f06886806bc55"
    )


DAMAGES = {
    "no database": lambda path: path.write_bytes(b"not a database" * 100),
    "empty": lambda path: path.write_bytes(b""),
    "cut off": lambda path: path.write_bytes(path.read_bytes()[:5000]),
    "overwritten": lambda path: path.write_bytes(path.read_bytes()[:4096] + b"\xff" * 20000),
    "somebody else's": lambda path: _foreign(path),
    "another version": lambda path: _execute(path, "PRAGMA user_version = 99"),
    "other columns": lambda path: _execute(path, "ALTER TABLE results ADD COLUMN more TEXT"),
    "no stamp": lambda path: _execute(path, "DELETE FROM engine"),
    "findings that are none": lambda path: _execute(path, "UPDATE results SET findings = '[[1]]'"),
    "findings of another type": lambda path: _execute(path, "UPDATE results SET findings = x'00'"),
    "findings that are no JSON": lambda path: _execute(path, "UPDATE results SET findings = '{'"),
}


def _execute(path: Path, statement: str) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute(statement)
    connection.close()


def _foreign(path: Path) -> None:
    path.unlink()
    _execute(path, "CREATE TABLE bookmarks (url TEXT)")


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_cache_is_dropped_with_at_most_a_word(project: Project, damage) -> None:  # type: ignore[no-untyped-def]
    project.write({f"m{i}.py": BAD_DEVICE for i in range(30)})
    expected = project.run("--output-format=concise", "-j1").out
    damage(project.folder / DATABASE)
    ran = project.run("--output-format=concise", "-j1")
    assert ran.out == expected
    assert ran.code == 1
    assert ran.err.count("\n") <= 1
    assert "Traceback" not in ran.err
    again = run(project)
    assert cached(again) == 30
    assert "warning" not in again.err


def test_a_read_only_cache_folder(project: Project) -> None:
    project.write({"a.py": BAD_DEVICE})
    folder = project.folder / ".devlint_cache"
    folder.mkdir()
    folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    ran = project.spawn("--output-format=concise", ".", unprivileged=True)
    assert "a.py:3:" in ran.out
    assert ran.code == 1
    assert ran.err.startswith("devlint: warning: running without the cache in ")
    assert ran.err.count("\n") == 1


def test_a_read_only_cache_file(project: Project) -> None:
    project.write({"a.py": BAD_DEVICE, "b.py": CLEAN})
    run(project)
    project.write({"b.py": BAD_DEVICE})
    (project.folder / DATABASE).chmod(stat.S_IRUSR)
    (project.folder / ".devlint_cache").chmod(stat.S_IRUSR | stat.S_IXUSR)
    ran = project.spawn("--output-format=concise", ".", unprivileged=True)
    assert "a.py:3:" in ran.out
    assert "b.py:3:" in ran.out
    assert ran.code == 1
    assert ran.err.count("\n") == 1


def test_a_file_in_the_place_of_the_folder(project: Project) -> None:
    project.write({"a.py": BAD_DEVICE, ".devlint_cache": "a file"})
    ran = project.run("--output-format=concise")
    assert ran.code == 1
    assert ran.err.startswith("devlint: warning: running without the cache in ")
    assert project.read(".devlint_cache") == "a file"


def test_two_runs_at_once(project: Project) -> None:
    """A cache that another run is writing is left alone."""
    project.write({"a.py": BAD_DEVICE})
    run(project)
    project.write({"a.py": CLEAN})
    connection = sqlite3.connect(project.folder / DATABASE)
    connection.execute("BEGIN EXCLUSIVE")
    try:
        ran = project.run("--output-format=concise")
    finally:
        connection.close()
    assert (ran.code, ran.err.count("\n")) == (0, 1)
    assert cached(run(project)) == 0  # nothing was lost but what could not be kept


def test_where_the_cache_is(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write({"a.py": CLEAN, "sub/b.py": CLEAN, "pyproject.toml": "[tool.devlint]\n"})
    folder = project.folder
    monkeypatch.chdir(folder / "sub")
    run(project)
    assert (folder / ".devlint_cache").is_dir()  # beside the configuration
    run(project, "--cache-dir", "here")
    assert (folder / "sub/here").is_dir()
    monkeypatch.setenv("DEVLINT_CACHE_DIR", "env")
    run(project)
    assert (folder / "sub/env").is_dir()
    monkeypatch.delenv("DEVLINT_CACHE_DIR")
    project.write({"pyproject.toml": '[tool.devlint]\ncache-dir = "conf"\n'})
    run(project)
    assert (folder / "conf").is_dir()


@pytest.mark.parametrize("option", ["-n", "--no-cache", "DEVLINT_NO_CACHE"])
def test_without_the_cache(project: Project, monkeypatch: pytest.MonkeyPatch, option: str) -> None:
    project.write({"a.py": CLEAN})
    if option.startswith("-"):
        assert cached(run(project, option)) == 0
    else:
        monkeypatch.setenv(option, "1")
        assert cached(run(project)) == 0
    assert not (project.folder / ".devlint_cache").exists()


def test_clean_removes_the_cache_and_nothing_else(project: Project) -> None:
    project.write({"a.py": CLEAN, "precious/data.txt": "x"})
    run(project)
    assert project.run("clean").code == 0
    assert not (project.folder / ".devlint_cache").exists()
    assert project.run("clean").code == 0
    ran = project.run("clean", "--cache-dir", "precious")
    assert "this is no cache of devlint" in ran.err
    assert ran.code == 2
    assert project.read("precious/data.txt") == "x"


IMPORTS = """
import sys
from devlint.cli import main
code = main(sys.argv[1:])
heavy = [name for name in sys.modules if name.split(".")[0] in ("libcst", "rich", "torch")]
ours = [name for name in sys.modules if name in ("devlint.lint", "devlint.rulebook",
        "devlint.flow.interpreter", "devlint.torchapi.table", "devlint.fix", "devlint.pool")]
print(heavy + ours, file=sys.stderr)
sys.exit(code)
"""


def test_a_warm_run_imports_neither_libcst_nor_rich_nor_the_interpreter(project: Project) -> None:
    import subprocess

    project.write({"a.py": BAD_DEVICE, "b.py": CLEAN, ".gitignore": "*.log\n"})
    command = [sys.executable, "-c", IMPORTS, "--output-format=concise"]
    runs = [
        subprocess.run(command, cwd=project.folder, capture_output=True, text=True)
        for _ in range(2)
    ]
    assert "libcst" in runs[0].stderr
    assert "torch'" not in runs[0].stderr
    assert runs[1].stderr == "[]\n"
    assert runs[0].stdout == runs[1].stdout
    assert "DEV304" in runs[1].stdout


MAKES = "import torch\n\n\ndef make(n):\n    return torch.zeros(n)\n"
USES = "import torch\nfrom {0} import make\n\nx = make(3) + torch.ones(3, device='mps')\n"


def test_a_change_is_linted_again_where_it_matters(project: Project) -> None:
    project.write({"helpers.py": MAKES, "deep.py": "from helpers import make\n"})
    project.write({"near.py": USES.format("helpers"), "far.py": USES.format("deep")})
    project.write({"other.py": CLEAN, "pyproject.toml": "[tool.devlint]\n"})
    first = run(project)
    assert [line.split(":")[0] for line in first.out.splitlines() if "DEV202" in line] == [
        "far.py",
        "near.py",
    ]
    assert cached(run(project)) == 5
    project.write({"helpers.py": MAKES.replace("zeros(n)", "zeros(n, device='mps')")})
    ran = run(project)
    assert "DEV202" not in ran.out
    assert cached(ran) == 2  # other.py, and deep.py, which only hands the name on


def test_a_neighbour_that_appears_is_looked_at(project: Project) -> None:
    project.write({"use.py": USES.format("helpers"), "pyproject.toml": "[tool.devlint]\n"})
    assert "DEV202" not in run(project).out
    assert cached(run(project)) == 1
    project.write({"helpers.py": MAKES})
    assert "DEV202" in run(project, "use.py").out
    (project.folder / "helpers.py").unlink()
    assert "DEV202" not in run(project, "use.py").out


def test_neighbours_that_are_not_followed(project: Project) -> None:
    project.write({"helpers.py": MAKES, "use.py": USES.format("helpers")})
    project.write({"pyproject.toml": "[tool.devlint]\n"})
    assert "DEV202" in run(project, "use.py").out
    assert "DEV202" not in run(project, "use.py", "--no-follow-imports").out
    project.write({"pyproject.toml": "[tool.devlint]\nfollow-imports = false\n"})
    assert "DEV202" not in run(project).out
