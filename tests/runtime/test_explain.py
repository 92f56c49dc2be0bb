"""The note beside an error about devices: right in every word, and harmless whatever happens."""

from __future__ import annotations

import ast
import contextlib
import gc
import linecache
import logging
import pickle
import statistics
import sys
import time
import traceback
import weakref
from collections import UserDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import devlint
from devlint import emulate
from devlint.config import rulebook
from devlint.runtime.explain import Explanation, explain
from devlint.runtime.explaining import caught as caught_errors
from devlint.runtime.explaining.stack import raised
from devlint.runtime.operands import OperandFacts, Reader
from devlint.runtime.virtual import errors
from devlint.runtime.virtual.tags import shown_place

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Planted:
    """A program with a mistake in it, and the note that it ends with."""

    title: str
    code: str
    note: str


def planted() -> list[Planted]:
    sections = rulebook.read_sections((HERE / "mistakes.md").read_text("utf-8"))
    return [
        Planted(s.title, s.blocks[0].text, s.blocks[1].text.rstrip("\n"))
        for s in sections
        if s.blocks
    ]


PLANTED = planted()
exact = pytest.mark.skipif(
    sys.version_info < (3, 11), reason="before Python 3.11 a line is known, not what is in it"
)


def failing(code: str, folder: Path, check: Callable[[Exception], None] | None = None) -> Exception:
    """The error that a program ends with, on two emulated accelerators."""
    (folder / "train.py").write_text(code, "utf-8")
    linecache.clearcache()
    names = {"__name__": "__main__"}
    try:
        with emulate("cuda", count=2):
            try:
                exec(compile(code, "train.py", "exec"), names)
            except Exception as error:
                if check is not None:
                    check(error)
                raise
    except (RuntimeError, TypeError) as error:
        return error
    raise AssertionError("the program has run to its end")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def explanation(error: Exception) -> Explanation:
    found = error.devlint_explanation  # type: ignore[attr-defined]
    assert isinstance(found, Explanation)
    return found


# --- what is said


def test_enough_is_planted() -> None:
    assert len(PLANTED) >= 25
    assert len({each.title for each in PLANTED}) == len(PLANTED)


@exact
@pytest.mark.parametrize("case", PLANTED, ids=lambda case: case.title)
def test_the_note(case: Planted, folder: Path) -> None:
    error = failing(case.code, folder)
    assert error.__notes__ == [case.note]  # type: ignore[attr-defined]
    assert str(explanation(error)) == case.note


# What nobody has noted down: where a tensor was made that a function has returned.
_WITHOUT_SITES = {
    "A tensor made by another method": "input-on-other-device",
    "A tensor made by a function that forward calls": "operands-on-other-devices",
}


@exact
@pytest.mark.parametrize("case", PLANTED, ids=lambda case: case.title)
def test_a_traceback_tells_the_same(case: Planted, folder: Path) -> None:
    """On an accelerator there are a traceback and PyTorch's text, and no notes of an emulation."""
    reader = Reader(shown_place, lambda tensor: None)
    found: list[Explanation | None] = []
    error = failing(
        case.code,
        folder,
        lambda error: found.append(explain(raised(error.__traceback__), str(error), (), reader)),
    )
    (told,) = found
    assert told is not None
    rule = _WITHOUT_SITES.get(case.title)
    expected = explanation(error).code if rule is None else rulebook.pages()[rule].code
    assert told.code == expected
    assert dict(told.lines)["used at"] == dict(explanation(error).lines)["used at"]
    assert told.headline.split(";")[0] == explanation(error).headline.split(";")[0]


# Which of several calls of a line has failed.
_WITHOUT_COLUMNS = ("`.numpy()` on the accelerator", "Two accelerators")


@pytest.mark.parametrize("case", PLANTED, ids=lambda case: case.title)
def test_lines_tell_nearly_as_much_as_columns(
    case: Planted, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in Python 3.10."""
    monkeypatch.setattr("devlint.runtime.explaining.source._position", lambda spot: None)
    told = str(explanation(failing(case.code, folder))).splitlines()
    expected = case.note.splitlines()
    if case.title in _WITHOUT_COLUMNS:
        assert [told[1:-2], told[-1]] == [expected[1:-2], expected[-1]]
    else:
        assert told == expected


LIBRARY = """
def run(model, x):
    return model(x)
"""

CALLS_LIBRARY = """
import importlib.util, torch
from torch import nn

spec = importlib.util.spec_from_file_location("lib", "site-packages/lib.py")
lib = importlib.util.module_from_spec(spec)
spec.loader.exec_module(lib)
layers = nn.ModuleList([nn.Linear(4, 2).cuda()])
x = torch.ones(2, 4)
if len(x):
    lib.run(layers[-1], x)
"""


def test_a_library_is_called_by_a_line_of_the_program(folder: Path) -> None:
    (folder / "site-packages").mkdir()
    (folder / "site-packages" / "lib.py").write_text(LIBRARY, "utf-8")
    lines = dict(explanation(failing(CALLS_LIBRARY, folder)).lines)
    assert lines["used at"] == "train.py:11  lib.run(layers[-1], x)"
    assert lines["inside"] == "site-packages/lib.py:3  return model(x)"


def test_without_source_names_are_known_from_the_frame(folder: Path) -> None:
    code = compile("import torch\nx = torch.ones(3)\ny = x.cuda()\nx + y\n", "<cell 1>", "exec")
    with emulate("cuda"), pytest.raises(RuntimeError) as caught:
        exec(code, {})
    told = explanation(caught.value)
    assert told.headline == "an operation takes y on cuda:0 and x on cpu"
    assert dict(told.lines)["used at"] == "<cell 1>:4"
    assert dict(told.lines)["fix"] == "move it first: x = x.to(y.device)  [DEV202]"


def test_in_a_function_too_long_to_be_parsed_the_expression_is_known(folder: Path) -> None:
    filler = "n = 1\n" * 600
    code = f"import torch\n{filler}a, b = torch.ones(2), torch.ones(2).cuda()\nn = (b * a) + n\n"
    told = explanation(failing(code, folder))
    head = "b * a" if sys.version_info >= (3, 11) else "an operation"
    assert told.headline == f"{head} takes b on cuda:0 and a on cpu"


def test_rules_go_by_name(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule may get another code."""
    page = rulebook.pages()["numpy-on-accelerator"]
    changed = page.path.read_text("utf-8").replace(page.code, "DEV999")
    (folder / page.path.name).write_text(changed, "utf-8")
    monkeypatch.setattr(rulebook, "rules_folder", lambda: folder)
    explain_module = sys.modules["devlint.runtime.explain"]
    explain_module._code.cache_clear()
    try:
        error = failing("import torch\ntorch.ones(2).cuda().numpy()\n", folder)
    finally:
        explain_module._code.cache_clear()
    assert explanation(error).code == "DEV999"
    url = rulebook.page_url("numpy-on-accelerator")
    assert explanation(error).lines[-1] == ("more", f"devlint rule DEV999, {url}")


def test_another_text_is_not_explained() -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.ones(2) + torch.ones(3)
    assert explain(raised(caught.tb), str(caught.value)) is None


@pytest.mark.skipif(sys.version_info < (3, 11), reason="only later Pythons print notes")
def test_python_prints_the_note(folder: Path) -> None:
    error = failing(PLANTED[0].code, folder)
    printed = "".join(traceback.format_exception_only(type(error), error))
    assert printed == f"RuntimeError: {error}\n{PLANTED[0].note}\n"


def test_the_note_has_the_screen_in_mind() -> None:
    for case in PLANTED:
        lines = case.note.splitlines()
        assert len(lines) <= 10, case.title
        assert max(map(len, lines)) <= 160, case.title


# --- what the source tells besides


@dataclass(frozen=True)
class Case:
    """A program, and what is said of it with the notes of an emulation and without."""

    code: str
    argument: str
    fix: str
    made: str
    """The line of the program that is told as the origin."""


CASES = {
    "operators on both sides": Case(
        """
class Statistics:
    def __init__(self):
        self.var = torch.ones(3)

    def update(self, batch, kept):
        return self.var * kept + batch.var(0) * (1 - kept)

Statistics().update(torch.ones(4, 3, device="cuda"), 0.5)
""",
        "self.var",
        "move it first: self.var = self.var.to(batch.device)",
        "self.var = torch.ones(3)",
    ),
    "a state in a container that is updated in place": Case(
        """
def step(parameters, states):
    for p in parameters:
        state = states[p]
        if not state:
            state["average"] = torch.zeros(p.shape)
        average = state["average"]
        update = average * 0.9 + p.grad * 0.1
        average.mul_(0.9).add_(p.grad, alpha=0.1)

w = torch.ones(3, device="cuda", requires_grad=True)
w.sum().backward()
step([w], {w: {}})
""",
        "average",
        "make it in the right place at train.py:7: torch.zeros(p.shape, device=p.device)",
        'state["average"] = torch.zeros(p.shape)',
    ),
    "a list of averages that is updated in place": Case(
        """
def step(parameters, averages):
    for p, average in zip(parameters, averages):
        new = average + p
        average.copy_(new)

step([torch.ones(3, device="cuda")], [torch.zeros(3)])
""",
        "average",
        "move it where it is kept or made, before train.py:4: a copy here wouldn't be kept",
        "",
    ),
    "parameters whose data is replaced": Case(
        """
def follow(model, average):
    for p, q in zip(model, average):
        q.data = q.data * 0.9 + p.data * 0.1

follow([torch.ones(3, device="cuda")], [torch.ones(3)])
""",
        "q",
        "move it where it is kept or made, before train.py:4: a copy here wouldn't be kept",
        "",
    ),
    "an item that was put in after the move": Case(
        """
import collections

class Batch(collections.UserDict):
    def to(self, device):
        return Batch({key: value.to(device) for key, value in self.data.items()})

batch = Batch(x=torch.ones(3))
batch = batch.to("cuda")
batch["y"] = torch.ones(3)
batch["x"] - batch["y"]
""",
        'batch["y"]',
        'batch was moved without it, move it as well: batch["y"] = batch["y"].to(',
        'batch["y"] = torch.ones(3)',
    ),
    "a field that an object's own move forgets": Case(
        """
class Graph:
    def __init__(self, x, edges):
        self.x, self.edges = x, edges

    def to(self, device):
        return Graph(self.x.to(device), self.edges)

net = torch.nn.Linear(3, 3).cuda()
graph = Graph(torch.ones(2, 3), torch.ones(2, 3))
graph = graph.to("cuda")
net(graph.edges)
""",
        "graph.edges",
        "graph was moved without it, move it as well: "
        "graph.edges = graph.edges.to(next(net.parameters()).device)",
        "",
    ),
    "a field of a named tuple": Case(
        """
import typing

class Batch(typing.NamedTuple):
    x: torch.Tensor

net = torch.nn.Linear(3, 3).cuda()
batch = Batch(torch.ones(2, 3))
net(batch.x)
""",
        "batch.x",
        "move it before the call: "
        "batch = batch._replace(x=batch.x.to(next(net.parameters()).device))",
        "batch = Batch(torch.ones(2, 3))",
    ),
    "a distribution": Case(
        """
import torch.distributions as D

base = D.Independent(D.Normal(torch.zeros(2), torch.ones(2)), 1)
base.log_prob(torch.ones(4, 2, device="cuda"))
""",
        "base.base_dist.loc",
        "make it in the right place at train.py:5: D.Independent(D.Normal(torch.zeros(2, "
        'device="cuda:0"), torch.ones(2, device="cuda:0")), 1)',
        "base = D.Independent(D.Normal(torch.zeros(2), torch.ones(2)), 1)",
    ),
    "a distribution of tensors that have names": Case(
        """
loc, scale = torch.zeros(2), torch.ones(2)
base = torch.distributions.Normal(loc, scale)
base.log_prob(torch.ones(4, 2, device="cuda"))
""",
        "base.loc",
        "make it in the right place at train.py:4: "
        'torch.distributions.Normal(loc.to("cuda:0"), scale.to("cuda:0"))',
        "",
    ),
    "layers in a namespace": Case(
        """
import types

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.nets = types.SimpleNamespace(encode=torch.nn.Linear(3, 3))
        self.out = torch.nn.Linear(3, 3)

    def forward(self, x):
        return self.out(self.nets.encode(x))

Net().cuda()(torch.ones(2, 3, device="cuda"))
""",
        "x",
        "let it move with the module, instead of a SimpleNamespace: "
        "self.nets = nn.ModuleDict(dict(encode=torch.nn.Linear(3, 3)))",
        "",
    ),
    "layers in another object": Case(
        """
class Nets:
    def __init__(self):
        self.encode = torch.nn.Linear(3, 3)

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.nets = Nets()
        self.out = torch.nn.Linear(3, 3)

    def forward(self, x):
        return self.out(self.nets.encode(x))

Net().cuda()(torch.ones(2, 3, device="cuda"))
""",
        "x",
        "let it move with the module: make Nets, which self.nets is, a module",
        "",
    ),
    "what a Sequential hands on": Case(
        """
net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(4, 2)).cuda()
stacked = torch.cat([torch.ones(1, 2, 2), torch.ones(1, 2, 2)])
net(stacked)
""",
        "stacked",
        "move it before the call: stacked = stacked.to(next(net.parameters()).device)",
        "stacked = torch.cat([torch.ones(1, 2, 2), torch.ones(1, 2, 2)])",
    ),
    "a transposed tensor in a product": Case(
        """
w = torch.ones(3, 3)
x = torch.ones(2, 3, device="cuda")
(w.T @ w) @ x.T
""",
        "w",
        "move it first: w = w.to(x.T.device)",
        "w = torch.ones(3, 3)",
    ),
    "an attribute that is updated": Case(
        """
class Mean:
    def __init__(self):
        self.value = torch.zeros(3)

    def update(self, x):
        delta = x - self.value
        self.value = self.value + delta

Mean().update(torch.ones(3, device="cuda"))
""",
        "self.value",
        "move it first: self.value = self.value.to(x.device)",
        "self.value = torch.zeros(3)",
    ),
    "a sum over a loop": Case(
        """
def norm(tensors):
    total = torch.zeros(3)
    for x in tensors:
        total += x * x
    return total

norm([torch.ones(3, device="cuda")])
""",
        "total",
        "move it first: total = total.to(x.device)",
        "total = torch.zeros(3)",
    ),
    "scores that each round of a loop replaces": Case(
        """
def search(logits):
    scores = torch.zeros(3)
    for _ in range(3):
        total = scores.unsqueeze(1) + logits
        scores, best = total.flatten().topk(3)

search(torch.ones(3, 4, device="cuda"))
""",
        "scores.unsqueeze(1)",
        "make it in the right place at train.py:4: torch.zeros(3, device=logits.device)",
        "scores = torch.zeros(3)",
    ),
    "through a call of an object": Case(
        """
class Extractor:
    def __init__(self, net):
        self.net = net

    def __call__(self, images):
        return self.net(images)

extract = Extractor(torch.nn.Linear(3, 3).cuda())
for images in torch.ones(2, 4, 3):
    extract(images)
""",
        "images",
        "move it before the call: images = images.to(next(self.net.parameters()).device)",
        "",
    ),
    "another name than self": Case(
        """
class Net(torch.nn.Module):
    def __init__(this):
        super().__init__()
        this.fc = torch.nn.Linear(3, 3)

    def score(this, x):
        noise = torch.ones(3)
        return noise - this.fc(x)

    def forward(this, x):
        return this.score(x)

Net().cuda()(torch.ones(2, 3, device="cuda"))
""",
        "noise",
        "make it in the right place at train.py:9: torch.ones(3, device=x.device)",
        "noise = torch.ones(3)",
    ),
    "a gradient that is read": Case(
        """
w = torch.ones(3, device="cuda", requires_grad=True)
w.sum().backward()
w.grad.flatten().numpy()
""",
        "w.grad.flatten()",
        "copy it to the host first: w.grad.flatten()",
        "",
    ),
}


@exact
@pytest.mark.parametrize("title", CASES)
def test_what_the_source_tells(title: str, folder: Path) -> None:
    case = CASES[title]
    reader = Reader(shown_place, lambda tensor: None)
    found: list[Explanation | None] = []
    error = failing(
        f"import torch\n{case.code}",
        folder,
        lambda error: found.append(explain(raised(error.__traceback__), str(error), (), reader)),
    )
    told = explanation(error)
    assert told.argument == case.argument
    assert told.fix.startswith(case.fix)
    made = [text for label, text in told.lines if label == "made at"]
    assert not case.made or any(text.endswith(case.made) for text in made)
    (plain,) = found
    assert plain is not None
    assert plain.argument == case.argument
    if case.made:
        assert dict(plain.lines)["made at"].endswith(case.made)


def test_the_part_that_says_where_a_computed_operand_is_has_a_name(folder: Path) -> None:
    lines = dict(explanation(failing(f"import torch\n{_both_sides()}", folder)).lines)
    assert lines["because"] == "self.var is on cpu"


def _both_sides() -> str:
    return CASES["operators on both sides"].code


UNCLEAR = {
    "a part of it is moved": "(a * b.cpu()).abs() * 3 + b * 2",
    "a function of the program computes it": "f(a) * 3 + b * 2",
}


@exact
@pytest.mark.parametrize("why", UNCLEAR)
def test_a_part_that_may_not_be_the_reason_is_not_told(why: str, folder: Path) -> None:
    code = "import torch\nf = abs\na, b = torch.ones(3), torch.ones(3).cuda()\n"
    told = explanation(failing(code + UNCLEAR[why], folder))
    assert "because" not in dict(told.lines)
    assert told.argument == UNCLEAR[why].partition(" + ")[0]


def test_what_a_number_became_has_no_origin(folder: Path) -> None:
    """`total += x` puts a total that is a number where `x` is."""
    code = """
total = 0
for x in [torch.ones(3), torch.ones(3, device="cuda")]:
    total += x * 1
"""
    lines = dict(explanation(failing(f"import torch\n{code}", folder)).lines)
    assert "set at" not in lines


def test_the_state_of_random_numbers_is_needed_on_the_host() -> None:
    text = 'def refuse(state):\n    raise TypeError("RNG state must be a torch.ByteTensor")\n'
    names: dict[str, Any] = {}
    exec(compile(text, torch.random.__file__, "exec"), names)
    refuse = names["refuse"]
    with emulate("cuda"):
        checkpoint = {"rng": torch.get_rng_state().cuda()}
        with pytest.raises(TypeError) as caught:
            refuse(checkpoint["rng"])
        told = explain(
            raised(caught.tb), str(caught.value), (), Reader(shown_place, lambda tensor: None)
        )
    assert told is not None
    assert told.argument == 'checkpoint["rng"]'
    assert told.devices == ("cuda:0", "cpu")
    assert told.fix == 'copy the state to the host: checkpoint["rng"].cpu()'


def test_a_state_of_another_type_is_not_about_devices() -> None:
    with pytest.raises(TypeError) as caught:
        torch.set_rng_state(torch.ones(3))
    assert explain(raised(caught.tb), str(caught.value)) is None


# --- what is left alone


class Hostile:
    """Breaks whatever is asked of it, and counts."""

    asked = 0

    def _break(self, *args: object) -> Any:
        type(self).asked += 1
        raise ValueError("asked")

    __repr__ = __str__ = __eq__ = __bool__ = __len__ = __iter__ = __getitem__ = _break
    __hash__ = __contains__ = __getattr__ = _break  # type: ignore[assignment]
    __class__ = property(_break)  # type: ignore[assignment]


class HostileList(list):  # type: ignore[type-arg]
    __len__ = __iter__ = __getitem__ = Hostile._break
    asked = 0


class Asked(nn.Module):
    """A module whose attributes do something."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))
        self.calls: list[str] = []
        self.strange = [Hostile(), {1.5: torch.ones(2)}]

    @property
    def offset(self) -> Tensor:
        self.calls.append("offset")
        return torch.ones(3)

    def __getattr__(self, name: str) -> Any:
        if name == "missing":
            self.calls.append(name)
        return super().__getattr__(name)

    def forward(self, x: Tensor) -> Tensor:
        hostile, listed = Hostile(), HostileList([x])
        shift = self.offset
        if listed is hostile:
            return self.missing
        self.calls.clear()
        try:
            return x * self.weight + shift
        except RuntimeError:
            assert not self.calls
            raise


def test_nothing_of_the_program_is_run(folder: Path) -> None:
    Hostile.asked = HostileList.asked = 0
    with emulate("cuda"), pytest.raises(RuntimeError, match="same device") as caught:
        Asked().cuda()(torch.ones(2, 3).cuda())
    assert Hostile.asked == HostileList.asked == 0
    assert "x * self.weight on cuda:0 and shift on cpu" in explanation(caught.value).headline


class Batch(UserDict):  # type: ignore[type-arg]
    """As the batches of tokenizers are."""

    asked = 0

    def __getitem__(self, key: object) -> Any:
        self.asked += 1
        return super().__getitem__(key)


def test_items_are_read_past_their_own_methods() -> None:
    with emulate("cuda"):
        batch, weight = Batch(), torch.ones(2).cuda()
        batch.data["x"] = torch.ones(2)
        with pytest.raises(RuntimeError, match="same device") as caught:
            weight + batch["x"]
    assert batch.asked == 1
    told = explanation(caught.value).headline
    assert told == 'weight + batch["x"] takes weight on cuda:0 and batch["x"] on cpu'


def test_an_explanation_that_fails_is_left_out(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    failed_explanations: list[logging.LogRecord],
) -> None:
    def fail(*args: object) -> None:
        raise KeyError("a mistake of ours")

    monkeypatch.setattr(errors, "explain", fail)
    monkeypatch.setattr(caught_errors, "explain", fail)
    error = failing(PLANTED[0].code, folder)
    assert type(error) is RuntimeError
    assert str(error).startswith("Expected all tensors to be on the same device")
    assert error.devlint_explanation is None  # type: ignore[attr-defined]
    assert not hasattr(error, "__notes__")
    del error.devlint_explanation  # type: ignore[attr-defined]
    assert caught_errors.tell(error) is None
    assert [record.levelno for record in failed_explanations] == [logging.DEBUG] * 2
    failed_explanations.clear()


def test_an_error_can_go_to_another_process(folder: Path) -> None:
    error = failing(PLANTED[1].code, folder)
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert again.__notes__ == error.__notes__  # type: ignore[attr-defined]
    assert again.devlint_operands == error.devlint_operands  # type: ignore[attr-defined]


def test_an_error_keeps_no_tensor_alive() -> None:
    kept: list[weakref.ref[Tensor]] = []

    def fail() -> Exception:
        x = torch.ones(3)
        y = x.cuda()
        kept.extend((weakref.ref(x), weakref.ref(y)))
        try:
            torch.add(x, y)
        except RuntimeError as error:
            return error.with_traceback(None)
        raise AssertionError

    with emulate("cuda"):
        error = fail()
    gc.collect()
    assert [reference() for reference in kept] == [None, None]
    facts = error.devlint_operands  # type: ignore[attr-defined]
    assert [(each.name, each.device) for each in facts] == [("self", "cpu"), ("other", "cuda:0")]
    assert all(isinstance(each, OperandFacts) for each in facts)


def test_the_function_that_catches_an_error_keeps_no_tensor_alive() -> None:
    """Training goes on after a batch that has failed."""
    with emulate("cuda"):
        x, y = torch.ones(3), torch.ones(3).cuda()
        with contextlib.suppress(RuntimeError):
            x + y
        kept = [weakref.ref(x), weakref.ref(y)]
        del x, y
        assert [reference() for reference in kept] == [None, None]


def test_the_names_of_a_program_stay() -> None:
    with emulate("cuda"):
        x = torch.ones(3)
        mine = locals()
        exec("z = 3")
        with pytest.raises(RuntimeError) as caught:
            x + x.cuda()
        assert mine["x"] is x
        if sys.version_info < (3, 13):  # later a function's names can't be added to
            assert mine["z"] == 3
            assert locals()["z"] == 3
    assert "x.cuda() on cuda:0 and x on cpu" in explanation(caught.value).headline


def test_facts_of_an_operand() -> None:
    with emulate("cuda"), pytest.raises(RuntimeError) as caught:
        torch.ones(2, 3, dtype=torch.float16) @ torch.ones(3, 2).cuda()
    first, second = caught.value.devlint_operands  # type: ignore[attr-defined]
    assert str(first) == "float16[2, 3] on cpu"
    assert (second.site.file, second.site.line) == (__file__, first.site.line)
    assert not first.requires_grad


class Deep(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(300)])

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


def test_an_explanation_is_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Less time than Python needs to parse this file, however slow the machine."""
    times: list[float] = []
    parses: list[float] = []
    parse = _timed(ast.parse, parses)
    monkeypatch.setattr(errors, "_explanation", _timed(errors._explanation, times))
    source = Path(__file__).read_text(encoding="utf-8")
    with emulate("cuda"):
        model, x = Deep().cuda(), torch.ones(2, 4)
        for _ in range(15):
            with pytest.raises(RuntimeError):
                model(x)
            parse(source)
    assert len(times) == len(parses) == 15
    assert statistics.median(times) < statistics.median(parses)


def _timed(function: Callable[..., Any], times: list[float]) -> Callable[..., Any]:
    """A function that is timed by code of devlint's own, which isn't a line of the program."""
    code = compile(
        "def timed(*args):\n"
        "    start = clock()\n"
        "    result = function(*args)\n"
        "    times.append(clock() - start)\n"
        "    return result\n",
        devlint.__file__,
        "exec",
    )
    names = {"function": function, "times": times, "clock": time.thread_time}
    exec(code, names)
    return names["timed"]  # type: ignore[return-value]


def fix_of(code: str, folder: Path) -> str:
    return explanation(failing(f"import torch\nfrom torch import nn\n{code}", folder)).fix


@exact
@pytest.mark.parametrize(
    ("code", "fix"),
    [
        (
            "def main(device):\n    x = torch.ones(3).to(device)\n    loc = torch.zeros(3)\n"
            "    prior = torch.distributions.Normal(loc, torch.ones(3))\n"
            '    prior.log_prob(x)\nmain(torch.device("cuda"))',
            "make it in the right place at train.py:6: torch.distributions.Normal("
            "loc.to(device), torch.ones(3, device=device))",
        ),
        (
            'class Run:\n    def __init__(self):\n        self.device = torch.device("cuda")\n'
            "        self.net = nn.Linear(3, 2)\n    def go(self):\n"
            "        return self.net(torch.ones(2, 3).to(self.device))\nRun().go()",
            "move the module before the call: self.net.to(self.device)",
        ),
        (
            'device = "cuda:1"\ndef main():\n    with torch.device(device):\n'
            "        x = torch.ones(3)\n"
            "    gen = torch.Generator()\n"
            "    torch.rand(3, device=x.device, generator=gen)\nmain()",
            "make it for that device: torch.Generator(device=device)",
        ),
    ],
)
def test_a_fix_names_a_device_as_the_program_does(code: str, fix: str, folder: Path) -> None:
    assert fix_of(code, folder) == fix


PARALLEL = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(4, 4).to("cuda:0")
        self.norm = nn.LayerNorm(4)
        self.dec = nn.Linear(4, 2).to("cuda:1")

    def forward(self, x):
        return self.dec(self.norm(self.enc(x).to("cuda:1")))

net = Net()
net(torch.ones(3, 4, device="cuda:0"))
"""


@exact
def test_the_rest_is_named_only_where_it_is_in_one_place(folder: Path) -> None:
    assert fix_of(PARALLEL, folder) == 'move it as well: net.norm.to("cuda:1")'


@exact
def test_a_part_that_was_moved_away_was_not_made_later(folder: Path) -> None:
    code = "net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2)).cuda()\n"
    assert fix_of(f"{code}net[2].cpu()\nnet(torch.ones(3, 4).cuda())", folder) == (
        "the rest of Sequential is on cuda:0: "
        "move it as well: net[2].to(next(net.parameters()).device)"
    )
