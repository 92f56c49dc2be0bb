"""Functions that call each other: what one gives hangs on no call that came before."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from devlint.config.settings import Settings
from devlint.lint import check
from devlint.project.plan import prepare

SETTINGS = Settings(pedantic=True)
ENDS = ("x.to('cuda:1')", "x.to('cuda:1')", "x.cpu()", "x")
CASES = ("a and b", "a and not b", "b and not a", "not a and not b")
SEEDS = (0, 29, 62, 63, 75, 84, 89, 131, 142, 154, 158, 187, 219, 231, 253, 273, 280, 291)
"""Of three hundred, those in which the order matters where a call is answered by what another one
gave that its own callers have led to."""
ORDERS = ("abcd", "dcba", "bdac")


def _written(seed: int) -> dict[str, str]:
    """Functions that lead to each other, as their flags say, and four files that call them."""
    draw = random.Random(seed)
    names = [f"f{number}" for number in range(draw.randint(3, 5))]

    def call() -> str:
        a, b = draw.choices(("True", "False"), k=2)
        return f"{draw.choice(names)}(x, {a}, {b})"

    def gives() -> str:
        kinds = (draw.choice(ENDS), call(), f"{call()} if len(x) > 2 else {call()}")
        return draw.choices(kinds, weights=(4, 5, 1))[0]

    lines = ["import torch"]
    for name in names:
        lines.append(f"def {name}(x, a, b):")
        lines += [f"    if {case}:\n        return {gives()}" for case in CASES]
    files = {"helpers": "\n".join(lines)}
    for file in "abcd":
        uses = [f"z{number} = x + {call()}" for number in range(3)]
        head = ["import torch", f"from helpers import {', '.join(names)}", "x = torch.ones(4)"]
        files[file] = "\n".join([*head, *uses])
    return {name: f"{text}\n" for name, text in files.items()}


@pytest.mark.parametrize("seed", SEEDS)
def test_the_order_of_files_does_not_matter(tmp_path: Path, seed: int) -> None:
    (tmp_path / "pyproject.toml").touch()
    for name, text in _written(seed).items():
        (tmp_path / f"{name}.py").write_text(text)

    def checked(name: str) -> object:
        path = tmp_path / f"{name}.py"
        found = check(path.read_bytes(), str(path), SETTINGS)
        return found.findings, found.coverage

    answers = []
    for order in ORDERS:
        prepare.cache_clear()
        answers.append({name: checked(name) for name in order})
    assert all(each == answers[0] for each in answers)
