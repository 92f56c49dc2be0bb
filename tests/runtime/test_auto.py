"""`import devlint.auto`: the environment turns the guard on, and torch is imported as ever."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from devlint import auto

MISMATCH = """
import devlint, torch
with devlint.emulate("cuda"):
    torch.nn.Linear(2, 2).cuda()(torch.ones(1, 2))
"""


def python(
    folder: Path, *words: str, mode: str | None, **environment: str
) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **environment}
    env.pop("DEVLINT_GUARD", None)
    if mode is not None:
        env["DEVLINT_GUARD"] = mode
    return subprocess.run(
        [sys.executable, *words], cwd=folder, env=env, capture_output=True, text=True, timeout=120
    )


@pytest.mark.parametrize(
    ("mode", "error", "told"),
    [
        (None, "RuntimeError", True),  # by the emulation's own note
        ("explain", "RuntimeError", True),
        ("strict", "devlint.DeviceMismatchError", False),
        ("trace", "devlint.DeviceMismatchError", False),
    ],
)
def test_a_program_that_imports_it(
    tmp_path: Path, mode: str | None, error: str, told: bool
) -> None:
    (tmp_path / "train.py").write_text(f"import devlint.auto\n{MISMATCH}")
    ran = python(tmp_path, "-W", "error", "train.py", mode=mode)
    assert ran.returncode == 1
    assert ran.stderr.count(f"\n{error}: ") == 1
    assert ran.stderr.count("Linear received args[0] on cpu") == 1
    assert ("\ndevlint: Linear received" in ran.stderr) == told
    assert ("waits for the device" in ran.stderr) == (mode == "trace")


@pytest.mark.parametrize("mode", [None, "", "off"])
def test_off(mode: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DEVLINT_GUARD", raising=False)
    if mode is not None:
        monkeypatch.setenv("DEVLINT_GUARD", mode)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    before = list(sys.meta_path)
    auto._start()
    assert sys.meta_path == before


@pytest.mark.parametrize(("mode", "shown"), [("loud", "loud"), ("a\n\x1b", r"a\n\x1b")])
def test_a_mode_that_there_is_not(mode: str, shown: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import devlint.auto\nprint('done')\n")
    ran = python(tmp_path, "train.py", mode=mode)
    text = "it must be off, explain, strict, trace or collect; no guard is on"
    assert ran.stderr == f"devlint: DEVLINT_GUARD={shown}: {text}\n"
    assert (ran.returncode, ran.stdout) == (0, "done\n")


AS_EVER = """
import importlib, importlib.util, inspect, sys
before = list(sys.meta_path)
spec = importlib.util.find_spec("torch")  # as libraries ask whether there is a torch
assert "torch" not in sys.modules
assert type(spec.loader).__name__ == "SourceFileLoader"
from torch import nn
import torch
assert "auto" not in "".join(type(finder).__module__ for finder in sys.meta_path)
assert len(sys.meta_path) == len(before) - 1
assert nn.Module._call_impl.__module__ == "devlint.runtime.guard.watch"
for loader in (torch.__spec__.loader, torch.__loader__):
    assert type(loader).__name__ == "SourceFileLoader"
    assert "exec_module" not in vars(loader)
assert torch.__spec__.origin == torch.__file__ == spec.origin
assert "torch" in inspect.getsource(torch)
json = importlib.reload(importlib.import_module("json"))
again = importlib.reload(torch.version)
import pickle
assert pickle.loads(pickle.dumps(nn.Linear(2, 2))).weight.shape == (2, 2)
print("fine")
"""


def test_torch_is_as_ever(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import devlint.auto\n")
    (tmp_path / "train.py").write_text(AS_EVER)
    ran = python(tmp_path, "-W", "error", "train.py", mode="strict", PYTHONPATH=str(tmp_path))
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "fine\n", "")


def test_who_has_no_need_of_torch_does_not_import_it(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import devlint.auto\n")
    code = "import sys; print('torch' in sys.modules, 'devlint.runtime' in sys.modules)"
    ran = python(tmp_path, "-W", "error", "-c", code, mode="strict", PYTHONPATH=str(tmp_path))
    assert (ran.stdout, ran.stderr) == ("False False\n", "")


def test_torch_that_is_there_already(tmp_path: Path) -> None:
    code = "import torch\nimport devlint.auto\nprint(torch.nn.Module._call_impl.__module__)"
    ran = python(tmp_path, "-c", code, mode="strict")
    assert (ran.stdout, ran.stderr) == ("devlint.runtime.guard.watch\n", "")


FAILS_AT_FIRST = """
import sys
sys.path.insert(0, "{folder}")
import devlint.auto
for _ in range(2):
    try:
        import torch
    except {error}:
        print("no torch")
{then}
"""


def test_torch_that_cannot_be_imported(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise OSError('no library')\n")
    text = FAILS_AT_FIRST.format(folder=tmp_path, error="OSError", then="")
    ran = python(tmp_path, "-c", text, mode="strict")
    assert (ran.stdout, ran.stderr) == ("no torch\n" * 2, "")
    (tmp_path / "torch.py").write_text("nn = None\n")  # what has its name, and nothing else
    ran = python(tmp_path, "-c", text, mode="strict")
    assert ran.stdout == ""
    assert ran.stderr.startswith("devlint: there is no guard: ")
    assert len(ran.stderr.splitlines()) == 1


def test_it_waits_for_torch_only(monkeypatch: pytest.MonkeyPatch) -> None:
    finder = auto._Afterwards()
    monkeypatch.setattr(sys, "meta_path", [finder, *sys.meta_path])
    assert finder.find_spec("json", None) is None
    monkeypatch.setattr(sys, "meta_path", [finder])
    assert finder.find_spec("torch", None) is None


def test_a_program_that_devlint_runs_has_one_guard(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import devlint.auto\n")
    (tmp_path / "train.py").write_text("import devlint.auto, torch\ntorch.ones(1)\n")
    words = ("-m", "devlint", "run", "train.py")
    ran = python(tmp_path, *words, mode="trace", PYTHONPATH=str(tmp_path))
    assert ran.stderr == "No copies between devices, and no waiting for one.\n"
