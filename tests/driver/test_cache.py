"""The cache: it is fast, it is right, and it is never a reason to fail."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from subprocess import PIPE

import platformdirs
import pytest
from driver.conftest import BAD_DEVICE, CLEAN, Project, Ran

from devlint.config.settings import Settings
from devlint.driver import engine
from devlint.driver.signing import user_folder
from devlint.safety import files


def run(project: Project, *args: str) -> Ran:
    time.sleep(0.03)  # what is written as a run begins is linted again by the next
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
    load += "torch.add(x, w.z)\ntorch.add(x, x)\n"
    project.write({"a.py": load, "b.py": BAD_DEVICE, "c.py": CLEAN, "d.py": "def f(:\n"})
    for output_format in ("json", "full", "sarif"):
        first = project.run("--output-format", output_format)
        second = project.run("--output-format", output_format)
        fresh = project.run("--output-format", output_format, "--no-cache")
        assert first == second == fresh
        assert '"derivation"' in first.out or output_format == "full"
        assert "Decided 1 of 2 places where tensors meet" in first.out or output_format != "full"
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


@pytest.mark.parametrize("age_before", [0, 60])
def test_a_change_that_keeps_size_and_time_is_seen(project: Project, age_before: int) -> None:
    path = project.folder / "a.py"
    project.write({"a.py": CLEAN.replace("zeros", "ones ")})
    if age_before:
        age(path, age_before)
        time.sleep(2.1)  # so that its look tells
    run(project)
    status = path.stat()
    broken = b'import torch\n\nd = torch.device("gp")'
    path.write_bytes(broken.ljust(status.st_size)[: status.st_size])
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert path.stat().st_mtime_ns == status.st_mtime_ns
    assert cached(run(project)) == 0


def test_a_file_with_another_time_but_the_same_content_is_not_linted(project: Project) -> None:
    project.write({"a.py": BAD_DEVICE})
    age(project.folder / "a.py")
    run(project)
    age(project.folder / "a.py")
    assert cached(run(project)) == 1


def test_an_old_file_is_not_even_read(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    from devlint.driver import recall as recall_module

    project.write({"a.py": BAD_DEVICE})
    time.sleep(2.1)
    run(project)

    def refuse(data: bytes) -> str:
        raise AssertionError("the file was read")

    monkeypatch.setattr(recall_module, "digest", refuse)
    ran = run(project)
    assert cached(ran) == 1
    assert "a.py:3:" in ran.out


def test_where_no_time_tells_the_content_does(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on Windows, where no time says when a file was changed."""
    monkeypatch.setattr(files, "_CHANGE_IS_TIMED", False)
    project.write({"a.py": CLEAN})
    run(project)
    path = project.folder / "a.py"
    status = path.stat()
    path.write_bytes(CLEAN.replace("zeros", "empty").encode())
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert cached(run(project)) == 0
    assert cached(run(project)) == 1


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
    from devlint.driver import cache

    monkeypatch.setattr(cache, "stamp", lambda: "another")
    assert cached(run(project)) == 0
    assert cached(run(project)) == 1


def test_the_stamp_follows_code_rules_and_tables(tmp_path: Path) -> None:
    root = Path(engine.__file__).parents[3]
    shutil.copytree(root / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(root / "rules", tmp_path / "rules")

    def stamp() -> str:
        code = "from devlint.driver.engine import stamp; print(stamp())"
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


def stored(folder: Path) -> Path:
    """The only file of results in a cache."""
    (path,) = folder.rglob("*.results")
    return path


def test_the_cache_is_the_users_alone_and_outside_of_the_project(project: Project) -> None:
    project.write({"a.py": CLEAN})
    run(project)
    assert [path.name for path in project.folder.iterdir()] == ["a.py"]
    folder = Path(user_folder())
    cache = stored(folder).parent
    assert [stat.S_IMODE(path.stat().st_mode) for path in (folder, cache)] == [0o700, 0o700]
    assert stat.S_IMODE((folder / "key").stat().st_mode) == 0o600
    assert (cache / ".gitignore").read_text() == "*\n"
    assert (
        (cache / "CACHEDIR.TAG")
        .read_text()
        .startswith("Signature: 8a477f597d28d172789f06886806bc55")
    )


DAMAGES = {
    "no signature": lambda data: b"nothing of ours" * 100,
    "empty": lambda data: b"",
    "cut off": lambda data: data[:-100],
    "longer": lambda data: data + b"]",
    "another format": lambda data: data.replace(b"results 2", b"results 1"),
    "no findings": lambda data: re.sub(rb'"\[\[.*?\]\]"', b'""', data),
    "another signature": lambda data: data[:30] + bytes([data[30] ^ 1]) + data[31:],
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_what_nobody_signed_is_passed_over(
    project: Project, damage: Callable[[bytes], bytes]
) -> None:
    project.write({f"m{i}.py": BAD_DEVICE for i in range(30)})
    expected = project.run("--output-format=concise", "-j1")
    path = stored(Path(user_folder()))
    data = path.read_bytes()
    path.write_bytes(damage(data))
    assert path.read_bytes() != data
    assert project.run("--output-format=concise", "-j1") == expected
    again = run(project)
    assert cached(again) == 30
    assert "warning" not in again.err


def test_a_cache_folder_that_may_not_be_written(project: Project) -> None:
    project.write({"a.py": BAD_DEVICE, "b.py": CLEAN})
    assert cached(run(project, "--cache-dir=here")) == 0
    project.write({"b.py": BAD_DEVICE})
    (project.folder / "here").chmod(stat.S_IRUSR | stat.S_IXUSR)
    ran = project.spawn("-v", "--output-format=concise", "--cache-dir=here", unprivileged=True)
    assert "a.py:3:" in ran.out
    assert "b.py:3:" in ran.out
    assert cached(ran) == 1
    assert "devlint: warning: running without the cache in " in ran.err
    assert ran.code == 1


@pytest.mark.parametrize("home", ["a relative path", "/dev/null/below"])
def test_a_user_without_a_folder_for_caches(
    project: Project, monkeypatch: pytest.MonkeyPatch, home: str
) -> None:
    monkeypatch.setattr(platformdirs, "user_cache_dir", lambda *_, **__: home)
    project.write({"a.py": BAD_DEVICE})
    ran = project.run("--output-format=concise", "a.py")
    assert (ran.code, ran.err.count("\n")) == (1, 1)
    assert ran.err.startswith("devlint: warning: running without the cache")
    assert [path.name for path in project.folder.iterdir()] == ["a.py"]


def test_a_folder_of_something_else_is_no_cache(project: Project) -> None:
    project.write({"a.py": BAD_DEVICE, "src/b.py": CLEAN, "file": "a file"})
    for name in ("src", "file"):
        ran = project.run("--output-format=concise", f"--cache-dir={name}", "a.py")
        assert (ran.code, ran.err.count("\n")) == (1, 1)
        assert "(it isn't a devlint cache)" in ran.err
    assert project.read("file") == "a file"
    assert [path.name for path in (project.folder / "src").iterdir()] == ["b.py"]


def test_runs_at_once_lose_nothing_and_warn_of_nothing(project: Project) -> None:
    project.write({f"m{i}.py": BAD_DEVICE for i in range(6)})
    command = project.command("--output-format=concise", "--quiet")
    runs = [
        subprocess.Popen(command, cwd=project.folder, stdout=PIPE, stderr=PIPE) for _ in range(3)
    ]
    ended = [process.communicate(timeout=120) for process in runs]
    assert len(set(ended)) == 1
    assert ended[0][1] == b""
    assert cached(run(project)) == 6


def test_a_run_keeps_what_others_have_written(project: Project) -> None:
    project.write({"a.py": BAD_DEVICE, "b.py": CLEAN})
    run(project, "a.py")
    run(project, "b.py")
    assert cached(run(project)) == 2


def test_what_was_signed_for_another_project_does_not_count(project: Project) -> None:
    for name in ("one", "two"):
        project.write({f"{name}/devlint.toml": "", f"{name}/a.py": BAD_DEVICE})
    (project.folder / "two/a.py").write_text(CLEAN)
    words = ("-v", "--output-format=concise", "--cache-dir", str(project.folder / "cache"))
    os.chdir("one")
    assert "DEV304" in project.run(*words).out
    first = stored(project.folder / "cache")
    os.chdir("../two")
    project.run(*words)
    (second,) = set((project.folder / "cache").rglob("*.results")) - {first}
    second.write_bytes(first.read_bytes())
    ran = project.run(*words)
    assert (ran.code, cached(ran)) == (0, 0)


def test_a_key_of_the_environment_opens_a_cache_elsewhere(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a job of a CI does that is handed the cache of an earlier one."""
    project.write({"a.py": BAD_DEVICE})
    monkeypatch.setenv("DEVLINT_CACHE_KEY", "secret")
    assert cached(run(project, "--cache-dir=cache")) == 0
    shutil.rmtree(user_folder(), ignore_errors=True)
    assert cached(run(project, "--cache-dir=cache")) == 1
    assert not Path(user_folder()).exists()
    monkeypatch.setenv("DEVLINT_CACHE_KEY", "another")
    assert cached(run(project, "--cache-dir=cache")) == 0


def test_where_the_cache_is(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write({"a.py": CLEAN, "sub/b.py": CLEAN, "pyproject.toml": "[tool.devlint]\n"})
    folder = project.folder
    run(project)
    first = stored(Path(user_folder()))
    monkeypatch.chdir(folder / "sub")
    run(project)  # the project is where its configuration is
    assert stored(Path(user_folder())) == first
    run(project, "--cache-dir", "here")
    assert (folder / "sub/here").is_dir()
    monkeypatch.setenv("DEVLINT_CACHE_DIR", "env")
    run(project)
    assert (folder / "sub/env").is_dir()


@pytest.mark.parametrize("option", ["-n", "--no-cache", "DEVLINT_NO_CACHE"])
def test_without_the_cache(project: Project, monkeypatch: pytest.MonkeyPatch, option: str) -> None:
    project.write({"a.py": CLEAN})
    if option.startswith("-"):
        assert cached(run(project, option)) == 0
    else:
        monkeypatch.setenv(option, "1")
        assert cached(run(project)) == 0
    assert not Path(user_folder()).exists()


def test_clean_removes_the_cache_and_nothing_else(project: Project) -> None:
    project.write({"a.py": CLEAN, "precious/data.txt": "x"})
    run(project)
    cache = stored(Path(user_folder())).parent
    assert project.run("clean").out == f"Removed {cache}.\n"
    assert not cache.exists()
    assert project.run("clean").code == 0
    ran = project.run("clean", "--cache-dir", "precious")
    assert "this isn't a devlint cache" in ran.err
    assert ran.code == 2
    assert project.read("precious/data.txt") == "x"


IMPORTS = """
import sys
from devlint.cli import main
code = main(sys.argv[1:])
heavy = [name for name in sys.modules if name.split(".")[0] in ("libcst", "rich", "torch")]
ours = [name for name in sys.modules if name in ("devlint.lint", "devlint.config.rulebook",
        "devlint.flow.interpreter", "devlint.torchapi.table", "devlint.fix.applying",
        "devlint.driver.pool", "devlint.source.notebooks", "devlint.source.parsing",
        "devlint.policy")]
print(heavy + ours, file=sys.stderr)
sys.exit(code)
"""


def test_a_warm_run_imports_neither_libcst_nor_rich_nor_the_interpreter(project: Project) -> None:
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
    shown = subprocess.run([*command[:3], "."], cwd=project.folder, capture_output=True, text=True)
    assert 'torch.device("gpu")' in shown.stdout  # the line that the finding is about
    assert shown.stderr == "[]\n"


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


def test_a_neighbour_that_changes_meanwhile_is_looked_at_again(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is kept must not be the findings of one content and the hash of another."""
    from devlint import lint

    project.write({"helpers.py": MAKES, "use.py": USES.format("helpers"), "pyproject.toml": ""})
    check = lint.check

    def check_and_change(data: bytes, filename: str, settings: Settings) -> lint.Checked:
        checked = check(data, filename, settings)
        project.write({"helpers.py": MAKES.replace("zeros(n)", "zeros(n, device='mps')")})
        return checked

    monkeypatch.setattr(lint, "check", check_and_change)
    assert "DEV202" in run(project, "use.py").out
    monkeypatch.setattr(lint, "check", check)
    assert "DEV202" not in run(project, "use.py").out


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
