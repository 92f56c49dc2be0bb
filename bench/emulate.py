"""What emulation costs: training steps on the plain CPU and on an emulated accelerator.

    python bench/emulate.py
    python bench/emulate.py --only mlp --repeat 15

Blocks of steps on the CPU and under emulation take turns in one process, so that both meet the
same machine. A row gives the median time of a step (CPU seconds of one thread, in milliseconds),
the median ratio of neighbouring blocks, and whether the losses are the same to the last bit.
Memory is the highest resident set of a process of its own that trains the medium model.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))  # this checkout's devlint, whichever is installed

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import Tensor, nn  # noqa: E402

from devlint import emulate  # noqa: E402

MARKS = {"mlp": 2.5, "cnn": 1.2, "transformer": 1.8, "lstm": 1.7}
"""The most that a small one may take, in times of the plain CPU."""

MEMORY_MARK = 1.2

OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.01),
    "adam": lambda parameters: torch.optim.Adam(parameters),
}


class Transformer(nn.Module):
    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(100, width)
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(width, 100)

    def forward(self, tokens: Tensor) -> Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.size(1), device=tokens.device)
        return self.head(self.encoder(self.embedding(tokens), mask=mask)).transpose(1, 2)


class Recurrent(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(16, width, 2, batch_first=True)
        self.head = nn.Linear(width, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.lstm(x)[0][:, -1])


def mlp(width: int) -> tuple[nn.Module, Tensor, Tensor]:
    model = nn.Sequential(nn.Linear(32, width), nn.ReLU(), nn.Linear(width, 10))
    return model, torch.randn(16, 32), torch.randint(0, 10, (16,))


def cnn(width: int) -> tuple[nn.Module, Tensor, Tensor]:
    def block(channels: int, stride: int) -> list[nn.Module]:
        convolution = nn.Conv2d(channels, width, 3, stride=stride, padding=1)
        return [convolution, nn.BatchNorm2d(width), nn.ReLU()]

    layers = [*block(3, 1), *block(width, 2), *block(width, 2)]
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 10))
    return model, torch.randn(8, 3, 32, 32), torch.randint(0, 10, (8,))


def transformer(width: int) -> tuple[nn.Module, Tensor, Tensor]:
    tokens = torch.randint(0, 100, (8, 33))
    return Transformer(width, 2), tokens[:, :-1], tokens[:, 1:]


def lstm(width: int) -> tuple[nn.Module, Tensor, Tensor]:
    return Recurrent(width), torch.randn(8, 20, 16), torch.randint(0, 10, (8,))


Maker = Callable[[int], tuple[nn.Module, Tensor, Tensor]]
MODELS: dict[str, Maker] = {"mlp": mlp, "cnn": cnn, "transformer": transformer, "lstm": lstm}
WIDTHS = {
    "small": {"mlp": 64, "cnn": 32, "transformer": 64, "lstm": 32},
    "medium": {"mlp": 1024, "cnn": 96, "transformer": 256, "lstm": 256},
}


@dataclass(frozen=True)
class Row:
    model: str
    size: str
    optimizer: str
    cpu_ms: float
    emulated_ms: float
    ratio: float
    same_loss: bool


class Training:
    """One model on one device, step by step."""

    def __init__(self, make: Maker, width: int, optimizer: str, device: str) -> None:
        torch.manual_seed(0)
        model, inputs, targets = make(width)
        self.model = model.to(device)
        self.optimizer = OPTIMIZERS[optimizer](self.model.parameters())
        self.inputs, self.targets = inputs.to(device), targets.to(device)
        self.losses: list[float] = []

    def run(self, steps: int) -> float:
        """CPU seconds that a step took."""
        start = time.process_time()
        for _ in range(steps):
            self.optimizer.zero_grad()
            loss = F.cross_entropy(self.model(self.inputs), self.targets)
            loss.backward()
            self.optimizer.step()
        taken = time.process_time() - start
        self.losses.append(loss.item())
        return taken / steps


def measure(name: str, size: str, optimizer: str, repeat: int) -> Row:
    width = WIDTHS[size][name]
    plain = Training(MODELS[name], width, optimizer, "cpu")
    with emulate("cuda"):
        emulated = Training(MODELS[name], width, optimizer, "cuda")
        first = emulated.run(2)
    plain.run(2)
    steps = max(2, int(0.05 / max(first, 1e-5)))
    pairs = []
    for _ in range(repeat):
        cpu = plain.run(steps)
        with emulate("cuda"):
            pairs.append((cpu, emulated.run(steps)))
    return Row(
        name,
        size,
        optimizer,
        1000 * median(cpu for cpu, _ in pairs),
        1000 * median(emulated for _, emulated in pairs),
        median(emulated / cpu for cpu, emulated in pairs),
        plain.losses == emulated.losses,
    )


# --- memory --------------------------------------------------------------------------------


def peak_of_child(name: str, how: str) -> int:
    """The highest resident set, in KiB, of a process that trains a model for a while."""
    command = [sys.executable, __file__, "--child", name, how]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def child(name: str, how: str) -> None:
    torch.set_num_threads(1)
    width = WIDTHS["medium"][name]
    if how == "cpu":
        Training(MODELS[name], width, "adam", "cpu").run(30)
    else:
        with emulate("cuda"):
            Training(MODELS[name], width, "adam", "cuda").run(30)
    print(peak_of_this_process())


def peak_of_this_process() -> int:
    """KiB. What `getrusage` says begins, on Linux, with the peak of whoever started the process."""
    status = Path("/proc/self/status")
    if status.exists():
        lines = status.read_text(encoding="ascii").splitlines()
        return int(next(line.split()[1] for line in lines if line.startswith("VmHWM")))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def memory() -> dict[str, tuple[float, float]]:
    """Peak memory in MiB by model: on the plain CPU, and under emulation."""
    return {
        name: (peak_of_child(name, "cpu") / 1024, peak_of_child(name, "emulated") / 1024)
        for name in MODELS
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", choices=MODELS, action="append", help="only this model")
    parser.add_argument("--repeat", type=int, default=21, help="pairs of blocks")
    parser.add_argument("--no-memory", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(*options.child)
        return 0
    torch.set_num_threads(1)
    rows = [
        measure(name, size, optimizer, options.repeat)
        for name in options.only or MODELS
        for size in WIDTHS
        for optimizer in OPTIMIZERS
    ]
    peaks = {} if options.no_memory else memory()
    if options.json:
        print(
            json.dumps({"torch": torch.__version__, "rows": [*map(asdict, rows)], "memory": peaks})
        )
        return 0
    print(f"torch {torch.__version__}, Python {sys.version.split()[0]}, one thread")
    head = f"{'model':12} {'size':7} {'optimizer':9} {'cpu ms':>8} {'emulated':>9} {'times':>6}"
    print(f"{head}  mark  loss")
    for row in rows:
        mark = f"{MARKS[row.model]:4}" if row.size == "small" else "   -"
        loss = "same" if row.same_loss else "DIFFERENT"
        print(
            f"{row.model:12} {row.size:7} {row.optimizer:9} {row.cpu_ms:8.2f} "
            f"{row.emulated_ms:9.2f} {row.ratio:6.2f}  {mark}  {loss}"
        )
    for name, (plain, emulated) in peaks.items():
        print(
            f"peak memory, {name} medium: {plain:.0f} MiB, emulated {emulated:.0f} MiB, "
            f"{emulated / plain:.2f} times (mark {MEMORY_MARK})"
        )
    return 0 if all(row.same_loss for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
