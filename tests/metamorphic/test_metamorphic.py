"""What is found in a program doesn't hang on what says nothing of it: names, files, comments, the
order of definitions, how code is cut into functions and files.

`known.toml` lists the cases that change all the same. A case that isn't there must not change, and
one that is there must: what was repaired is taken out, by `tools/metamorphic_cases.py --write`.
"""

from __future__ import annotations

import pytest
from literate import Case, all_cases
from metamorphic.checking import TRANSFORMATIONS, Checker, chosen, read_known

GROUPS = all_cases()


@pytest.fixture(scope="module")
def checker(tmp_path_factory: pytest.TempPathFactory) -> Checker:
    """Folders say what is in them: these say nothing."""
    folder = tmp_path_factory.mktemp("programs") / "area" / "work"
    folder.mkdir(parents=True)
    return Checker(folder)


@pytest.mark.parametrize("cases", [pytest.param(cases, id=stem) for stem, cases in GROUPS.items()])
def test_what_is_found_stays(cases: list[Case], checker: Checker) -> None:
    known = read_known()
    problems: list[str] = []
    for case in cases:
        for name, difference in checker.differences(case, chosen(case)).items():
            if bool(difference) == (case.id in known[name]):
                continue
            told = difference or "changes no longer: take it out of known.toml"
            problems.append(f"{case.at(1)}: {name}: {case.id}: {told}")
    if problems:
        pytest.fail("\n".join(problems), pytrace=False)


def test_what_is_known_are_cases() -> None:
    ids = {case.id for cases in GROUPS.values() for case in cases}
    known = read_known()
    assert {case for cases in known.values() for case in cases} <= ids
    assert set(known) == set(TRANSFORMATIONS)
