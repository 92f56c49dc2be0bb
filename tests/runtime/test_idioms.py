"""Common ways to write code for any device, in which nothing is found, run to their end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from literate import Case, file_cases

from devlint import emulate

IDIOMS = Path(__file__).parents[1] / "cases" / "silent_idioms.md"


@pytest.mark.parametrize("case", file_cases(IDIOMS), ids=lambda case: case.id)
@pytest.mark.filterwarnings("ignore")
def test_an_idiom_runs_to_its_end(case: Case) -> None:
    names: dict[str, Any] = {"__name__": "idioms"}
    with emulate("cuda", count=2):
        exec(compile(case.source, str(IDIOMS), "exec"), names)
        checks = [each for name, each in names.items() if name.startswith("check_")]
        assert len(checks) >= 15
        for check in checks:
            torch.manual_seed(0)
            check()
