"""`pytest --devlint-on=cuda`: tests that were written for the CPU run as tests for a GPU."""

from __future__ import annotations

import json
import os
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from warm import Ran, Warm

PLUGIN = "devlint.integrations.pytest_plugin"

PROJECT = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.scale = torch.ones(3)

    def forward(self, x):
        return self.linear(x)

    def scaled(self, x):
        return self.linear(x) * self.scale

    def sample(self):
        return torch.zeros(3, device=self.linear.weight.device) + self.linear.bias


class Agent:
    def __init__(self):
        self.net = Net()

    def act(self, x):
        return self.net.linear.weight @ x


def total(model, x):
    start = torch.zeros(3)
    return start + model(x).sum(0)

def ones_like(x):
    return torch.ones(3)

def pairs():
    return [(torch.ones(3), torch.zeros(3)) for _ in range(4)]

def as_array(x):
    return x.numpy()

def shuffled(x, generator):
    return x[torch.randperm(len(x), generator=generator, device=x.device)]

def of_twice(model, x):
    return model.linear(x * 2)

class Doubled(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x):
        return self.linear(x * 2)

def example_for(model):
    return torch.ones(2, 3)

class Masked(nn.Module):
    def __init__(self, mask):
        super().__init__()
        self.register_buffer("mask", (mask > 0) * torch.eye(3))

    def forward(self, x):
        return x @ self.mask

class Runner:
    def __init__(self, device="cpu"):
        self.device = device

    def shifted(self, x):
        return x + torch.zeros(3, device=self.device)

    def run(self, make, x):
        x = x.to(self.device)
        return make().to(self.device)(x) - x

class Processor(nn.Module):
    def __init__(self, part):
        super().__init__()
        self.part, self.device = part, "cpu"

    def to(self, device):
        self.device = device
        self.part = self.part.to(device)
        return self

    def after(self, x):
        return self.part(x.to(self.device))

def fixed(x):
    return x + torch.zeros(3, device="cpu")

def combined(x, y):
    return x * 2 + y

def refuse(x):
    if x.is_cuda or x.is_mps or x.is_xpu:
        raise RuntimeError("expected a tensor on cpu, but got one on cuda:0")

class Stack(nn.Sequential):
    def __init__(self):
        self.size = torch.zeros(3)
        super().__init__(nn.Linear(3, 3))
"""

TESTS = """
import unittest

import numpy as np
import pytest
import torch
from helpers import inputs, parameter
from package import (
    Agent, Doubled, Masked, Net, Processor, Runner, Stack, as_array, combined, example_for, fixed,
    of_twice, ones_like, pairs, refuse, shuffled, total,
)
from package.testing import checked
from torch.nn.utils.rnn import pack_padded_sequence
from torch.utils.data import DataLoader


@pytest.fixture
def x():
    return torch.randn(2, 3)

@pytest.fixture
def model():
    return Net()


def test_forward(model, x):
    y = model(x)
    np.testing.assert_allclose(y.detach().numpy(), model.linear(x).detach().numpy())

def test_sample(model):
    assert model.sample().shape == (3,)

def test_scaled(model, x):
    model.scaled(x)

def test_total(model, x):
    total(model, x)

def test_total_again(model, x):
    total(model, x * 2)

@pytest.mark.parametrize("make", [torch.Tensor, torch.FloatTensor])
def test_types_that_are_called(model, make):
    assert of_twice(model, make([1, 2, 3])).shape == (3,)
    assert of_twice(model, make(2, 3)).shape == (2, 3)

def test_container():
    assert Stack()(torch.ones(3)).shape == (3,)

def test_returned_from_the_host(x):
    assert (ones_like(x) * x).shape == (2, 3)

def test_data_of_the_project(model):
    for a, b in pairs():
        model(a) - b

def test_data_of_the_project_without_a_call(model):
    a, b = pairs()[0]
    assert (model.linear.weight @ a + b).shape == (3,)

def test_loader(model):
    for a, b in DataLoader(pairs(), batch_size=2):
        model(a) + b

def test_module_in_an_object():
    Agent().act(torch.ones(3))

def test_module_made_of_tensors(x):
    mask = torch.ones(3, 3)
    assert (Masked(mask)(x) @ mask).shape == (2, 3)

def test_made_for_the_model_by_the_project():
    model = Doubled()
    model(example_for(model))

def test_device_that_is_left(x):
    assert Runner().shifted(x).shape == (2, 3)

def test_own_module_that_the_project_runs(x):
    class Own(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(3, 3)

        def forward(self, x):
            return self.linear(x)

    assert Runner().run(Own, x).shape == (2, 3)

def test_module_with_a_move_of_its_own(model, x):
    assert Processor(model).after(x).shape == (2, 3)

def test_fixed_device(x):
    fixed(x)

def test_default_of_a_helper(x):
    assert combined(parameter(), x).shape == (2, 3)

def test_named_and_combined(x):
    combined(torch.ones(3, device="cpu"), x)

def test_refused(x):
    refuse(x)

def test_lengths():
    packed = pack_padded_sequence(torch.ones(3, 2, 1), torch.tensor([3, 2]))
    assert packed.data.shape == (5, 1)

def test_array(x):
    as_array(x)

def test_generator(x):
    numbers = torch.Generator().manual_seed(0)
    loader = DataLoader(x, shuffle=True, generator=numbers)
    assert torch.cat(list(loader)).shape == shuffled(x, numbers).shape == (2, 3)

def test_where_it_is(x):
    assert x.device == torch.device("cpu")

def test_seed():
    torch.manual_seed(0)
    assert torch.rand(1).item() == pytest.approx(0.4963, abs=1e-3)

def test_given_a_place(model):
    model(torch.ones(3, device="cpu"))

@pytest.mark.parametrize("value", [torch.ones(3), torch.Tensor([1.0, 2.0, 3.0])])
def test_parameters(model, value):
    model(value)

def test_helper(model):
    model(inputs())

def test_helper_of_the_package(model):
    checked(model, torch.ones(3))

def test_printed():
    assert repr(torch.ones(1)) == "tensor([1.])"

def test_numpy_in(model):
    array = np.zeros(3, dtype=np.float32)
    tensor = torch.from_numpy(array)
    array[0] = 1
    assert tensor[0] == 1
    model(tensor)

def test_training(model, x):
    optimizer = torch.optim.Adam(model.parameters())
    before = model.linear.weight.detach().clone()
    model(x).sum().backward()
    optimizer.step()
    assert not torch.equal(before, model.linear.weight)

def test_fails_anyway():
    assert 1 + 1 == 3

def test_error_of_the_cpu():
    x, y = torch.ones(2), torch.ones(3)
    with pytest.raises(RuntimeError, match="size"):
        x + y


class TestNet(unittest.TestCase):
    def setUp(self):
        self.model, self.x = Net(), torch.ones(3)

    def test_shape(self):
        self.assertEqual(self.model(self.x).shape, (3,))

    def test_total(self):
        total(self.model, self.x[None])
"""

OTHER_TESTS = """
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from package import Net, pairs, total


@settings(max_examples=5, deadline=None, database=None)
@given(st.lists(st.floats(-1, 1, width=32), min_size=3, max_size=3), st.builds(Net))
def test_drawn(values, model):
    assert model(torch.tensor(values)).shape == (3,)

@settings(max_examples=5, deadline=None, database=None)
@given(st.builds(torch.ones, st.just((2, 3))))
def test_drawn_total(x):
    total(Net(), x)

def test_thread():
    model, (x, y) = Net(), pairs()[0]
    found = []
    thread = threading.Thread(target=lambda: found.append(model.linear.weight @ x + y))
    thread.start()
    thread.join()
    assert found[0].shape == (3,)

def test_pool_that_calls_the_project():
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(Net().forward, torch.ones(3)).result().shape == (3,)
        assert pool.submit(torch.matmul, Net().linear.weight, pairs()[0][0]).result().shape == (3,)

@pytest.fixture(params=["sum", "mean"])
def reduce(request):
    yield getattr(torch, request.param)

def test_fixture_with_parameters(reduce):
    assert reduce(Net()(torch.ones(2, 3))).shape == ()
"""

DOCUMENTED = """
import torch

def double(x):
    \"\"\"
    >>> double(torch.ones(2))
    tensor([2., 2.])
    >>> double(torch.ones(2)).numpy()
    array([2., 2.], dtype=float32)
    \"\"\"
    return x * 2

def shifted(x):
    \"\"\"
    >>> shifted(torch.ones(2))
    tensor([1., 2.])
    \"\"\"
    return x + torch.arange(2)
"""

TESTING = """
import torch

def checked(model, x):
    scale = torch.full((3,), 2.0)
    assert torch.equal(model.linear(scale * x), model.linear(2 * x))
"""

HELPERS = """
import torch

def inputs():
    return torch.zeros(1, 3)

def parameter(device="cpu"):
    return torch.zeros(3, device=device)
"""

BLAMED = [
    ("    return start + model(x)", 3),
    ("        return self.linear(x) * self.scale", 1),
    ("    return torch.ones(2, 3)", 1),
    ('    return x + torch.zeros(3, device="cpu")', 1),
    ("    return torch.ones(3)", 1),
    ("    return x.numpy()", 1),
]


def line_of(text: str) -> int:
    """The line of the project's file that begins with a text."""
    return next(n for n, line in enumerate(PROJECT.splitlines(), 1) if line.startswith(text))


def place_of(text: str) -> str:
    return f"package/__init__.py:{line_of(text)}"


CAUSES = {place_of(text): tests for text, tests in BLAMED}
"""The lines of the project that are to blame, and how many tests run into each."""

FAILING = {
    "test_scaled", "test_total", "test_total_again", "test_returned_from_the_host", "test_array",
    "test_fails_anyway", "test_made_for_the_model_by_the_project", "test_fixed_device",
}  # fmt: skip
"""The names of tests that fail; of the class's, one of the two that are called so."""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ported")
    installed = folder / "site" / "devlint_plugin-1.dist-info"
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: devlint-plugin\nVersion: 1\n")
    (installed / "entry_points.txt").write_text(f"[pytest11]\ndevlint = {PLUGIN}\n")
    files = {
        "package/__init__.py": PROJECT,
        "package/testing.py": TESTING,
        "tests/test_package.py": TESTS,
        "tests/helpers.py": HELPERS,
        "other/test_other.py": OTHER_TESTS,
        "documented.py": DOCUMENTED,
        "pytest.ini": "[pytest]\n",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return folder


START = """
import os
for name in ("PYTEST_XDIST_WORKER", "PYTEST_DISABLE_PLUGIN_AUTOLOAD"):
    os.environ.pop(name, None)
sys.path[1:1] = [os.getcwd(), os.path.join(os.getcwd(), "site")]
import pytest
sys.exit(pytest.main(sys.argv[1:]))
"""
"""`python -m pytest`, with what the project has installed."""


def started(warm: Warm, project: Path, *options: str, tests: str = "tests") -> Ran:
    """What a run of the tests has printed, and its exit code."""
    words = ("-q", "--junitxml=outcomes.xml", *options, tests)
    own = os.pathsep.join((str(project), str(project / "site"), os.environ.get("PYTHONPATH", "")))
    return warm.run(project, START, *words, PYTHONPATH=own, PYTEST_ADDOPTS="")


def run(
    warm: Warm, project: Path, *options: str, tests: str = "tests"
) -> tuple[int, str, dict[str, str]]:
    """The exit code, what is printed, and what came of each test."""
    done = started(warm, project, *options, tests=tests)
    outcomes = {}
    for case in ElementTree.parse(project / "outcomes.xml").iter("testcase"):
        kinds = [child.tag for child in case if child.tag in ("failure", "error", "skipped")]
        name = f"{case.get('classname', '').rpartition('.')[2]}.{case.get('name')}"
        outcomes[name.removeprefix("test_package.")] = kinds[0] if kinds else "passed"
    return done.code, done.out + done.err, outcomes


@pytest.fixture(scope="module")
def ran(warm: Warm, project: Path) -> tuple[int, str, dict[str, str]]:
    return run(warm, project, "--devlint-on=cuda")


def causes_in(printed: str) -> dict[str, int]:
    """The lines to blame in the section at the end, and the numbers of tests."""
    found = re.findall(r"^(package/\S+:\d+) \(in (\d+) tests?\)$", printed, re.MULTILINE)
    return {place: int(tests) for place, tests in found}


def test_the_tests_pass_on_the_cpu(warm: Warm, project: Path) -> None:
    _, _, outcomes = run(warm, project)
    assert [name for name, outcome in outcomes.items() if outcome != "passed"] == [
        "test_fails_anyway"
    ]


def test_each_mistake_of_the_project_is_told_once_at_its_line(
    ran: tuple[int, str, dict[str, str]],
) -> None:
    code, printed, _ = ran
    assert code == 1
    assert causes_in(printed) == CAUSES
    made_at = line_of("    start = torch.zeros(3)")
    assert f"fix        make it in the right place at package/__init__.py:{made_at}" in printed


def test_the_tests_that_meet_a_mistake_fail_and_no_others(
    ran: tuple[int, str, dict[str, str]],
) -> None:
    _, _, outcomes = ran
    failed = {name for name, outcome in outcomes.items() if outcome == "failure"}
    assert failed == {*FAILING, "TestNet.test_total"}


def test_what_does_not_go_along_is_counted_apart(ran: tuple[int, str, dict[str, str]]) -> None:
    _, printed, outcomes = ran
    skipped = [name for name, outcome in outcomes.items() if outcome == "skipped"]
    assert skipped == ["test_named_and_combined", "test_refused", "test_where_it_is"]
    for reason in ("names the CPU", "gets an error that isn't PyTorch's",
                   "looks at a device"):  # fmt: skip
        assert f"1 test was not taken along: it {reason}" in printed


@pytest.fixture(scope="module")
def only_reported(warm: Warm, project: Path) -> tuple[int, str, dict[str, str]]:
    pytest.importorskip("xdist")  # its processes send what they find
    file = ("--devlint-output-file=found.sarif", "--devlint-output-format=sarif")
    return run(warm, project, "--devlint-on=cuda", "--devlint-on-errors=report", "-n", "2", *file)


def test_mistakes_are_only_reported_where_that_is_asked_for(
    only_reported: tuple[int, str, dict[str, str]],
) -> None:
    code, printed, outcomes = only_reported
    assert [name for name, outcome in outcomes.items() if outcome == "failure"] == [
        "test_fails_anyway"
    ]
    assert code == 1
    assert causes_in(printed) == CAUSES
    assert "1 test was not taken along" in printed


@pytest.mark.usefixtures("only_reported")
def test_mistakes_in_a_file_of_processes(project: Path) -> None:
    (found,) = json.loads((project / "found.sarif").read_text())["runs"]
    told = {
        each["locations"][0]["physicalLocation"]["region"]["startLine"]: each["message"]["text"]
        for each in found["results"]
    }
    assert told.keys() == {line_of(text) for text, _ in BLAMED}
    assert "(in 3 tests)" in told[line_of("    return start + model(x)")]


def test_hypothesis_threads_and_fixtures(warm: Warm, project: Path) -> None:
    _, printed, outcomes = run(warm, project, "--devlint-on=cuda", tests="other/test_other.py")
    assert {name for name, outcome in outcomes.items() if outcome != "passed"} == {
        "test_other.test_drawn_total"
    }
    assert causes_in(printed) == {place_of("    return start + model(x)"): 1}


def test_examples_in_docstrings(warm: Warm, project: Path) -> None:
    options = ("--devlint-on=cuda", "--doctest-modules")
    _, printed, outcomes = run(warm, project, *options, tests="documented.py")
    failed = {name for name, outcome in outcomes.items() if outcome != "passed"}
    assert failed == {"documented.documented.shifted"}
    assert "documented.py:18 (in 1 test)" in printed


def test_mistakes_in_json_and_in_the_xml_of_pytest(warm: Warm, project: Path) -> None:
    file = ("--devlint-output-file=found.json", "--devlint-output-format=json")
    run(warm, project, "--devlint-on=cuda", *file)
    found = json.loads((project / "found.json").read_text())
    assert {f"{os.path.relpath(each['filename'], project)}": 0 for each in found} == {
        "package/__init__.py": 0
    }
    told = {each["location"]["row"]: each for each in found}
    total = told[line_of("    return start + model(x)")]
    assert (total["count"], total["outcome"], total["devices"]) == (3, "failed", ["cpu", "cuda:0"])
    assert len(found) == len(CAUSES)
    properties = {
        (case.get("name"), each.get("name")): each.get("value")
        for case in ElementTree.parse(project / "outcomes.xml").iter("testcase")
        for each in case.iter("property")
    }
    place = place_of("    return start + model(x)")
    assert properties["test_total", "devlint_cause"] == place
    assert properties["test_where_it_is", "devlint_not_taken_along"] == "looks at a device"


@pytest.mark.parametrize("kind", ["mps", "xpu"])
def test_other_accelerators(warm: Warm, project: Path, kind: str) -> None:
    _, printed, _ = run(warm, project, f"--devlint-on={kind}")
    assert causes_in(printed) == CAUSES


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--devlint-on=rocm"], "--devlint-on: 'rocm' can't be emulated"),
        (["--devlint-on=cuda", "--devlint-emulate=cuda"], "leave out --devlint-emulate"),
        (["--devlint-on=cuda", "--devlint-output-file=no/x"], "--devlint-output-file: [Errno 2]"),
    ],
)
def test_mistakes_of_the_command_line_are_told(
    warm: Warm, project: Path, options: list[str], text: str
) -> None:
    done = started(warm, project, *options)
    assert done.code == 4
    assert text in done.err
