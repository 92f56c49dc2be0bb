"""Bad input gets a clear line, and the rest of the run goes on."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from driver.conftest import BAD_DEVICE, CLEAN, Project

from devlint.config.sources import Source
from devlint.driver import run as run_module

DEEP = "import torch\nx = " + "(" * 3000 + "1" + ")" * 3000 + "\n"

UNPARSABLE = {
    "syntax error": (b"import torch\ndef f(:\n", "DEV001", "2:7"),
    "Python 2": (b"import torch\nprint 'x'.cuda()\n", "DEV001", "2:1"),
    "NUL byte": (b"import torch\nx = '\0'\n", "DEV001", "2:6"),
    "not UTF-8": (b"import torch\nx = '\xff'\n", "DEV003", "2:6"),
    "coding that lies": (b"# coding: ascii\nimport torch\nx = '\xc3\xa9'\n", "DEV003", "3:6"),
    "unknown coding": (b"# coding: klingon\nimport torch\n", "DEV003", "1:"),
    "UTF-16": ("\ufeffimport torch\n".encode("utf-16-le"), "DEV003", "1:1"),
    "unclosed string": (b"import torch\nx = '''\n", "DEV001", "2:5"),
    "tabs mixed with spaces": (b"import torch\nif x:\n\ty = 1\n        z = 2\n", "DEV001", "4:"),
    "deep nesting": (DEEP.encode(), "DEV001", "2:"),
    "deep nesting without torch": (DEEP.encode()[13:], "DEV001", "1:"),
}


@pytest.mark.parametrize(("data", "code", "place"), UNPARSABLE.values(), ids=UNPARSABLE)
def test_a_file_that_is_no_python_is_one_finding_and_exit_code_2(
    project: Project, data: bytes, code: str, place: str
) -> None:
    project.write({"bad.py": data, "other.py": BAD_DEVICE})
    ran = project.concise(".")
    first, second = ran.out.splitlines()[:2]
    assert first.startswith(f"bad.py:{place}")
    assert f" {code} " in first
    assert second.startswith("other.py:3:")
    assert ran.code == 2
    assert "Traceback" not in ran.err


def test_a_slow_encoding_is_for_small_files(project: Project) -> None:
    """Punycode takes hours for a megabyte."""
    project.write({"slow.py": b"# coding: punycode\n" + b"a" * 500_000 + b"-" + b"b" * 500_000})
    project.write({"small.py": b"# coding: utf-7\nimport torch\n\nd = torch.device('gpu')\n"})
    ran = project.concise()
    assert "slow.py:1:1: DEV003 `punycode` is no superset of ASCII: only files up to" in ran.out
    assert "small.py:4:18: DEV304" in ran.out
    assert ran.code == 2


READABLE = {
    "byte order mark": b"\xef\xbb\xbf" + BAD_DEVICE.encode(),
    "CRLF": BAD_DEVICE.replace("\n", "\r\n").encode(),
    "lone CR": BAD_DEVICE.replace("\n", "\r").encode(),
    "latin-1": b"# coding: latin-1\nimport torch  # \xe9\nd = torch.device('gpu')\n",
    "no newline at the end": BAD_DEVICE.rstrip("\n").encode(),
    "other line separators": BAD_DEVICE.replace("\n\n", "\n# \u2028\n").encode(),
}


@pytest.mark.parametrize("data", READABLE.values(), ids=READABLE)
def test_odd_but_valid_files_are_linted(project: Project, data: bytes) -> None:
    project.write({"odd.py": data})
    ran = project.concise(".")
    assert ran.out.startswith("odd.py:3:")
    assert ran.code == 1


@pytest.mark.parametrize("data", [b"", b"\n", b"\f\n", b"\xef\xbb\xbf", b"# only a comment"])
def test_files_without_code_are_clean(project: Project, data: bytes) -> None:
    project.write({"empty.py": data})
    assert project.concise(".").code == 0


def test_form_feeds_and_tabs_do_not_shift_columns(project: Project) -> None:
    project.write({"odd.py": 'import torch\n\f\nif torch:\n\td = torch.device("gpu")\n'})
    assert project.concise(".").out.startswith("odd.py:4:19: DEV304")


def test_a_file_over_the_size_limit_is_not_read(project: Project) -> None:
    project.write({"big.py": "x = 1\n" * 900_000, "other.py": BAD_DEVICE})
    ran = project.concise(".")
    assert "big.py:1:1: DEV003" in ran.out
    assert "max-file-size" in ran.out
    assert "other.py:3:" in ran.out
    assert ran.code == 2


def test_the_size_limit_is_a_setting(project: Project) -> None:
    project.write({"small.py": CLEAN})
    assert project.found("--config", "max-file-size = 10") == ["small.py DEV003"]


def test_a_path_that_does_not_exist(project: Project) -> None:
    project.write({"other.py": BAD_DEVICE})
    ran = project.concise("missing.py", "other.py")
    assert ran.err == "devlint: missing.py: No such file or directory\n"
    assert "other.py:3:" in ran.out
    assert ran.code == 2


def test_a_folder_named_like_a_file_is_walked(project: Project) -> None:
    project.write({"x.py/inner.py": BAD_DEVICE})
    assert project.found(".") == ["x.py/inner.py DEV304"]
    assert project.found("x.py") == ["x.py/inner.py DEV304"]


def test_links_in_circles(project: Project) -> None:
    project.write({"other.py": BAD_DEVICE, "package/a.py": CLEAN})
    (project.folder / "package" / "up").symlink_to("..")
    (project.folder / "loop.py").symlink_to("loop.py")
    ran = project.concise(".")
    assert ran.err == "devlint: loop.py: Too many levels of symbolic links\n"
    assert ran.out.count("other.py") == 1
    assert ran.code == 2


def test_a_link_that_leads_nowhere(project: Project) -> None:
    project.write({"other.py": BAD_DEVICE})
    (project.folder / "gone.py").symlink_to("nothing.py")
    ran = project.concise(".")
    assert ran.err == "devlint: gone.py: No such file or directory\n"
    assert "other.py:3:" in ran.out
    assert project.concise() == ran
    assert project.concise("gone.py").err == ran.err


def test_a_link_to_a_file_is_linted(project: Project) -> None:
    project.write({"real.txt": BAD_DEVICE})
    (project.folder / "link.py").symlink_to("real.txt")
    assert project.found(".") == ["link.py DEV304"]


def test_an_editor_lock_is_passed_by(project: Project) -> None:
    (project.folder / ".#train.py").symlink_to("user@host.4711")
    assert project.concise(".").code == 0


def test_a_pipe_is_not_read(project: Project) -> None:
    os.mkfifo(project.folder / "pipe.py")
    ran = project.concise(".")
    assert ran.err == "devlint: pipe.py: it is neither a file nor a folder\n"
    assert ran.code == 2


def test_files_and_folders_without_permission(project: Project) -> None:
    project.write({"locked.py": CLEAN, "closed/a.py": CLEAN, "other.py": BAD_DEVICE})
    (project.folder / "locked.py").chmod(0)
    (project.folder / "closed").chmod(0)
    try:
        ran = project.spawn("--output-format=concise", "-n", ".", unprivileged=True)
    finally:
        (project.folder / "closed").chmod(stat.S_IRWXU)
    assert "locked.py:1:1: DEV003 Permission denied" in ran.out
    assert "other.py:3:" in ran.out
    assert ran.err == "devlint: closed: Permission denied\n"
    assert ran.code == 2


def test_a_file_deleted_during_the_run(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write({"a.py": CLEAN, "other.py": BAD_DEVICE})
    check_file = run_module.check_file

    def delete_and_check(source: Source) -> run_module.Outcome:
        (project.folder / "a.py").unlink(missing_ok=True)
        return check_file(source)

    monkeypatch.setattr(run_module, "check_file", delete_and_check)
    ran = project.concise(".")
    assert ran.out.splitlines()[0] == "a.py:1:1: DEV003 No such file or directory"
    assert "other.py:3:" in ran.out
    assert ran.code == 2


def test_an_internal_error_names_its_file_and_the_run_goes_on(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write({"a.py": "import torch  # boom\n", "other.py": BAD_DEVICE})
    from devlint.project import neighbours

    lower = neighbours.lower

    def explode(text: str, path: str, **options: bool) -> object:
        if "boom" in text:
            raise ZeroDivisionError("by zero")
        return lower(text, path, **options)

    monkeypatch.setattr(neighbours, "lower", explode)
    ran = project.concise(".")
    assert ran.err == "devlint: a.py: internal error: ZeroDivisionError: by zero\n"
    assert "other.py:3:" in ran.out
    assert ran.code == 2
    assert "in explode" in project.run("--no-cache", "-v", ".").err


def test_a_failure_is_told_by_every_run(project: Project) -> None:
    """Also by one that takes it from the cache."""
    project.write({"bad.py": "def f(:\n"})
    for _ in range(2):
        ran = project.run("--output-format=concise")
        assert "bad.py:1:7: DEV001" in ran.out
        assert ran.code == 2


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_ends_the_run_and_its_workers(
    project: Project, jobs: str, in_time: Callable[[Callable[[], bool], float], None]
) -> None:
    body = "".join(f"def f{i}(x):\n    return x.to('cuda') + {i}\n" for i in range(800))
    project.write({f"m{i}.py": f"import torch\n{body}" for i in range(run_module.SMALL + 10)})
    process = subprocess.Popen(
        project.command("-j", jobs, "-n", "."),
        cwd=project.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # Where a shell started the tests in the background, they would inherit a deaf ear.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    workers = 2 if jobs == "2" else 0
    in_time(lambda: len(_descendants(process.pid)) >= workers and _cpu(process.pid) > 0.3, 60)
    children = _descendants(process.pid)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all of them
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err == "devlint: interrupted\n"
    in_time(lambda: not any(Path(f"/proc/{child}/stat").exists() for child in children), 20)


def test_an_interrupt_within_an_exec_is_told_by_the_exit_code_too(project: Project) -> None:
    code = (
        "import sys\nfrom devlint import cli\n"
        "cli._run = lambda words: exec('raise KeyboardInterrupt')\n"
        "sys.exit(cli.main(['.']))"
    )
    project.write({"program.py": code})
    done = subprocess.run([sys.executable, "program.py"], cwd=project.folder, capture_output=True)
    assert (done.returncode, done.stderr) == (130, b"devlint: interrupted\n")


def _descendants(pid: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent == pid:
            child = int(path.parent.name)
            found += [child, *_descendants(child)]
    return found


def _cpu(pid: int) -> float:
    """Seconds of processor time, of the process and its descendants."""
    total = 0
    for each in (pid, *_descendants(pid)):
        try:
            fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


def test_output_into_a_closed_pipe(project: Project) -> None:
    project.write({f"m{i}.py": BAD_DEVICE * 200 for i in range(5)})
    script = f"{sys.executable} -m devlint -n . | head -n 1"
    done = subprocess.run(script, shell=True, cwd=project.folder, capture_output=True, text=True)
    assert done.stderr == ""
    assert "DEV304" in done.stdout
