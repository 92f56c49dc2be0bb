"""What the interpreter writes down of the cases is what it wrote down before.

Where it isn't, and shall not be, `python tools/facts.py --write` says what changes.
"""

from __future__ import annotations

import pytest
from fact_lines import line_of, read_golden
from literate import Case, all_cases

GROUPS = all_cases()


@pytest.mark.parametrize("cases", [pytest.param(cases, id=stem) for stem, cases in GROUPS.items()])
def test_facts_stay(cases: list[Case]) -> None:
    golden = read_golden()
    problems: list[str] = []
    for case in cases:
        line, before = line_of(case), golden.get(case.id, "nothing")
        if line != before:
            problems += [case.at(1), f"  before: {before}", f"  now:    {line}"]
    if problems:
        pytest.fail("\n".join([*problems, "python tools/facts.py --write"]), pytrace=False)


def test_no_line_is_left_over() -> None:
    ids = [case.id for cases in GROUPS.values() for case in cases]
    assert list(read_golden()) == ids
