"""The mode `collect`: a run goes on after device mistakes, and tells all of them at its end."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from warm import Warm

import devlint
from devlint.cli import main
from devlint.runtime.guard import Guard

CPU, GPU = "cpu", "cuda:0"


def on(device: str, *values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float, device=device)


def outcomes(guard: Guard) -> list[tuple[str, int]]:
    return [(mismatch.outcome, count) for mismatch, count in guard.collected]


def values(result: object) -> object:
    return result.tolist() if isinstance(result, torch.Tensor) else result


def packed(device: str) -> torch.Tensor:
    lstm = nn.LSTM(1, 1).to(device)
    for parameter in lstm.parameters():
        nn.init.ones_(parameter)
    rows = nn.utils.rnn.pack_padded_sequence(torch.ones(2, 2, 1), [2, 1])
    return lstm(rows)[0].data.detach()


def lengths(device: str) -> torch.Tensor:
    x, counts = torch.ones(2, 2, device=device), torch.tensor([2, 1], device=device)
    return nn.utils.rnn.pack_padded_sequence(x, counts).data


def gradient(device: str) -> torch.Tensor:
    weight = on(CPU, 1.0, 2.0).requires_grad_()
    (weight * on(device, 3.0, 4.0)).sum().backward()
    assert weight.grad is not None
    return weight.grad


def assigned(device: str) -> torch.Tensor:
    weight = nn.Parameter(on(device, 1.0, 2.0))
    weight.grad = on(CPU, 3.0, 4.0)
    torch.optim.SGD([weight], lr=0.5).step()
    return weight.detach()


def statistics(device: str) -> torch.Tensor:
    mean, var = torch.zeros(2), torch.ones(2)
    F.batch_norm(torch.ones(4, 2, device=device), mean, var, training=True, momentum=0.5)
    return mean


def into(device: str) -> torch.Tensor:
    out = torch.zeros(2)
    assert torch.add(on(device, 1, 2), on(device, 3, 4), out=out) is out
    return out


def in_place(device: str) -> torch.Tensor:
    total = torch.zeros(2)
    view = total[:1]
    total += on(device, 1, 2)
    assert view.tolist() == [1.0]
    return total


def in_place_under_autograd(device: str) -> torch.Tensor:
    weight = on(device, 5.0, 6.0).requires_grad_()
    total = torch.zeros(2) * 1
    total += weight * 2
    total.sum().backward()
    assert weight.grad is not None
    return weight.grad


def in_inference(device: str) -> torch.Tensor:
    with torch.inference_mode():
        total = torch.zeros(2)
        total += on(device, 1, 2)
        return total


def in_a_thread(device: str) -> torch.Tensor:
    found: list[torch.Tensor] = []
    thread = threading.Thread(target=lambda: found.append(on(device, 1, 2) + on(CPU, 1, 2)))
    thread.start()
    thread.join()
    return found[0]


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: object, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: object, grad: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return grad * on(CPU, 2, 2)


def in_a_backward(device: str) -> torch.Tensor:
    x = on(device, 1, 2).requires_grad_()
    Scaled.apply(x).sum().backward()
    assert x.grad is not None
    return x.grad


GOES_ON = {
    "an operand": (lambda d: on(d, 1, 2) + on(CPU, 3, 4), GPU),
    "a layer": (lambda d: F.linear(on(CPU, 1, 2), on(d, 1, 1)[None], on(d, 1)), GPU),
    "a list": (lambda d: torch.cat([on(d, 1), on(CPU, 2), on(CPU, 3)]), GPU),
    "a condition": (lambda d: torch.where(on(CPU, 1, 0) > 0, on(d, 1, 2), on(CPU, 3, 4)), GPU),
    "an index": (lambda d: on(CPU, 1, 2)[torch.tensor([1], device=d)], CPU),
    "an array": (lambda d: on(d, 1, 2).numpy().tolist(), None),
    "lengths": (lengths, GPU),
    "a packed sequence": (packed, GPU),
    "in place": (in_place, CPU),
    "in place, under autograd": (in_place_under_autograd, GPU),
    "in place, in inference": (in_inference, CPU),
    "an output": (into, CPU),
    "running statistics": (statistics, CPU),
    "a gradient": (gradient, CPU),
    "a gradient that is assigned": (assigned, GPU),
    "a thread": (in_a_thread, GPU),
    "a backward of its own": (in_a_backward, GPU),
}


@pytest.mark.parametrize("name", GOES_ON)
def test_a_call_is_made_again_with_what_it_takes(name: str) -> None:
    run, device = GOES_ON[name]
    expected = values(run(CPU))
    with devlint.emulate("cuda"), devlint.guard(mode="collect") as guard:
        result = run(GPU)
        found = str(result.device) if isinstance(result, torch.Tensor) else None
        assert (values(result), found) == (expected, device)
        assert outcomes(guard) == [("moved", 1)]


def test_tensors_of_three_devices() -> None:
    with devlint.emulate("cuda:2"), devlint.guard(mode="collect") as guard:
        result = torch.cat([on("cuda:1", 1), on(CPU, 2), on(GPU, 3)])
        assert result.tolist() == [1, 2, 3]
    assert outcomes(guard) == [("moved", 2)]


RAISED = {
    "a gradient to begin with": lambda x: (x * 2).backward(on(CPU, 1, 1)),
    "an array of what needs gradients": lambda x: x.numpy(),
}


@pytest.mark.parametrize("name", RAISED)
def test_what_cannot_be_repeated_is_raised_and_told(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with devlint.emulate("cuda"):
        x = on(GPU, 1, 2).requires_grad_()
        with pytest.raises((RuntimeError, TypeError)), devlint.guard(mode="collect"):
            RAISED[name](x)
        assert x.grad is None
    told = capsys.readouterr().err
    assert told.startswith("devlint: 1 device mismatch:\n")
    assert "(once; raised: that call can't be repeated)\n" in told


def test_errors_of_another_kind_are_the_programs_own() -> None:
    with devlint.emulate("cuda"), devlint.guard(mode="collect") as guard:
        with pytest.raises(RuntimeError, match="must match the size"):
            on(GPU, 1, 2) + on(GPU, 1, 2, 3)
        with pytest.raises(devlint.DeviceMismatchError), devlint.guard():
            on(GPU, 1, 2, 4) + on(CPU, 1, 2)
        assert not guard.collected


def test_a_training_with_mistakes_has_the_losses_of_the_cpu() -> None:
    def train(device: str) -> list[float]:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1)).to(device)
        optimizer = torch.optim.Adam(model.parameters())
        losses = []
        for _ in range(3):
            loss = F.mse_loss(model(torch.randn(5, 3)), torch.zeros(5, 1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    expected = train(CPU)
    with devlint.emulate("cuda"), devlint.guard(mode="collect") as guard:
        assert train(GPU) == expected
    assert outcomes(guard) == [("moved", 3), ("moved", 3)]


def test_what_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with devlint.emulate("cuda"):
        x, y = on(GPU, 1, 2), on(CPU, 3, 4)
        for times, met, count in ((1, "", "once"), (3, ", met 3 times", "3 times")):
            with devlint.guard(mode="collect"):
                for _ in range(times):
                    x + y
            first, second, blank, place, head, *rest = capsys.readouterr().err.splitlines()
            assert first.startswith("devlint: values may differ from those of a correct run")
            assert (second, blank) == (f"devlint: 1 device mismatch{met}:", "")
            assert place.endswith(f"{Path(__file__).name}:{sys._getframe().f_lineno - 4} ({count})")
            assert head == "x + y takes x on cuda:0 and y on cpu"
            assert any(line.startswith("  fix  ") for line in rest)
        with devlint.guard(mode="collect"):
            x + x
    assert capsys.readouterr().err == ""


# --- programs

MISTAKES = """
import sys, torch
x = torch.ones(2, device="cuda")
for _ in range(3):
    y = x + torch.ones(2)
print(y.tolist(), y.device)
x.numpy()
"""
TOLD = ["operands-on-other-devices", "numpy-on-accelerator"]
EMULATED = ("--emulate", "cuda", "--guard", "collect")


@pytest.mark.parametrize(
    ("end", "code"),
    [("", 1), ("sys.exit()", 1), ("sys.exit(0)", 1), ("sys.exit(3)", 3), ("x + torch.ones(3)", 1)],
)
def test_the_programs_own_exit_code_wins(warm: Warm, tmp_path: Path, end: str, code: int) -> None:
    (tmp_path / "train.py").write_text(MISTAKES + end)
    ran = warm.devlint_run(tmp_path, *EMULATED, "train.py")
    assert (ran.code, ran.out) == (code, "[2.0, 2.0] cuda:0\n")
    assert "devlint: values may differ from those of a correct run" in ran.err
    assert "\ntrain.py:5 (3 times)\n" in ran.err
    assert "\ntrain.py:7 (once)\n" in ran.err
    assert "no device mismatch" not in ran.err


def test_a_program_without_a_mistake(warm: Warm, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import torch; torch.ones(2, device='cuda') + 1")
    ran = warm.devlint_run(
        tmp_path, *EMULATED, "-o", "found.xml", "--output-format", "junit", "train.py"
    )
    assert (ran.code, ran.err) == (0, "devlint: no device mismatch on cuda (emulated)\n")
    assert ElementTree.fromstring((tmp_path / "found.xml").read_text()).get("failures") == "0"


@pytest.mark.parametrize("output_format", ["text", "json", "sarif", "junit"])
def test_formats(warm: Warm, tmp_path: Path, output_format: str) -> None:
    (tmp_path / "train.py").write_text(f"import os\nos.chdir('/'){MISTAKES}")
    options = (*EMULATED, "--output-format", output_format, "-o", "found")
    ran = warm.devlint_run(tmp_path, *options, "train.py")
    text = (tmp_path / "found").read_text()
    if output_format == "text":
        assert ran.err == text
    elif output_format == "json":
        first, second = json.loads(text)
        assert [first["name"], second["name"]] == TOLD
        assert (first["location"]["row"], first["count"], first["outcome"]) == (6, 3, "moved")
        assert first["filename"] == str(tmp_path / "train.py")
        assert first["repair"].startswith("make it in the right place")
        assert first["devices"] == ["cpu", "cuda:0"]
    elif output_format == "sarif":
        results = json.loads(text)["runs"][0]["results"]
        places = [result["locations"][0]["physicalLocation"] for result in results]
        assert {place["artifactLocation"]["uri"] for place in places} == {"train.py"}
        assert [place["region"]["startLine"] for place in places] == [6, 8]
        assert "(3 times)\nmake it in the right place" in results[0]["message"]["text"]
    else:
        cases = list(ElementTree.fromstring(text).iter("testcase"))
        assert [(case.get("file"), case.get("line")) for case in cases] == [
            ("train.py", "6"),
            ("train.py", "8"),
        ]


def test_a_program_that_dies_keeps_the_old_report(warm: Warm, tmp_path: Path) -> None:
    (tmp_path / "found").write_text("old")
    (tmp_path / "train.py").write_text("import os; os._exit(3)")
    assert warm.devlint_run(tmp_path, *EMULATED, "-o", "found", "train.py").code == 3
    assert (tmp_path / "found").read_text() == "old"


def test_a_process_that_is_started_afresh_counts(warm: Warm, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import multiprocessing, torch\n"
        "def work():\n"
        "    torch.ones(2, device='cuda') + torch.ones(2)\n"
        "if __name__ == '__main__':\n"
        "    context = multiprocessing.get_context('spawn')\n"
        "    for _ in range(2):\n"
        "        context.Process(target=work).start()\n"  # nobody waits for them
    )
    ran = warm.devlint_run(tmp_path, *EMULATED, "train.py")
    assert ran.code == 1
    assert ran.err.count("train.py:3 (2 times)\n") == 1


def test_the_moves_that_let_it_go_on_are_no_copies_of_the_program(
    warm: Warm, tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text(MISTAKES)
    ran = warm.devlint_run(tmp_path, *EMULATED, "--transfers-file", "copies.json", "train.py")
    assert ran.code == 1
    assert json.loads((tmp_path / "copies.json").read_text())["copies"] == 1  # `.tolist()`


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["-o", "a.json"], "--output-file needs --guard collect"),
        (
            ["--guard", "collect", "--output-format", "json"],
            "--output-format needs --output-file: the streams are the program's",
        ),
        (["--guard", "collect", "-o", "missing/a.json"], "missing/a.json: can't be written"),
    ],
)
def test_what_cannot_be_meant(
    words: list[str], text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.py").write_text("print('ran')")
    assert main(["run", *words, str(tmp_path / "a.py")]) == 2
    assert text in capsys.readouterr().err


def test_what_to_would_leave_behind_is_told_and_moves_nothing(warm: Warm, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import torch\n"
        "from torch import nn\n"
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.layers = [nn.Linear(2, 2) for _ in range(2)]\n"
        "    def forward(self, x):\n"
        "        for layer in self.layers: x = layer(x)\n"
        "        return x\n"
        "print(Net()(torch.ones(1, 2)).shape)\n"
    )
    ran = warm.devlint_run(tmp_path, "--guard", "collect", "train.py")
    assert (ran.code, ran.out) == (1, "torch.Size([1, 2])\n")
    assert ran.err.startswith(
        "devlint: 1 device mismatch:\n\ntrain.py:6 (once)\nlayers[0] (Linear)"
    )
