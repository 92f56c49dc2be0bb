"""`--watch`: rounds that follow what changes, in a process of its own."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from driver.conftest import BAD_DEVICE, CLEAN, Project

Waiter = Callable[[Callable[[], bool], float], None]
ROUND = "devlint: waiting for changes; Ctrl-C ends\n"
PATIENCE = 30.0


def heed_interrupts() -> None:
    """What a shell starts in its background ignores them, and so does what that starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@dataclass
class Watch:
    """A run with `--watch`, and what it has printed."""

    process: subprocess.Popen[bytes]
    out: Path
    err: Path
    in_time: Waiter

    def rounds(self, count: int) -> str:
        """Wait until so many rounds are over. Returns what all of them printed."""
        self.in_time(lambda: self.err.read_text().count(ROUND) >= count, PATIENCE)
        return self.out.read_text()

    def interrupt(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(PATIENCE)


@pytest.fixture
def watching(project: Project, in_time: Waiter) -> Callable[..., contextmanager[Watch]]:  # type: ignore[type-arg]
    @contextmanager
    def start(*args: str) -> Iterator[Watch]:
        out, err = project.folder / ".out", project.folder / ".err"
        words = ["--watch", "-n", "--output-format=concise", *args]
        with out.open("wb") as to_out, err.open("wb") as to_err:
            process = subprocess.Popen(
                project.command(*words),
                cwd=project.folder,
                stdout=to_out,
                stderr=to_err,
                preexec_fn=heed_interrupts,
            )
        try:
            yield Watch(process, out, err, in_time)
        finally:
            process.kill()
            process.wait()

    return start


def test_it_lints_again_when_a_file_changes(
    project: Project, watching: Callable[..., Watch]
) -> None:
    project.write({"a.py": CLEAN})
    with watching() as watch:
        assert watch.rounds(1) == "All checks passed in 1 file.\n"
        project.write({"a.py": BAD_DEVICE})
        assert "a.py:3:18: DEV304" in watch.rounds(2)
        project.write({"sub/b.py": BAD_DEVICE})
        assert "sub/b.py:3:18: DEV304" in watch.rounds(3)
        (project.folder / "a.py").unlink()
        (project.folder / "sub" / "b.py").unlink()
        watch.in_time(lambda: "Nothing was checked.\n" in watch.out.read_text(), PATIENCE)
        assert watch.interrupt() == 130
    assert watch.err.read_text().endswith("devlint: interrupted\n")
    assert "\x1b" not in watch.out.read_text()


def test_settings_and_ignore_files_are_read_again(
    project: Project, watching: Callable[..., Watch]
) -> None:
    project.write({"src/a.py": BAD_DEVICE, ".git/HEAD": "", "base.toml": "", "src/.gitignore": ""})
    project.write({"devlint.toml": 'extend = "base.toml"\n'})
    with watching("src") as watch:
        assert watch.rounds(1).count("DEV304") == 1
        project.write({"base.toml": 'ignore = ["DEV3"]\n'})
        assert watch.rounds(2).endswith("All checks passed in 1 file.\n")
        project.write({"devlint.toml": "selct = []\n"})
        watch.rounds(3)
        assert "devlint: devlint.toml: unknown key `selct`" in watch.err.read_text()
        project.write({"devlint.toml": ""})
        assert watch.rounds(4).count("DEV304") == 2
        project.write({"src/.gitignore": "a.py\n"})
        assert watch.rounds(5).endswith("Nothing was checked.\n")
        assert watch.process.poll() is None


def test_what_a_named_file_imports_is_watched_too(
    project: Project, watching: Callable[..., Watch]
) -> None:
    project.write({"pyproject.toml": "", "names.py": 'DEVICE = "cpu"\n'})
    project.write({"a.py": "import torch\nfrom names import DEVICE\n\nd = torch.device(DEVICE)\n"})
    with watching("a.py") as watch:
        assert watch.rounds(1) == "All checks passed in 1 file.\n"
        project.write({"names.py": 'DEVICE = "gpu"\n'})
        assert "DEV304" in watch.rounds(2)


def test_a_file_that_is_replaced_stays_watched(
    project: Project, watching: Callable[..., Watch]
) -> None:
    project.write({"a.py": CLEAN})
    with watching("a.py") as watch:
        watch.rounds(1)
        for count, text in enumerate((BAD_DEVICE, CLEAN, BAD_DEVICE), start=2):
            project.write({"new": text})
            (project.folder / "new").replace(project.folder / "a.py")
            last = watch.rounds(count).splitlines()[-1]
            assert last.startswith("All checks" if text == CLEAN else "Found 1 error")


def test_what_changes_nothing_starts_no_round(
    project: Project, watching: Callable[..., Watch]
) -> None:
    project.write({"a.py": BAD_DEVICE})
    with watching() as watch:
        watch.rounds(1)
        project.write({"notes.txt": "x", "__pycache__/a.pyc": "x"})
        time.sleep(1)
        assert watch.err.read_text() == ROUND
        project.write({"b.py": BAD_DEVICE})
        assert watch.rounds(2).count("a.py:3:18") == 2


def test_it_is_quiet_where_that_is_asked_for(
    project: Project, watching: Callable[..., Watch]
) -> None:
    project.write({"a.py": BAD_DEVICE})
    with watching("-q") as watch:
        watch.in_time(lambda: "DEV304" in watch.out.read_text(), PATIENCE)
        assert watch.interrupt() == 130
        assert watch.err.read_text() == "devlint: interrupted\n"


def test_a_terminal_is_cleared_before_each_round(project: Project) -> None:
    project.write({"a.py": BAD_DEVICE})
    ours, theirs = pty.openpty()
    words = project.command("--watch", "-n", "--color=never")
    with subprocess.Popen(
        words, cwd=project.folder, stdout=theirs, stderr=theirs, preexec_fn=heed_interrupts
    ) as process:
        os.close(theirs)
        printed = b""
        while b"Ctrl-C" not in printed:
            printed += os.read(ours, 4096)
        process.send_signal(signal.SIGINT)
    os.close(ours)
    assert printed.startswith(b"\x1b[2J\x1b[3J\x1b[Herror[DEV304]")


MISTAKES = {
    "standard input": (["-"], "--watch needs files, not standard input"),
    "fixes": (["--fix"], "--watch and --fix don't go together: give one of them"),
    "fixes by a setting": (["--config=fix=true"], "--watch writes no fixes: turn `fix` off"),
    "a diff": (["--diff"], "--watch and --diff don't go together: give one of them"),
    "comments": (["--add-ignore"], "--watch and --add-ignore don't go together: give one of them"),
    "a list": (["--show-files"], "--watch and --show-files don't go together: give one of them"),
    "a new baseline": (["--baseline=b.json"], "--watch: there is no baseline `b.json`: write it"),
    "a rule": (["--select=DEV9"], "the command line: unknown rule selector `DEV9`"),
}


@pytest.mark.parametrize(("words", "message"), MISTAKES.values(), ids=MISTAKES)
def test_what_does_not_go_with_it(project: Project, words: list[str], message: str) -> None:
    project.write({"a.py": CLEAN})
    ran = project.run("--watch", *words)
    assert ran.err.startswith(f"devlint: {message}")
    assert (ran.code, ran.out) == (2, "")


def test_without_the_library_that_is_said(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    ran = project.run("--watch")
    text = "devlint: --watch needs watchfiles: pip install watchfiles\n"
    assert (ran.code, ran.out, ran.err) == (2, "", text)
