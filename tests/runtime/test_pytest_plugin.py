"""The pytest plugin: what those notice who run their tests with it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PLUGIN = "devlint.integrations.pytest_plugin"

CONFTEST = """
import torch
HERE = torch.ones(1, device="cuda:1").device
torch.compile(lambda: 0)
"""

TESTS = """
import pytest
import torch

COUNT = torch.cuda.device_count()

@pytest.fixture
def batch():
    return torch.ones(4, 3)

def step(x):
    return torch.nn.functional.linear(x, torch.ones(2, 3, device="cuda"))

def test_bug(batch):
    step(batch)

@pytest.mark.parametrize("n", range(2))
def test_fine(batch, n):
    torch.compile(step)
    assert COUNT == 2
    assert step(batch.cuda()).is_cuda
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with tests, and the plugin installed even where the checkout isn't."""
    site = tmp_path / "site"
    installed = site / "devlint_plugin-1.dist-info"
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: devlint-plugin\nVersion: 1\n")
    (installed / "entry_points.txt").write_text(f"[pytest11]\ndevlint = {PLUGIN}\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")]))
    for name in ("PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER", "PYTEST_DISABLE_PLUGIN_AUTOLOAD"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "emulated").mkdir()
    (tmp_path / "emulated" / "conftest.py").write_text(CONFTEST)
    (tmp_path / "emulated" / "test_step.py").write_text(TESTS)
    return tmp_path


def run(*words: str) -> list[str]:
    """The lines that Python prints, on both streams."""
    done = subprocess.run(
        [sys.executable, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )
    return done.stdout.splitlines()


IN_ONE_PROCESS = """
import sys
import pytest
print("unused", pytest.main(["other"]))
print("heavy", {"torch", "libcst", "devlint.cli"} & sys.modules.keys())
print("mistaken", pytest.main(["--devlint-emulate=rocm", "other"]))
print("used", pytest.main(["--devlint-emulate=cuda:2", "emulated"]))
import torch
print("left", torch.cuda.device_count(), torch.ones(1).device, torch.cuda.is_available())
"""


def test_the_tests_believe_in_the_devices(project: Path) -> None:
    (project / "other").mkdir()
    (project / "other" / "test_other.py").write_text("def test(): pass\n")
    lines = run("-c", IN_ONE_PROCESS)
    assert "unused 0" in lines
    assert "heavy set()" in lines
    assert not any("devlint:" in line for line in lines[: lines.index("heavy set()")])
    mistake = lines[lines.index("heavy set()") + 1 : lines.index("mistaken 4")]
    assert [line for line in mistake if line] == [
        "ERROR: --devlint-emulate: 'rocm' can't be emulated: choose one of cuda, mps, xpu"
    ]
    assert "devlint: emulating cuda:2" in lines
    assert any("1 failed, 2 passed" in line for line in lines)
    shown = [line.removeprefix("E").strip() for line in lines if line.startswith("E ")]
    assert shown[0].startswith("RuntimeError: Expected all tensors to be on the same device")
    # No frame of devlint's lies beneath the line that is to blame.
    assert "emulated/test_step.py:12: RuntimeError" in lines
    heading = next(line for line in lines if " not emulated (devlint) " in line)
    assert lines[lines.index(heading) + 1] == "torch.compile: the code runs eagerly (3 times)"
    assert lines[-2:] == ["used 1", "left 0 cpu False"]


def test_processes_of_xdist_believe_in_them_too(project: Path) -> None:
    (project / "pytest.ini").write_text("[pytest]\ndevlint_emulate = cuda:2\n")
    lines = run("-m", "pytest", "-n1", "emulated")
    assert "devlint: emulating cuda:2" in lines
    assert "1 failed, 2 passed" in lines[-1]
    heading = next(line for line in lines if " not emulated (devlint) " in line)
    # Twice in the tests, and once in each of the two processes that import the conftest.
    assert lines[lines.index(heading) + 1] == "torch.compile: the code runs eagerly (4 times)"


WITHOUT_TORCH = """
import sys
import pytest
sys.modules["torch"] = None
print(pytest.main(["--devlint-emulate=cuda", "emulated"]))
"""


def test_without_torch(project: Path) -> None:
    lines = [line for line in run("-c", WITHOUT_TORCH) if line]
    text = "ERROR: --devlint-emulate needs torch: pip install 'devlint[runtime]'"
    assert lines == [text, "4"]


def test_pytest_finds_it_wherever_devlint_is_installed() -> None:
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    project = tomllib.loads(text)["project"]
    assert project["entry-points"]["pytest11"] == {"devlint": PLUGIN}
