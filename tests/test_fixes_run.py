"""Every fix of a page, a case or an example leaves a program that runs on any device.

Each is run before and after all of its fixes, unsafe ones too: on the plain CPU, on an emulated
machine with two GPUs, and on one with another accelerator, for which a program that names CUDA is
written anew (`for_kind`). Functions and methods that a fix changes are called, with values that let
them end on the plain CPU (`standins`).

- On the CPU, the fixed program ends where it did before, with the same numbers.
- On an accelerator it ends, and has the numbers of the CPU: or it raises what it raised before, or
  raises where something is left to find that has no fix.

What isn't so is named in `fix_judging`, with its reason. A statement that a fix has changed counts
as run on a device where it has run in a call that ended; how many do may not become fewer.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from fix_judging import OF_ITSELF, OTHER_NUMBERS, Fixed, Judge, Verdict
from literate import all_cases, fix
from standins import FILE
from torch import nn

from devlint import emulate
from devlint.config.settings import Settings
from devlint.fix.applying import FixResult, fix_source
from devlint.lint import check_source

EXAMPLES = Path(__file__).parents[1] / "examples"


# --- what is run ---------------------------------------------------------------------------


def of_file(name: str) -> Iterator[Fixed]:
    """The blocks of a page or of a file of cases that have fixes."""
    for case in all_cases()[name]:
        if case.errors:
            result = fix(case, case.source.encode())
            if result.applied:
                yield Fixed(case.id, case.source, result)


def of_examples(folder: Path) -> Iterator[Fixed]:
    """The files of the examples that have fixes, among files that are all fixed."""
    settings = Settings(pedantic=True)
    for path in sorted(EXAMPLES.glob("*/*.py")):
        before = path.read_bytes()
        result = fix_source(before, str(path), settings, True, check_source)
        target = folder / path.relative_to(EXAMPLES)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(result.data)
        if result.applied:
            module = f"{path.parent.name}.{path.stem}"
            folders = (str(EXAMPLES), str(folder))
            yield Fixed(module, before.decode(), result, module, folders)


@dataclass(frozen=True)
class Floor:
    """How many changed statements of a group of files run at least."""

    cpu: int
    cuda: int
    mps: int


FLOORS = {
    "dev0": Floor(4, 4, 4),
    "dev1": Floor(24, 30, 30),
    "dev2_m": Floor(58, 59, 59),
    "dev2_o": Floor(68, 66, 63),
    "dev2": Floor(105, 108, 107),
    "dev3": Floor(37, 81, 80),
    "dev4": Floor(48, 48, 47),
    "dev5": Floor(23, 30, 30),
    "flow": Floor(31, 32, 32),
    "silent": Floor(1, 1, 1),
    "examples": Floor(3, 10, 11),
    "": Floor(45, 70, 70),  # the pages
}
"""By the start of the names of files: the first one that fits counts."""


def programs_of(group: str, folder: Path) -> Iterator[Fixed]:
    if group == "examples":
        yield from of_examples(folder)
    for name in all_cases():
        if group == next(each for each in FLOORS if name.startswith(each)):
            yield from of_file(name)


@pytest.fixture
def saved(tmp_path: Path) -> Iterator[Path]:
    """Weights that were saved on a GPU."""
    threads, state = torch.get_num_threads(), torch.get_rng_state()
    with emulate("cuda"):
        torch.save(nn.Linear(4, 4).cuda().state_dict(), tmp_path / FILE)
    yield tmp_path / FILE
    torch.set_num_threads(threads)
    torch.set_rng_state(state)


def judged(fixed: Fixed, saved: Path, monkeypatch: pytest.MonkeyPatch) -> Verdict:
    """What is wrong with a program's fixes, which runs in a folder with such weights alone."""
    with tempfile.TemporaryDirectory(dir=saved.parent) as folder:
        shutil.copy(saved, folder)
        monkeypatch.chdir(folder)
        verdict = Judge(fixed).judged()
        monkeypatch.chdir(saved.parent)
    return verdict


@pytest.mark.parametrize("group", FLOORS)
def test_fixed_programs_run_on_every_device(
    group: str, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = list(programs_of(group, saved.parent / "fixed"))
    verdicts = [judged(each, saved, monkeypatch) for each in programs]
    problems = [problem for verdict in verdicts for problem in verdict.problems]
    if problems:
        pytest.fail("\n".join(problems), pytrace=False)
    counts = sum((verdict.counts for verdict in verdicts), Counter[str]())
    floor = FLOORS[group]
    ran = Floor(counts["cpu"], counts["cuda"], counts["mps"])
    assert ran.cpu >= floor.cpu, counts
    assert ran.cuda >= floor.cuda, counts
    assert ran.mps >= floor.mps, counts
    ids = {each.id for each in programs}
    excused = {each for verdict in verdicts for each in verdict.excused}
    known = {each for each in OF_ITSELF if each[0] in ids} | (OTHER_NUMBERS.keys() & ids)
    assert excused == known, "what isn't so any more is no exception"


HEAD = "import torch\n\n\ndef run(device, raw):\n    x = torch.zeros(3, device=device)\n"
BEFORE = HEAD + "    return x + torch.from_numpy(raw).float()\n"


@pytest.mark.parametrize(
    ("fixed", "told"),
    [
        ("    return x + torch.from_numpy(raw).float().to(device)\n", ""),
        ("    return x + torch.from_numpy(raw).to(device).float()\n", "on mps, run raises"),
        ('    return x + torch.from_numpy(raw).float().to("cuda")\n', ""),
        ("    return x + torch.from_numpy(raw).float().numpy()\n", "on cuda, run raises"),
        ("    return x + torch.from_numpy(raw).flaot()\n", "on cpu, run raises"),
        ("    return x + 2 * torch.from_numpy(raw).float().to(device)\n", "other numbers on cpu"),
        ("    return x + torch.from_numpy(raw).float().to(x)\n", ""),
    ],
)
def test_a_fix_that_goes_wrong_is_told(
    fixed: str, told: str, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = FixResult((HEAD + fixed).encode(), (), (), ())
    verdict = judged(Fixed("block", BEFORE, result), saved, monkeypatch)
    assert bool(verdict.problems) == bool(told)
    assert told in "\n".join(verdict.problems)
    assert told or verdict.counts == Counter(cpu=1, cuda=1, mps=1, places=1, cured=1)
