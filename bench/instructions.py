"""How many instructions of Python devlint's own code executes: a guard where seconds can't be one.

    python bench/instructions.py            the counts, beside those of instructions.toml
    python bench/instructions.py --write    these become the known ones of this Python

The texts are those of growth.py, in small sizes, a project whose models are built by name through
another file, as those of large libraries are, and the repaired example project. Counted are the
instructions of bytecode in devlint's modules, by `sys.settrace`, after everything has been imported
and a small text of each kind linted. What C code and other packages do isn't counted. Two runs
differ by less than one in 1,000: sets have another order under another `PYTHONHASHSEED`.

To hold: no count above 1.05 times the known one. If devlint is to do more, or does less, write the
counts anew with each Python that the file names.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FrameType
from typing import Any

import growth

import devlint
from devlint.cli import main as run

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

KNOWN = Path(__file__).resolve().with_suffix(".toml")
EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "digits_fixed"
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
MOST = 1.05
SIZES = {
    "lines": 1000, "statements": 100, "classes": 15, "branches": 30, "files": 100, "builders": 12,
}  # fmt: skip


_BUILDING = """import torch
from torch import nn

ENTRIES = {}


def register(make):
    name = make.__name__
    ENTRIES[name] = make
    return make


def load(model, name, path=None, strict=True):
    if path is None:
        path = f"{name}.pt"
    state = torch.load(path, map_location="cpu")
    for key in list(state):
        if not strict and key.startswith("head"):
            del state[key]
    model.load_state_dict(state, strict=strict)
    return model


def build(cls, name, pretrained=False, **options):
    features = options.pop("features", None)
    if features is not None:
        options["widths"] = [*options.get("widths", ()), features]
    model = cls(**options)
    if pretrained:
        model = load(model, name, strict=features is None)
    return model
"""
_MODELS = """import torch
from torch import nn

from building import build, register


class Net{n}(nn.Module):
    def __init__(self, widths=(8, 16), depth=2, bias=True):
        super().__init__()
        self.layers = nn.ModuleList()
        for first, second in zip(widths, widths[1:]):
            for _ in range(depth):
                self.layers.append(nn.Linear(first, second, bias=bias))
        self.head = nn.Linear(widths[-1], 10) if bias else nn.Identity()

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def _make(name, pretrained=False, **options):
    return build(Net{n}, name, pretrained, **options)
"""
_VARIANT = """

@register
def net{n}_{m}(pretrained=False, **options):
    settings = dict(widths=(8, {m}, 32), depth={m})
    return _make("net{n}_{m}", pretrained, **dict(settings, **options))
"""


def builders(size: int) -> dict[str, str]:
    """Files with so many models each, which a file builds for them by what they hand on."""
    found = {"pyproject.toml": "[tool.devlint]\n", "building.py": _BUILDING}
    for n in range(size // 3):
        variants = "".join(_VARIANT.format(n=n, m=m) for m in range(2, size + 2))
        found[f"nets{n}.py"] = _MODELS.format(n=n) + variants
    return found


MAKERS = {**{kind: make for kind, (make, _) in growth.KINDS.items()}, "builders": builders}


def counted(work: Callable[[], object]) -> int:
    """The instructions of devlint's modules that a call executes."""
    ours, count = str(Path(str(devlint.__file__)).parent), 0

    def each(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        count += event == "opcode"
        return each

    def start(frame: FrameType, _event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.startswith(ours):
            return None
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        return each

    before = sys.gettrace()
    sys.settrace(start)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def lint(texts: Mapping[str, str]) -> int:
    """The instructions that it takes to lint files, by their names."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in texts.items():
            path = Path(folder, name)
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        words = ["check", "--isolated", "--jobs=1", "--no-cache", "--silent", folder]
        return counted(lambda: run(words))


def counts() -> dict[str, int]:
    """What each kind of text takes."""
    for make in MAKERS.values():
        lint(make(10))
    found = {kind: lint(MAKERS[kind](size)) for kind, size in SIZES.items()}
    example = {
        f"digits_fixed/{path.name}": path.read_text() for path in sorted(EXAMPLE.glob("*.py"))
    }
    return {**found, "example": lint(example)}


def known() -> dict[str, dict[str, int]]:
    """The counts that are known, by Python and kind."""
    return tomllib.loads(KNOWN.read_text())


def main() -> int:
    """Count, and compare or write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    found = counts()
    table = known()
    before = table.get(PYTHON, {})
    for kind, count in found.items():
        times = f"{count / before[kind]:.3f} times the known" if kind in before else "not known"
        print(f"{kind:>11} {count:>12,}  {times}")
    if options.write:
        table[PYTHON] = found
        pythons = sorted(table, key=lambda each: [*map(int, each.split("."))])
        KNOWN.write_text(
            "# Instructions, by Python: bench/instructions.py --write\n"
            + "".join(
                f'\n["{each}"]\n' + "".join(f"{k} = {n}\n" for k, n in table[each].items())
                for each in pythons
            )
        )
        return 0
    return int(any(count > MOST * before.get(kind, count) for kind, count in found.items()))


if __name__ == "__main__":
    sys.exit(main())
