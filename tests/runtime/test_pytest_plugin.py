"""The pytest plugin: what those notice who run their tests with it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

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
    for name in ("PYTEST_XDIST_WORKER", "PYTEST_DISABLE_PLUGIN_AUTOLOAD"):
        monkeypatch.delenv(name, raising=False)
    # Its plugin imports all of hypothesis at the end of each run.
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:hypothesispytest")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "emulated").mkdir()
    (tmp_path / "emulated" / "conftest.py").write_text(CONFTEST)
    (tmp_path / "emulated" / "test_step.py").write_text(TESTS)
    return tmp_path


def run(*words: str) -> list[str]:
    """The lines that Python prints, on both streams, in the order in which it prints them."""
    done = subprocess.run(
        [sys.executable, "-u", *words],
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
print("set wrongly", pytest.main(["-o", "devlint_emulate=rocm", "other"]))
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
    mistakes = lines[lines.index("heavy set()") + 1 : lines.index("set wrongly 4")]
    text = "'rocm' can't be emulated: choose one of cuda, mps, xpu"
    assert [line for line in mistakes if line] == [
        f"ERROR: --devlint-emulate: {text}",
        "mistaken 4",
        f"ERROR: devlint_emulate: {text}",
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


WITHOUT_TORCH = """
import sys
import pytest
sys.modules["torch"] = None
print(pytest.main(["--devlint-emulate=cuda", "emulated"]))
"""


def test_without_torch(project: Path) -> None:
    lines = [line for line in run("-c", WITHOUT_TORCH) if line]
    text = "ERROR: --devlint-emulate needs torch: pip install torch"
    assert lines == [text, "4"]


# --- the guard

OTHER = """
def test_fine(): pass
def test_wrong(): assert False
"""

MARKED = """
import pytest
@pytest.mark.devlint_guard
def test(): pass
def test_by_fixture(device_guard): pass
"""

WITHOUT_NEED = """
import sys
from types import ModuleType
from unittest.mock import MagicMock
import pytest

def heavy():
    rooms = {"torch", "libcst", "devlint.cli", "devlint.runtime"}
    return rooms & sys.modules.keys()

print("unused", pytest.main(["other"]), heavy())
print("explain", pytest.main(["--devlint-guard=explain", "other"]), heavy())
print("off", pytest.main(["--devlint-guard=off", "-o", "devlint_guard=strict", "other"]), heavy())
print("mistaken", pytest.main(["--devlint-guard=loose", "other"]))
print("mistaken", pytest.main(["-o", "devlint_guard=trace", "other"]))
for stub in (ModuleType("torch"), MagicMock()):
    sys.modules["torch"] = stub
    print("stub", pytest.main(["--devlint-guard=explain", "other"]), heavy() - {"torch"})
sys.modules["torch"] = None
print("without", pytest.main(["--devlint-guard=strict", "other"]))
print("marked", pytest.main(["-q", "--strict-markers", "marked"]))
"""


def test_the_guard_costs_nothing_where_it_is_not_used(project: Path) -> None:
    for name, text in (("other", OTHER), ("marked", MARKED)):
        (project / name).mkdir()
        (project / name / f"test_{name}.py").write_text(text)
    lines = run("-c", WITHOUT_NEED)
    results = [line for line in lines if line.startswith(("unused", "explain", "off"))]
    assert results == ["unused 1 set()", "explain 1 set()", "off 1 set()"]
    assert lines.count("devlint: guard explain") == 3
    assert sum(line.startswith("devlint: ") for line in lines) == 3
    choose = "isn't a mode of the guard: choose off, explain, strict or collect"
    assert [line for line in lines if line.startswith("ERROR: ")] == [
        f"ERROR: --devlint-guard: 'loose' {choose}",
        f"ERROR: devlint_guard: 'trace' {choose}",
        "ERROR: --devlint-guard needs torch: pip install torch",
    ]
    assert [line for line in lines if line.startswith(("mistaken", "without"))] == [
        "mistaken 4",
        "mistaken 4",
        "without 4",
    ]
    needs = "devlint_guard needs torch: pip install torch"
    assert lines.count(needs) == 2
    assert lines[-1] == "marked 1"
    assert [line for line in lines if line.startswith("stub ")] == ["stub 1 set()"] * 2
    assert not any("During handling" in line for line in lines)


GUARDED = """
import unittest
import pytest
import torch
from torch import nn

def is_on():
    return nn.Module._call_impl.__module__ != "torch.nn.modules.module"

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 2)

    def forward(self, x):
        return self.layer(x)

@pytest.fixture
def net():
    return Net().cuda()

@pytest.fixture
def early(net):
    x = torch.ones(4, 3)
    return net(x)

@pytest.fixture
def late(net):
    yield
    torch.ones(3).cuda() + torch.ones(3)

def test_layer(net):
    x = torch.ones(4, 3)
    net(x)

def test_outside(net):
    y = net(torch.ones(4, 3).cuda())
    nn.functional.mse_loss(y, torch.zeros(4, 2))

def test_setup(early):
    pass

def test_teardown(late):
    pass

def test_chained(net):
    try:
        net(torch.ones(4, 3))
    except RuntimeError as error:
        raise ValueError("the step failed") from error

class TestCase(unittest.TestCase):
    def test_method(self):
        x = torch.ones(4, 3)
        Net().cuda()(x)

def test_raises(net):
    with pytest.raises(RuntimeError):
        net(torch.ones(4, 3))

@pytest.mark.xfail(raises=RuntimeError, strict=True)
def test_expected(net):
    net(torch.ones(4, 3))

def test_another_error(net):
    assert torch.ones(1).cuda().item() == 2

def test_failed_in_forward():
    class Failing(nn.Module):
        def forward(self):
            pytest.fail("in forward")
    Failing()()

@pytest.mark.devlint_guard("off")
def test_off(net):
    assert not is_on()
    net(torch.ones(4, 3))

@pytest.mark.devlint_guard("explain")
def test_explain(net):
    assert not is_on()
    net(torch.ones(4, 3))

@pytest.mark.devlint_guard
class TestStrict:
    def test_on(self, net):
        assert is_on()
        net(torch.ones(4, 3))

    @pytest.mark.devlint_guard("off")
    def test_off(self):
        assert not is_on()

@pytest.mark.devlint_guard("loose")
def test_wrong_mode():
    pass

@pytest.mark.devlint_guard("off", "strict")
def test_two_modes():
    pass

def test_fixture(device_guard, net):
    assert is_on()
    assert device_guard.mode == "strict"
    assert device_guard.is_on
    net(torch.ones(4, 3))

def test_fixture_by_name(request, net):
    guard = request.getfixturevalue("device_guard")
    assert is_on() and guard.is_on
    net(torch.ones(4, 3))

@pytest.mark.devlint_guard("off")
def test_fixture_and_marker(device_guard, net):
    assert not is_on()
    assert device_guard.mode == "off"

def test_left():
    assert is_on() == (MODE == "strict")
"""

INTERRUPTED = """
import torch
def test():
    assert torch.nn.Module._call_impl.__module__ != "torch.nn.modules.module"
    raise KeyboardInterrupt
"""

BOTH_MODES = """
import json
import pytest
import torch

class Recorder:
    def __init__(self):
        self.seen = {}

    def pytest_runtest_logreport(self, report):
        key = report.nodeid.partition("::")[2] + ":" + report.when
        sections = "\\n".join(text for _, text in report.sections)
        self.seen[key] = [report.outcome, report.longreprtext, sections]

plain = torch.nn.Module._call_impl
seen = {}
for mode in ("strict", "explain"):
    recorder = Recorder()
    options = [f"--devlint-guard={mode}", "--devlint-emulate=cuda:2", "--strict-markers"]
    pytest.main([*options, f"guarded_{mode}"], plugins=[recorder])
    seen[mode] = recorder.seen
    assert torch.nn.Module._call_impl is plain
with open("seen.json", "w") as file:
    json.dump(seen, file)
print("interrupted", int(pytest.main(["--devlint-guard=strict", "interrupted"])))
print("left", torch.nn.Module._call_impl is plain)
"""


def test_errors_of_tests_are_explained(project: Path) -> None:
    for mode in ("strict", "explain"):
        text = GUARDED.replace("(MODE ==", f"({mode!r} ==")
        (project / f"guarded_{mode}").mkdir()
        (project / f"guarded_{mode}" / f"test_guarded_{mode}.py").write_text(text)
    (project / "interrupted").mkdir()
    (project / "interrupted" / "test_interrupted.py").write_text(INTERRUPTED)
    lines = run("-c", BOTH_MODES)
    assert lines[-2:] == ["interrupted 2", "left True"]
    assert lines.count("devlint: emulating cuda:2") == 2
    assert [line for line in lines if line.startswith("devlint: guard")] == [
        "devlint: guard strict",
        "devlint: guard explain",
        "devlint: guard strict",
    ]
    for mode, seen in json.loads((project / "seen.json").read_text()).items():
        check_explained(mode, seen)


def check_explained(mode: str, seen: dict[str, Any]) -> None:
    """What a run of the guarded tests has told, in one mode."""
    outcomes = {key: outcome for key, (outcome, *_) in seen.items() if outcome != "passed"}
    assert outcomes == {
        "test_layer:call": "failed",
        "test_outside:call": "failed",
        "test_setup:setup": "failed",
        "test_teardown:teardown": "failed",
        "test_chained:call": "failed",
        "TestCase::test_method:call": "failed",
        "test_expected:call": "skipped",
        "test_another_error:call": "failed",
        "test_failed_in_forward:call": "failed",
        "test_off:call": "failed",
        "test_explain:call": "failed",
        "TestStrict::test_on:call": "failed",
        "test_wrong_mode:setup": "failed",
        "test_two_modes:setup": "failed",
        "test_fixture:call": "failed",
        "test_fixture_by_name:call": "failed",
    }
    texts = {key: f"{text}\n{sections}" for key, (_, text, sections) in seen.items()}
    strict = "devlint.DeviceMismatchError: layer (Linear) received args[0] on cpu"
    torchs = "RuntimeError: Expected all tensors to be on the same device"
    layers = {"test_layer:call", "test_setup:setup", "test_chained:call"}
    layers.add("TestCase::test_method:call")
    always = {"TestStrict::test_on:call", "test_fixture:call", "test_fixture_by_name:call"}
    for key in layers | always:
        text = texts[key]
        is_strict = mode == "strict" or key in always
        assert (strict in text) == is_strict
        assert (torchs in text) != is_strict
        assert text.count("more       devlint rule ") == 1
    for key in ("test_layer:call", "test_setup:setup"):
        assert "x = torch.ones(4, 3)" in texts[key].partition("made at")[2]
    for key in ("test_outside:call", "test_teardown:teardown"):
        kind = "devlint.DeviceMismatchError: " if mode == "strict" else torchs
        assert kind in texts[key]
        assert texts[key].count("more       devlint rule ") == 1
    assert torchs in texts["test_explain:call"]
    assert texts["test_explain:call"].count("more       devlint rule ") == 1
    assert "devlint" not in texts["test_another_error:call"]
    choose = "isn't a mode of the guard: choose off, explain, strict or collect"
    assert texts["test_wrong_mode:setup"].strip() == f"devlint_guard: 'loose' {choose}"
    assert texts["test_two_modes:setup"].strip() == "devlint_guard: the marker takes one mode"
    for text in texts.values():
        assert "src/devlint" not in text
        assert "_call_impl(self: nn.Module" not in text


def test_processes_of_xdist_believe_in_the_devices_and_are_guarded(project: Path) -> None:
    (project / "pytest.ini").write_text("[pytest]\ndevlint_guard = strict\n")
    lines = run("-m", "pytest", "-n1", "--devlint-emulate=cuda:2", "emulated")
    assert "devlint: emulating cuda:2" in lines
    assert "devlint: guard strict" in lines
    assert "1 failed, 2 passed" in lines[-1]
    shown = [line.removeprefix("E").strip() for line in lines if line.startswith("E ")]
    assert shown[0].startswith("devlint.DeviceMismatchError: ")
    assert "emulated/test_step.py:12: DeviceMismatchError" in lines
    heading = next(line for line in lines if " not emulated (devlint) " in line)
    # Twice in the tests, and once in each of the two processes that import the conftest.
    assert lines[lines.index(heading) + 1] == "torch.compile: the code runs eagerly (4 times)"


def test_pytest_finds_it_wherever_devlint_is_installed() -> None:
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    project = tomllib.loads(text)["project"]
    assert project["entry-points"]["pytest11"] == {"devlint": PLUGIN}


COLLECTED = """
import pytest, torch

@pytest.mark.parametrize("n", range(3))
def test_adds(n):
    x, y = torch.ones(2, device="cuda"), torch.ones(2)
    assert (x + y).is_cuda

def test_fine():
    pass
"""


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_mistakes_are_collected(project: Path, workers: tuple[str, ...]) -> None:
    (project / "test_it.py").write_text(COLLECTED)
    options = ("-m", "pytest", "--devlint-emulate=cuda", "--devlint-guard=collect", *workers)
    lines = run(*options, "test_it.py")
    heading = next(line for line in lines if " device mistakes (devlint) " in line)
    first, second, _, place, *rest = lines[lines.index(heading) + 1 :]
    assert first.startswith("devlint: values may differ from those of a correct run")
    assert second == "devlint: 1 device mismatch, met 3 times:"
    assert place == "test_it.py:7 (3 times)"
    assert any(line.startswith("  fix        move it first: y = y.to(x.device)") for line in rest)
    assert " 4 passed in " in rest[-1]


def test_what_is_collected_decides_how_a_session_ends(project: Path) -> None:
    (project / "test_it.py").write_text(COLLECTED)
    options = ["--devlint-emulate=cuda", "--devlint-guard=collect", "test_it.py"]
    code = f"import pytest; print('code', pytest.main({options} + sys.argv[1:]))"
    assert run("-c", f"import sys; {code}")[-1] == "code 1"
    lines = run("-c", f"import sys; {code}", "-k", "fine")
    assert lines[-1] == "code 0"
    assert not any("device mistakes" in line for line in lines)


def test_what_pytest_makes_of_an_assertion_is_no_name_of_the_test(project: Path) -> None:
    (project / "test_it.py").write_text(
        "import torch\n"
        "def test():\n"
        "    assert (torch.ones(2, device='cuda') + torch.ones(2)).is_cuda\n"
    )
    lines = run("-m", "pytest", "--devlint-emulate=cuda", "test_it.py")
    told = "takes torch.ones(2, device='cuda') on cuda:0 and torch.ones(2) on cpu"
    assert any(told in line for line in lines)
    assert any('in the right place: torch.ones(2, device="cuda:0")' in line for line in lines)
    assert not any("@py_assert" in line for line in lines)
