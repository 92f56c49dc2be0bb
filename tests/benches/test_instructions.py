"""The guard against work that nobody meant to add: instructions, as seconds are the machine's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import instructions
import pytest

from devlint.source.lower import lower

FOUND = dict.fromkeys((*instructions.SIZES, "example"), 1000)


@pytest.mark.skipif(
    instructions.PYTHON not in instructions.known(),
    reason="bench/instructions.toml has no counts of this Python",
)
def test_linting_takes_no_more_instructions_than_before() -> None:
    """Where more is meant, `python bench/instructions.py --write` makes the list anew."""
    bench = Path(instructions.__file__)
    done = subprocess.run([sys.executable, bench], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_instructions_are_counted_and_those_of_others_are_not() -> None:
    text = "x = [1, 2, 3]\n"
    once = instructions.counted(lambda: lower(text, "a.py"))
    assert once > 100
    assert instructions.counted(lambda: [lower(text, "a.py") for _ in range(2)]) == 2 * once
    assert instructions.counted(lambda: sorted(range(99), key=lambda each: -each)) == 0


@pytest.mark.parametrize(("known", "code"), [(990, 0), (2000, 0), (900, 1)])
def test_markedly_more_than_known_is_refused(
    known: int, code: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    listed = {**FOUND, "classes": known}
    path = tmp_path / "known.toml"
    path.write_text(
        f'["{instructions.PYTHON}"]\n' + "".join(f"{kind} = {n}\n" for kind, n in listed.items())
    )
    monkeypatch.setattr(instructions, "KNOWN", path)
    monkeypatch.setattr(instructions, "counts", lambda: FOUND)
    monkeypatch.setattr(sys, "argv", ["instructions.py"])
    assert instructions.main() == code


def test_counts_are_written_for_this_python_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "known.toml"
    path.write_text('["3.9"]\nlines = 7\n')
    monkeypatch.setattr(instructions, "KNOWN", path)
    monkeypatch.setattr(instructions, "counts", lambda: FOUND)
    monkeypatch.setattr(sys, "argv", ["instructions.py", "--write"])
    assert instructions.main() == 0
    assert instructions.known() == {"3.9": {"lines": 7}, instructions.PYTHON: FOUND}
