"""The note beside an error about devices: right in every word, and harmless whatever happens."""

from __future__ import annotations

import contextlib
import gc
import linecache
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
from devlint import emulate, rulebook
from devlint.runtime.explain import Explanation, explain
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
    assert lines["used at"] == "site-packages/lib.py:3  return model(x)"
    assert lines["called at"] == "train.py:11  lib.run(layers[-1], x)"


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
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object) -> None:
        raise KeyError("a mistake of ours")

    monkeypatch.setattr(errors, "explain", fail)
    error = failing(PLANTED[0].code, folder)
    assert type(error) is RuntimeError
    assert str(error).startswith("Expected all tensors to be on the same device")
    assert error.devlint_explanation is None  # type: ignore[attr-defined]
    assert not hasattr(error, "__notes__")


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
    times: list[float] = []
    timed = _timed(errors._explanation, times)
    monkeypatch.setattr(errors, "_explanation", timed)
    with emulate("cuda"):
        model, x = Deep().cuda(), torch.ones(2, 4)
        for _ in range(15):
            with pytest.raises(RuntimeError):
                model(x)
    assert len(times) == 15
    assert statistics.median(times) < 0.005


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
