"""The guard itself: on, off, nested, in threads, around functions, and what it raises."""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import gc
import io
import pickle
import subprocess
import sys
import threading
import traceback
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import devlint
from devlint import DeviceMismatchError, emulate, guard, guarded, install_guard
from devlint.runtime.guard.agreement import seems_to_disagree

PLAIN = nn.Module._call_impl


@pytest.fixture(autouse=True)
def left_as_it_was() -> Iterator[None]:
    hooks = sys.excepthook, threading.excepthook
    yield
    assert nn.Module._call_impl is PLAIN
    assert (sys.excepthook, threading.excepthook) == hooks


@pytest.fixture
def cuda() -> Iterator[None]:
    with emulate("cuda", count=2):
        yield


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q_proj = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.q_proj(x)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([Attention(), Attention()])
        self.scale = nn.Parameter(torch.ones(4))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x * self.scale


def kernel_runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The linear kernels that run from now on."""
    ran: list[str] = []
    linear = torch.nn.functional.linear

    def counting(*args: Any) -> Tensor:
        ran.append("linear")
        return linear(*args)

    monkeypatch.setattr(torch.nn.functional, "linear", counting)
    return ran


# --- strict


@pytest.mark.usefixtures("cuda")
def test_a_layer_is_checked_before_its_kernel_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Net().cuda()
    ran = kernel_runs(monkeypatch)
    x = torch.ones(2, 4)
    with pytest.raises(DeviceMismatchError) as caught, guard(model):
        model(x)
    assert not ran
    error = caught.value
    assert isinstance(error, RuntimeError)
    assert error.torch_message == ""
    assert error.explanation is not None
    lines = str(error).splitlines()
    assert lines[0] == ("layers.0.q_proj (Linear) received args[0] on cpu; its weight is on cuda:0")
    told = dict(error.explanation.lines)
    assert told["argument"] == "x: float32[2, 4] on cpu"
    assert told["used at"].endswith("return self.q_proj(x)")
    assert told["passed at"].endswith("model(x)")
    assert told["model"].startswith("on cuda:0, moved at ")
    assert told["fix"].endswith("x = x.to(next(model.parameters()).device)  [DEV201]")
    assert "input-on-other-device.md" in told["more"]
    assert error.explanation.devices == ("cpu", "cuda:0")


@pytest.mark.usefixtures("cuda")
@pytest.mark.parametrize(
    "call",
    [
        lambda layer, x: layer(input=x),
        lambda layer, x: layer(x),
    ],
)
def test_arguments_by_name_are_checked(
    call: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    layer = nn.Linear(4, 2).cuda()
    ran = kernel_runs(monkeypatch)
    with pytest.raises(DeviceMismatchError), guard():
        call(layer, torch.ones(1, 4))
    assert not ran


@pytest.mark.usefixtures("cuda")
def test_arguments_in_containers_are_checked() -> None:
    lstm = nn.LSTM(4, 3).cuda()
    x, state = torch.ones(5, 1, 4).cuda(), (torch.zeros(1, 1, 3).cuda(), torch.zeros(1, 1, 3))
    with pytest.raises(DeviceMismatchError, match=r"LSTM received args\[1\]\[1\] on cpu"), guard():
        lstm(x, state)
    packed = nn.utils.rnn.pack_sequence([torch.ones(5, 4)])
    with pytest.raises(DeviceMismatchError, match=r"LSTM received args\[0\]") as caught, guard():
        lstm(packed)
    assert "packed" in str(caught.value)


@pytest.mark.usefixtures("cuda")
def test_parameters_of_one_layer_on_two_devices() -> None:
    layer = nn.Linear(4, 2).cuda()
    layer.bias = nn.Parameter(torch.zeros(2))
    with pytest.raises(DeviceMismatchError, match="bias") as caught, guard():
        layer(torch.ones(1, 4).cuda())
    assert caught.value.torch_message == ""


@pytest.mark.usefixtures("cuda")
def test_what_pytorch_raises_in_a_module_is_told_better() -> None:
    model = Net().cuda()
    model.scale = nn.Parameter(torch.ones(4))
    with guard(model), pytest.raises(DeviceMismatchError) as caught:
        model(torch.ones(2, 4).cuda())
    error = caught.value
    assert error.torch_message.startswith("Expected all tensors to be on the same device")
    assert str(error).splitlines()[-1].endswith(error.torch_message)
    assert "self.scale on cpu" in str(error)
    assert not getattr(error, "__notes__", [])


@pytest.mark.usefixtures("cuda")
def test_what_pytorch_raises_outside_of_modules_is_told_better() -> None:
    x, y = torch.ones(2), torch.ones(2).cuda()
    text = r"x \+ y takes y on cuda:0 and x on cpu"
    with pytest.raises(DeviceMismatchError, match=text), guard():
        x + y


@pytest.mark.usefixtures("cuda")
def test_an_error_of_another_type_gets_a_note() -> None:
    x = torch.ones(2).cuda()
    with pytest.raises(TypeError) as caught, guard():
        x.numpy()
    (note,) = caught.value.__notes__  # type: ignore[attr-defined]
    assert "DEV205" in note


def test_another_error_stays_as_it_is() -> None:
    with pytest.raises(RuntimeError) as caught, guard():
        nn.Linear(4, 2)(torch.ones(1, 3))
    assert type(caught.value) is RuntimeError
    assert not hasattr(caught.value, "__notes__")


def shown_files(error: BaseException) -> list[str]:
    return [frame.filename for frame in traceback.extract_tb(error.__traceback__)]


@pytest.mark.usefixtures("cuda")
def test_the_traceback_ends_at_the_line_that_calls() -> None:
    model = Net().cuda()
    with pytest.raises(DeviceMismatchError) as caught, guard(model):
        model(torch.ones(2, 4))
    *_, last = traceback.extract_tb(caught.value.__traceback__)
    assert last.line == "return self.q_proj(x)"


def test_the_guard_does_not_show_in_tracebacks() -> None:
    class Fails(nn.Module):
        def forward(self) -> None:
            raise KeyError("of the program")

    model = nn.ModuleList([Fails()])

    class Outer(nn.Module):
        def forward(self) -> None:
            model[0]()

    with pytest.raises(KeyError) as plain:
        Outer()()
    with pytest.raises(KeyError) as watched, guard():
        Outer()()
    assert shown_files(watched.value) == shown_files(plain.value)


@pytest.mark.usefixtures("cuda")
def test_outside_of_modules_the_traceback_ends_there_too() -> None:
    x, y = torch.ones(2), torch.ones(2).cuda()
    for mode in ("strict", "explain"):
        with pytest.raises(RuntimeError) as caught, guard(mode=mode):
            x + y
        *_, last = traceback.extract_tb(caught.value.__traceback__)
        assert last.line == "x + y", mode


@pytest.mark.usefixtures("cuda")
def test_who_looks_for_pytorchs_words_finds_them() -> None:
    words = "Expected all tensors to be on the same device"
    with pytest.raises(RuntimeError, match=words), guard():
        nn.Linear(2, 2).cuda()(torch.ones(1, 2))


# --- which modules, how long


@pytest.mark.usefixtures("cuda")
def test_only_what_a_model_calls_is_checked() -> None:
    model, other = Net().cuda(), nn.Linear(4, 4).cuda()
    with guard(model):
        with pytest.raises(RuntimeError) as caught:
            other(torch.ones(1, 4))
        assert type(caught.value) is RuntimeError
        with pytest.raises(DeviceMismatchError):
            model.layers[1](torch.ones(1, 4))


@pytest.mark.usefixtures("cuda")
def test_the_first_batches() -> None:
    model = Net().cuda()
    good, bad = torch.ones(2, 4).cuda(), torch.ones(2, 4)
    with guard(model, when="first-batches", batches=2) as watching:
        model(good)
        assert nn.Module._call_impl is not PLAIN
        model(good)
        assert nn.Module._call_impl is PLAIN
        assert watching.is_on
        with pytest.raises(RuntimeError) as caught:
            model(bad)
        assert type(caught.value) is RuntimeError
    with pytest.raises(DeviceMismatchError), guard(model, when="first-batches"):
        model(bad)


def test_the_first_batches_of_several_models() -> None:
    first, second = nn.Linear(2, 2), nn.Linear(2, 2)
    x = torch.ones(1, 2)
    with guard(when="first-batches", batches=2):
        first(x)
        second(x)
        first(x)
        assert nn.Module._call_impl is not PLAIN
        second(x)
        assert nn.Module._call_impl is PLAIN


@dataclasses.dataclass
class Unhashable(nn.Module):
    width: int

    def __post_init__(self) -> None:
        super().__init__()

    def forward(self, x: Tensor) -> Tensor:
        return x * self.width


def test_modules_that_cannot_be_hashed() -> None:
    model = Unhashable(2)
    with guard(when="first-batches", batches=2):
        for _ in range(3):
            assert torch.equal(model(torch.ones(1)), torch.tensor([2.0]))


def test_nothing_runs_in_the_other_modes() -> None:
    for mode in ("off", "explain"):
        with guard(mode=mode):
            assert nn.Module._call_impl is PLAIN


@pytest.mark.usefixtures("cuda")
def test_explain_changes_neither_type_nor_text() -> None:
    model = Net().cuda()
    with pytest.raises(RuntimeError) as plain:
        model(torch.ones(2, 4))
    with pytest.raises(RuntimeError) as caught, guard(mode="explain"):
        model(torch.ones(2, 4))
    assert type(caught.value) is RuntimeError
    assert str(caught.value) == str(plain.value)
    assert len(caught.value.__notes__) == 1  # type: ignore[attr-defined]


@pytest.mark.usefixtures("cuda")
def test_off_says_nothing() -> None:
    x, y = torch.ones(2), torch.ones(2).cuda()
    error = RuntimeError("Expected all tensors to be on the same device, cuda:0 and cpu!")
    with pytest.raises(RuntimeError) as caught, guard(mode="off"):
        raise error if x is not y else AssertionError
    assert caught.value is error
    assert not hasattr(error, "__notes__")


# --- on and off


def test_guards_can_be_nested() -> None:
    model = Net()
    one = guard(model)
    with one:
        with guard(), one:
            assert nn.Module._call_impl is not PLAIN
        assert nn.Module._call_impl is not PLAIN
        assert one.is_on
    assert not one.is_on
    with one:
        assert one.is_on


def test_a_guard_can_be_removed() -> None:
    one = guard().__enter__()
    one.__enter__()
    one.remove()
    assert nn.Module._call_impl is PLAIN
    one.remove()


def test_threads_share_a_guard() -> None:
    one, inside, leave = guard(), threading.Event(), threading.Event()

    def work() -> None:
        with one:
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=work)
    with one:
        thread.start()
        inside.wait(10)
    assert nn.Module._call_impl is not PLAIN
    leave.set()
    thread.join()
    assert nn.Module._call_impl is PLAIN


def test_many_threads() -> None:
    def work() -> None:
        model = Net()
        for _ in range(20):
            with guard(model), guard():
                model(torch.ones(2, 4))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.usefixtures("cuda")
def test_functions() -> None:
    model = Net().cuda()

    @guarded
    def train(x: Tensor) -> Tensor:
        """Trains."""
        return model(x)

    @guarded(mode="explain")
    def explained(x: Tensor) -> Tensor:
        return model(x)

    @guarded
    async def later(x: Tensor) -> Tensor:
        await asyncio.sleep(0)
        return model(x)

    assert train.__doc__ == "Trains."
    assert train(torch.ones(2, 4).cuda()).shape == (2, 4)
    with pytest.raises(DeviceMismatchError):
        train(torch.ones(2, 4))
    with pytest.raises(RuntimeError) as caught:
        explained(torch.ones(2, 4))
    assert type(caught.value) is RuntimeError
    with pytest.raises(DeviceMismatchError):
        asyncio.run(later(torch.ones(2, 4)))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            {"mode": "loud"},
            "'loud' isn't a mode of the guard: choose off, explain, strict, trace or collect",
        ),
        ({"when": "never"}, "when='never': choose one of 'always', 'first-batches'"),
        ({"batches": 0}, "batches=0: at least one has to be checked"),
    ],
)
def test_what_cannot_be_meant(arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError) as caught:
        guard(**arguments)
    assert str(caught.value) == text


def test_models_are_modules() -> None:
    with pytest.raises(TypeError, match="not for a value of type list"):
        guard([nn.Linear(1, 1)])  # type: ignore[arg-type]


# --- the whole program


def test_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DEVLINT_GUARD", raising=False)
    installed = install_guard()
    assert installed.mode == "strict"
    assert nn.Module._call_impl is not PLAIN
    assert sys.excepthook is not sys.__excepthook__
    installed.remove()
    monkeypatch.setenv("DEVLINT_GUARD", "explain")
    installed = install_guard()
    assert installed.mode == "explain"
    installed.remove()
    monkeypatch.setenv("DEVLINT_GUARD", "")
    installed = install_guard()
    assert installed.mode == "off"
    installed.remove()


# --- what stays of it


def test_nothing_is_left_on_modules() -> None:
    model = Net()
    plain = pickle.dumps(model)
    with guard(model):
        model(torch.ones(2, 4))
        assert pickle.dumps(model) == plain
        again = copy.deepcopy(model)
        file = io.BytesIO()
        torch.save(model, file)
    assert b"devlint" not in file.getvalue()
    assert not any(m._forward_pre_hooks or m._forward_hooks for m in again.modules())


def test_a_guard_keeps_no_model_alive() -> None:
    model = Net()
    kept = weakref.ref(model)
    with guard(model):
        model(torch.ones(2, 4))
        del model
        gc.collect()
        assert kept() is None


@pytest.mark.usefixtures("cuda")
def test_the_error_can_go_to_another_process() -> None:
    with pytest.raises(DeviceMismatchError) as caught, guard():
        nn.Linear(4, 2).cuda()(torch.ones(1, 4))
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is DeviceMismatchError
    assert str(again) == str(caught.value)
    assert again.explanation == caught.value.explanation


def test_public_names() -> None:
    assert {"guard", "guarded", "install_guard", "DeviceMismatchError"} <= set(dir(devlint))
    assert f"{DeviceMismatchError.__module__}.{DeviceMismatchError.__qualname__}" == (
        "devlint.DeviceMismatchError"
    )
    code = "import devlint, sys; devlint.check; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("layer", "stray", "given"),
    [
        (nn.Linear(4, 4), "bias", lambda x, y: ((x,), {})),
        (nn.Linear(4, 4), "", lambda x, y: ((y,), {})),
        (nn.Linear(4, 4), "", lambda x, y: ((), {"input": y})),
        (nn.BatchNorm1d(4, affine=False), "", lambda x, y: ((y,), {})),
        (nn.BatchNorm1d(4, affine=False), "running_var", lambda x, y: ((x,), {})),
        (nn.LSTMCell(4, 4), "", lambda x, y: ((x, (x, y)), {})),
        (nn.LSTMCell(4, 4), "", lambda x, y: ((x, [x, y]), {})),
    ],
)
def test_what_is_on_another_device_is_seen_without_an_emulation(
    layer: nn.Module, stray: str, given: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y = torch.ones(2, 4), torch.ones(2, 4)
    real, other = Tensor.get_device, getattr(layer, stray) if stray else y

    def numbered(tensor: Tensor) -> int:
        return 0 if tensor is other else real(tensor)

    args, kwargs = given(x, y)
    assert not seems_to_disagree(layer, args, kwargs)
    monkeypatch.setattr(Tensor, "get_device", numbered)
    assert seems_to_disagree(layer, args, kwargs)
    assert not seems_to_disagree(nn.ReLU(), args, kwargs)  # it has no place of its own
