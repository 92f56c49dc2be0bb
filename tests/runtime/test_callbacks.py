"""The guard in Lightning, in the Trainer of transformers and beside Accelerate: the real ones."""

from __future__ import annotations

import copy
import functools
import gc
import importlib
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

import devlint
from devlint import DeviceMismatchError

os.environ.setdefault("HF_HUB_OFFLINE", "1")
pytestmark = pytest.mark.filterwarnings("ignore")

PLAIN = nn.Module._call_impl
TORCHS = "Expected all tensors to be on the same device"


@pytest.fixture(autouse=True)
def cuda(request: pytest.FixtureRequest) -> Iterator[None]:
    """An emulated GPU, or several, and a look at what was left behind."""
    hooks = sys.excepthook, threading.excepthook
    interrupt = signal.getsignal(signal.SIGINT)
    with devlint.emulate("cuda", count=getattr(request, "param", 1)):
        yield
    signal.signal(signal.SIGINT, interrupt)  # Lightning ignores it, once it was interrupted
    assert not is_on()
    assert (sys.excepthook, threading.excepthook) == hooks


def is_on() -> bool:
    return nn.Module._call_impl is not PLAIN


def loader() -> Any:
    torch.manual_seed(1)
    return DataLoader(TensorDataset(torch.randn(16, 4)), batch_size=4)


def raised(run: Callable[..., Any], *args: Any) -> BaseException:
    with pytest.raises(BaseException) as caught:
        run(*args)
    return caught.value.with_traceback(None)


def notes(error: BaseException) -> str:
    return "\n".join(getattr(error, "__notes__", ()))


# --- Lightning


class Steps:
    """What the modules of both packages have in common."""

    bug: str | None = None

    def begin(self, bug: str | None = None) -> Any:
        torch.manual_seed(0)
        self.linear = nn.Linear(4, 1)
        self.bug, self.seen = bug, {"train": [], "other": []}  # type: ignore[var-annotated]
        return self

    def training_step(self, batch: Any, index: int) -> Tensor:
        (x,) = batch
        self.seen["train"].append(is_on())
        if self.bug == "layer":
            x = torch.ones(2, 4)
        if self.bug == "step":
            x = x + torch.ones(4)
        if self.bug == "interrupt":
            raise KeyboardInterrupt
        return self.linear(x).square().mean()

    def validation_step(self, batch: Any, index: int) -> None:
        (x,) = batch
        self.seen["other"].append(is_on())
        if self.bug == "validation":
            nn.functional.mse_loss(self.linear(x), torch.zeros(4, 1))

    def test_step(self, batch: Any, index: int) -> None:
        self.validation_step(batch, index)

    def predict_step(self, batch: Any, index: int) -> None:
        self.validation_step(batch, index)

    def on_before_optimizer_step(self, optimizer: Any) -> None:
        if self.bug == "optimizer":
            next(self.parameters()).grad.mul_(torch.ones(1, 4))  # type: ignore[attr-defined]

    def configure_optimizers(self) -> Any:
        return torch.optim.Adam(self.parameters(), lr=0.1)  # type: ignore[attr-defined]


def lightning_model(bug: str | None = None, package: str = "lightning.pytorch") -> Any:
    module = importlib.import_module(package).LightningModule
    return type("Model", (Steps, module), {})().begin(bug)


def lightning_trainer(
    tmp_path: Path, *callbacks: Any, package: str = "lightning.pytorch", **options: Any
) -> Any:
    return importlib.import_module(package).Trainer(
        accelerator="gpu", devices=1, max_epochs=1, logger=False, enable_progress_bar=False,
        enable_model_summary=False, default_root_dir=tmp_path, callbacks=list(callbacks), **options,
    )  # fmt: skip


@pytest.fixture
def lightning_callback() -> Any:
    pytest.importorskip("lightning")
    return importlib.import_module("devlint.integrations.lightning").DeviceGuard


@pytest.mark.parametrize("package", ["lightning.pytorch", "pytorch_lightning"])
def test_lightning_is_guarded_in_all_that_it_runs(
    package: str, lightning_callback: Any, tmp_path: Path
) -> None:
    pytest.importorskip(package)
    trainer, model = (
        lightning_trainer(tmp_path, lightning_callback(), package=package),
        lightning_model(package=package),
    )
    for run in (trainer.fit, trainer.validate, trainer.test, trainer.predict):
        run(model, *([loader(), loader()] if run == trainer.fit else [loader()]))
        assert not is_on()
    assert model.seen == {"train": [True] * 4, "other": [True] * 18}


@pytest.mark.parametrize("mode", ["strict", "explain"])
@pytest.mark.parametrize("bug", ["layer", "step", "validation", "optimizer"])
def test_errors_of_lightning_are_explained(
    bug: str, mode: str, lightning_callback: Any, tmp_path: Path
) -> None:
    trainer = lightning_trainer(tmp_path, lightning_callback(mode))
    error = raised(trainer.fit, lightning_model(bug), loader(), loader())
    assert not is_on()
    if (bug, mode) == ("layer", "strict"):
        assert type(error) is DeviceMismatchError
        told = str(error)
        assert notes(error) == ""
    else:
        assert type(error) is RuntimeError
        assert str(error).startswith(TORCHS)
        told = notes(error)
    assert told.count("devlint rule ") == 1
    line = {
        "layer": "x = torch.ones(2, 4)",
        "step": "x = x + torch.ones(4)",
        "validation": "nn.functional.mse_loss(self.linear(x), torch.zeros(4, 1))",
        "optimizer": "next(self.parameters()).grad.mul_(torch.ones(1, 4))",
    }
    assert line[bug] in told
    # The trainer and its callback can go on.
    model = lightning_model()
    trainer.fit(model, loader())
    assert model.seen["train"] == [mode == "strict"] * 4


def test_a_user_interrupts_lightning(lightning_callback: Any, tmp_path: Path) -> None:
    trainer = lightning_trainer(tmp_path, lightning_callback())
    model = lightning_model("interrupt")
    assert isinstance(raised(trainer.fit, model, loader()), SystemExit)
    assert model.seen["train"] == [True]


def test_lightning_trains_as_without_a_guard(lightning_callback: Any, tmp_path: Path) -> None:
    found = []
    for mode in (None, "off", "explain", "strict", "trace"):
        callbacks = [] if mode is None else [lightning_callback(mode)]
        trainer = lightning_trainer(tmp_path, *callbacks, enable_checkpointing=False)
        model = lightning_model()
        trainer.fit(model, loader(), loader())
        file = tmp_path / f"{mode}.ckpt"
        trainer.save_checkpoint(file)
        assert b"devlint" not in file.read_bytes()
        assert torch.load(file, weights_only=False)["callbacks"] == {}
        found.append({name: value.cpu() for name, value in model.state_dict().items()})
    assert all(torch.equal(found[0][name], each[name]) for each in found for name in each)
    again = lightning_trainer(tmp_path, lightning_callback(), enable_checkpointing=False)
    again.fit(lightning_model(), loader(), ckpt_path=tmp_path / "strict.ckpt")


def test_the_first_batches_of_the_training_count(lightning_callback: Any, tmp_path: Path) -> None:
    guard = lightning_callback(when="first-batches", batches=2)
    model = lightning_model()
    lightning_trainer(tmp_path, guard).fit(model, loader(), loader())
    assert model.seen["train"] == [True, True, False, False]
    assert model.seen["other"][:2] == [True, True]  # before it, to see that validation works


def test_copies_of_the_callback_are_off(lightning_callback: Any) -> None:
    callback = lightning_callback("trace", when="first-batches", batches=2)
    callback.setup(None, None, "fit")
    try:
        for other in (copy.deepcopy(callback), pickle.loads(pickle.dumps(callback))):
            assert not other.guard.is_on
            assert other.guard.mode == "trace"
    finally:
        callback.teardown(None, None, "fit")
    assert callback.state_dict() == {}


def test_the_process_is_named(lightning_callback: Any) -> None:
    model, x = nn.Linear(2, 2).cuda(), torch.ones(1, 2)
    callback = lightning_callback("explain")
    callback.setup(None, None, "fit")
    error = raised(model, x)
    for _ in range(2):
        callback.on_exception(SimpleNamespace(global_rank=1, world_size=4), None, error)
    assert notes(error).count("devlint: in the process of rank 1 of 4") == 1


def test_the_package_of_lightning_that_the_program_has(
    lightning_callback: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = sys.modules["devlint.integrations.lightning"]
    one, two = SimpleNamespace(Callback=dict), SimpleNamespace(Callback=list)
    monkeypatch.setitem(sys.modules, "lightning.pytorch", one)
    monkeypatch.setitem(sys.modules, "pytorch_lightning", two)
    assert module._bases() == (dict, list)
    monkeypatch.delitem(sys.modules, "lightning.pytorch")
    assert module._bases() == (list,)


# --- transformers


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.linear = nn.Linear(4, 2)
        self.bug = ""
        self.seen: list[bool] = []

    def forward(self, x: Tensor, labels: Tensor) -> dict[str, Tensor]:
        if self.training:
            self.seen.append(is_on())
        if self.bug == "layer":
            x = torch.ones(2, 4)
        if self.bug == "interrupt":
            raise KeyboardInterrupt
        if self.bug == "once":
            self.bug = ""
            raise ValueError("caught by the trainer")
        out = self.linear(x)
        return {"loss": nn.functional.mse_loss(out, labels), "logits": out}


def hugging_face(tmp_path: Path, bug: str, *callbacks: Any, **options: Any) -> Any:
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")

    class Trainer(transformers.Trainer):  # type: ignore[misc, name-defined]
        def compute_loss(self, model: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
            if bug == "loss":
                logits = model(**inputs)["logits"]
                return nn.functional.mse_loss(logits, torch.zeros(2, 2))
            try:
                return super().compute_loss(model, inputs, *args, **kwargs)
            except ValueError:
                return super().compute_loss(model, inputs, *args, **kwargs)

    def metrics(prediction: Any) -> dict[str, float]:
        scores = torch.from_numpy(prediction.predictions).cuda()
        labels = torch.from_numpy(prediction.label_ids)
        return {"error": float((scores - labels).sum()) if bug == "metrics" else 0.0}

    torch.manual_seed(1)
    rows = [{"x": torch.randn(4), "labels": torch.randn(2)} for _ in range(8)]
    arguments = transformers.TrainingArguments(
        output_dir=str(tmp_path), max_steps=4, per_device_train_batch_size=2, report_to=[],
        disable_tqdm=True, logging_steps=1, save_strategy=options.pop("save_strategy", "no"),
        **options,
    )  # fmt: skip
    trainer = Trainer(
        Net(), arguments, train_dataset=rows, eval_dataset=rows, compute_metrics=metrics,
        callbacks=list(callbacks),
    )  # fmt: skip
    trainer.model.bug = bug
    return trainer


@pytest.fixture
def trainer_callback() -> Any:
    pytest.importorskip("transformers")
    return importlib.import_module("devlint.integrations.transformers").DeviceGuardCallback


def test_an_error_of_a_module_ends_the_guard(trainer_callback: Any, tmp_path: Path) -> None:
    trainer = hugging_face(tmp_path, "layer", trainer_callback())
    error = raised(trainer.train)
    assert not is_on()
    assert type(error) is DeviceMismatchError
    assert str(error).startswith("linear (Linear) received args[0] on cpu")
    assert "x = torch.ones(2, 4)" in str(error)
    trainer.model.bug = ""
    trainer.model.seen.clear()
    trainer.train()
    assert trainer.model.seen == [True] * 4


@pytest.mark.parametrize("mode", ["strict", "explain"])
@pytest.mark.parametrize("bug", ["loss", "metrics"])
def test_an_error_outside_of_modules_is_explained_when_nobody_catches_it(
    bug: str, mode: str, trainer_callback: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = {"eval_strategy": "steps", "eval_steps": 1} if bug == "metrics" else {}
    error = raised(hugging_face(tmp_path, bug, trainer_callback(mode), **options).train)
    sys.excepthook(type(error), error, error.__traceback__)  # as Python does it
    assert not is_on()
    told = capsys.readouterr().err
    assert ("devlint.DeviceMismatchError: " in told) == (mode == "strict")
    line = {"loss": "mse_loss(logits, torch.zeros(2, 2))", "metrics": "scores - labels"}
    assert line[bug] in told
    assert TORCHS in told
    assert told.count("devlint rule ") == 1


def test_an_error_that_the_program_catches(trainer_callback: Any, tmp_path: Path) -> None:
    """The guard that stays on does nothing outside of a training, and takes itself off."""
    raised((trainer := hugging_face(tmp_path, "loss", trainer_callback())).train)
    assert is_on()
    stray = raised(nn.Linear(2, 2).cuda(), torch.ones(1, 2))
    assert type(stray) is RuntimeError
    assert str(stray).startswith(TORCHS)
    assert not is_on()
    assert "Linear" in notes(stray)  # the emulation's own

    raised(trainer.train)
    assert is_on()
    Net()(torch.ones(2, 4), torch.ones(2, 2))
    assert not is_on()

    raised(trainer.train)
    assert is_on()
    del trainer
    gc.collect()
    assert not is_on()


def test_a_user_interrupts_transformers(trainer_callback: Any, tmp_path: Path) -> None:
    trainer = hugging_face(tmp_path, "interrupt", trainer_callback())
    assert isinstance(raised(trainer.train), KeyboardInterrupt)
    trainer.model.bug = ""
    trainer.model.seen.clear()
    trainer.train()
    assert trainer.model.seen == [True] * 4


def test_an_error_that_the_trainer_survives(trainer_callback: Any, tmp_path: Path) -> None:
    trainer = hugging_face(tmp_path, "once", trainer_callback())
    trainer.train()
    # On again with the next step.
    assert trainer.model.seen == [True, False, True, True, True]


def test_transformers_trains_as_without_a_guard(trainer_callback: Any, tmp_path: Path) -> None:
    found = []
    for mode in (None, "off", "explain", "strict", "trace"):
        folder = tmp_path / str(mode)
        callbacks = [] if mode is None else [trainer_callback(mode)]
        trainer = hugging_face(
            folder, "", *callbacks, save_strategy="steps", save_steps=2, eval_strategy="epoch"
        )
        trainer.train()
        assert not is_on()
        files = [file for file in folder.rglob("*") if file.is_file()]
        assert len(files) > 4
        names = {file.name: file.read_bytes().count(b"devlint") for file in files}
        losses = [row["loss"] for row in trainer.state.log_history if "loss" in row]
        state = {name: value.cpu() for name, value in trainer.model.state_dict().items()}
        found.append((losses, names, copy.deepcopy(state)))
        trainer.train(resume_from_checkpoint=str(folder / "checkpoint-2"))
        assert not is_on()
    for losses, names, state in found:
        assert losses == found[0][0]
        assert names == found[0][1]  # the emulation's devices name it
        assert all(torch.equal(state[name], value) for name, value in found[0][2].items())


def test_the_first_batches_of_the_trainer(trainer_callback: Any, tmp_path: Path) -> None:
    trainer = hugging_face(tmp_path, "", trainer_callback(when="first-batches", batches=3))
    trainer.train()
    assert trainer.model.seen == [True, True, True, False]


def test_other_threads_may_compute_for_the_trainer(trainer_callback: Any) -> None:
    callback, caught = trainer_callback(), []
    callback.on_train_begin(None, None, None)
    model, x = nn.Linear(2, 2).cuda(), torch.ones(1, 2)
    thread = threading.Thread(target=lambda: caught.append(type(raised(model, x))))
    thread.start()
    thread.join()
    assert caught == [DeviceMismatchError]
    assert is_on()  # there may be more of them
    callback.on_train_end(None, None, None)


@pytest.mark.parametrize("cuda", [2], indirect=True)
def test_replicas_on_two_devices(trainer_callback: Any, tmp_path: Path) -> None:
    found = []
    for callbacks in ([], [trainer_callback()]):
        trainer = hugging_face(tmp_path, "", *callbacks)
        assert trainer.args.n_gpu == 2
        trainer.train()
        found.append([row["loss"] for row in trainer.state.log_history if "loss" in row])
    assert len(found[0]) == 4
    assert found[0] == found[1]
    trainer.model.bug = "layer"
    error = raised(trainer.train)
    assert type(error) is DeviceMismatchError
    assert "linear (Linear) received args[0] on cpu" in str(error)
    assert not is_on()


# --- Accelerate


@pytest.fixture
def accelerator() -> Iterator[Any]:
    accelerate = pytest.importorskip("accelerate")
    yield accelerate.Accelerator()
    accelerate.state.AcceleratorState._reset_state(reset_partial_state=True)


@pytest.fixture
def guard_accelerator() -> Any:
    return importlib.import_module("devlint.integrations.accelerate").guard_accelerator


def train(accelerator: Any, bug: str = "", seen: list[bool] | None = None) -> dict[str, Tensor]:
    torch.manual_seed(0)
    model: Any = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Dropout(), nn.Linear(3, 2))
    criterion = nn.CrossEntropyLoss(weight=torch.ones(2))
    if bug != "criterion":
        criterion.cuda()
    optimizer: Any = torch.optim.SGD(model.parameters(), lr=0.1)
    model, optimizer, rows = accelerator.prepare(model, optimizer, loader())
    for (x,) in rows:
        if seen is not None:
            seen.append(is_on())
        if bug == "layer":
            x = torch.ones(4, 4)
        if bug == "interrupt":
            raise KeyboardInterrupt
        if bug == "loss":
            model(x) - torch.zeros(4, 2)
        accelerator.backward(criterion(model(x), torch.zeros(4, dtype=torch.long, device="cuda")))
        optimizer.step()
        optimizer.zero_grad()
    return {name: value.cpu() for name, value in model.state_dict().items()}


@pytest.mark.parametrize(
    ("bug", "text"),
    [
        ("layer", "Sequential received args[0] on cpu; its 0.weight is on cuda:0"),
        ("criterion", "CrossEntropyLoss is on cpu, but received args[0] on cuda:0"),
        ("loss", "model(x) - torch.zeros(4, 2) takes "),
    ],
)
def test_mistakes_beside_accelerate(
    bug: str, text: str, accelerator: Any, guard_accelerator: Any
) -> None:
    guard = guard_accelerator(accelerator)
    with pytest.raises(DeviceMismatchError) as caught, guard:
        train(accelerator, bug)
    assert str(caught.value).startswith(text)
    assert not is_on()
    with (
        pytest.raises(RuntimeError, match=TORCHS) as plain,
        guard_accelerator(accelerator, mode="explain"),
    ):
        train(accelerator, bug)
    assert type(plain.value) is RuntimeError
    assert text in notes(plain.value)
    with guard:  # again
        train(accelerator)


def test_accelerate_trains_as_without_a_guard(accelerator: Any, guard_accelerator: Any) -> None:
    plain = train(accelerator)
    for mode in ("off", "explain", "strict", "trace"):
        seen: list[bool] = []
        with guard_accelerator(accelerator, mode=mode) as guard:
            state = train(accelerator, seen=seen)
        assert seen == [mode in ("strict", "trace")] * 4
        assert (guard.transfers is not None) == (mode == "trace")
        assert all(torch.equal(state[name], value) for name, value in plain.items())
    with pytest.raises(KeyboardInterrupt), guard_accelerator(accelerator):
        train(accelerator, "interrupt")
    assert not is_on()
    first: list[bool] = []
    with guard_accelerator(accelerator, when="first-batches", batches=2):
        train(accelerator, seen=first)
    assert first == [True, True, False, False]


def test_the_process_of_accelerate_is_named(guard_accelerator: Any) -> None:
    second = SimpleNamespace(process_index=1, num_processes=2)
    with pytest.raises(DeviceMismatchError) as caught, guard_accelerator(second):
        nn.Linear(2, 2).cuda()(torch.ones(1, 2))
    assert notes(caught.value) == "devlint: in the process of rank 1 of 2"
    with pytest.raises(ValueError, match="loss") as other, guard_accelerator(second):
        raise ValueError("loss is not a number")
    assert notes(other.value) == ""


# --- all of them


@pytest.mark.parametrize("kind", ["lightning_callback", "trainer_callback", "guard_accelerator"])
def test_wrong_arguments(kind: str, request: pytest.FixtureRequest) -> None:
    made = request.getfixturevalue(kind)
    make = functools.partial(made, None) if kind == "guard_accelerator" else made
    with pytest.raises(ValueError, match="batches=0"):
        make(batches=0)
    with pytest.raises(ValueError, match="when='later'"):
        make(when="later")
    with pytest.raises(ValueError, match="'loose' isn't a mode of the guard"):
        make(mode="loose")


def test_the_package_imports_none_of_them() -> None:
    heavy = "{'torch', 'lightning', 'transformers', 'accelerate', 'pytest'}"
    code = f"import devlint.integrations, sys; print({heavy} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "set()\n"
