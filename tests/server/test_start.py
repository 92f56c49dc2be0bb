"""How `devlint server` starts, and how it doesn't."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


def started(
    folder: Path, *words: str, missing: str = "", sent: bytes = b""
) -> tuple[int, str, str]:
    """The exit code and the output of a server that is sent some bytes and no more."""
    code = "import sys\nsys.modules.update(dict.fromkeys(sys.argv[1].split()))\n"
    code += "from devlint.cli import main\nsys.exit(main(sys.argv[2:]))"
    command = [sys.executable, "-c", code, missing, "server", *words]
    done = subprocess.run(command, cwd=folder, input=sent, capture_output=True, timeout=60)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.mark.parametrize("missing", ["pygls", "lsprotocol"])
def test_without_the_extra_it_says_what_to_install(tmp_path: Path, missing: str) -> None:
    needed = "devlint: devlint server needs pip install 'pygls>=2,<3'\n"
    assert started(tmp_path, missing=missing) == (2, "", needed)


def test_help_needs_no_extra(tmp_path: Path) -> None:
    code, out, _ = started(tmp_path, "--help", missing="pygls")
    assert code == 0
    assert "pygls" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--tcp"], "unknown option `--tcp`"),
        (["here"], "unexpected argument `here`"),
        (["--config", "none.toml"], "there is no file `none.toml`"),
        (["--config", "selct=['DEV2']"], 'did you mean "select"?'),
    ],
)
def test_a_bad_command_line_is_one_line(tmp_path: Path, words: list[str], said: str) -> None:
    pytest.importorskip("pygls")
    code, out, err = started(tmp_path, *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err


@pytest.mark.parametrize("length", [b"9" * 30, b"9" * 5])
def test_an_editor_that_is_gone_ends_it(tmp_path: Path, length: bytes) -> None:
    pytest.importorskip("pygls")
    code, out, err = started(tmp_path, sent=b"Content-Length: %b\r\n\r\n{" % length)
    assert code in (1, 2)
    assert out.count("Content-Length") <= 1  # a line of the log, about a message that isn't one
    assert "Traceback" not in err


def test_nothing_at_all_ends_it_in_silence(tmp_path: Path) -> None:
    pytest.importorskip("pygls")
    assert started(tmp_path) == (1, "", "")
