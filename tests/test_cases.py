"""Every block of `tests/cases/*.md` holds."""

from __future__ import annotations

from pathlib import Path

import pytest
from literate import Case, as_parameters, file_cases, problems

CASES = [
    case
    for path in sorted((Path(__file__).parent / "cases").glob("*.md"))
    for case in file_cases(path)
]


@pytest.mark.parametrize("case", as_parameters(CASES))
def test_case(case: Case) -> None:
    found = problems(case)
    if found:
        pytest.fail("\n".join(found), pytrace=False)


def test_there_are_cases() -> None:
    assert CASES
