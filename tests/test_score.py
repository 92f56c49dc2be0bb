"""How certain a finding is."""

from __future__ import annotations

import textwrap
from math import e

import pytest

from devlint import policy
from devlint.config.rulebook import pages
from devlint.config.settings import Settings, check_layer, merge
from devlint.flow.domain.derivation import Sort
from devlint.lint import check_source
from devlint.model.findings import Finding
from devlint.verdict import score


def test_the_weakest_evidence_counts() -> None:
    annotated = (Sort.ANNOTATION.value, Sort.DEFAULT.value)
    assert score.evidence((Sort.MOVE_NAMED.value, Sort.DEFAULT.value)) == "stated"
    assert score.evidence((Sort.MODULE_MOVES.value,)) == "module-may-move"
    assert score.evidence(annotated) == "by-annotation"
    assert score.evidence((*annotated, Sort.TENSOR_BY_USE.value)) == "by-use"
    assert score.evidence((*annotated, Sort.MOVE_HOST.value)) == "decided"
    assert score.evidence((*annotated, Sort.JOIN.value)) == "decided"


def test_names_and_many_steps_are_weak_whatever_else_is_known() -> None:
    few = (Sort.ANNOTATION.value, Sort.CALL.value, Sort.DEFAULT.value, Sort.MOVE_CHOSEN.value)
    in_tests = f"{score.FILE}files-of-tests"
    assert score.evidence((*few, in_tests)) == "by-annotation"
    assert score.evidence((*few, Sort.OUTPUT.value)) == "by-many-steps"
    stated = (Sort.OUTPUT.value, Sort.MADE_BY_CALL.value, *few[1:])
    assert len(stated) == 5
    assert score.evidence(stated) == "stated"
    assert score.evidence((Sort.DEFAULT.value, "policy.loaders")) == "by-name"
    assert score.evidence((*few, Sort.OUTPUT.value, "policy.loaders")) == "by-name"


def test_each_number_is_a_share_of_a_rule_that_proves_something() -> None:
    codes = {page.code for page in pages().values()}
    numbers = dict(score._numbers())
    assert 0 < numbers.pop("mean") < 100
    assert numbers.pop("files").keys() <= policy.rows().keys()
    assert numbers.keys() <= {code for code in codes if code.startswith(score.PROVING)}
    weak = {"by-name", "by-many-steps", "decided", "by-annotation", "by-use", "module-may-move"}
    kinds = {"rule", "stated", *weak}
    for table in numbers.values():
        assert table.keys() <= kinds
        assert all(0 <= number <= 100 for number in table.values())


def test_what_nobody_has_judged_scores_as_its_rule_or_else_as_the_mean() -> None:
    numbers = score._numbers()
    assert score.score("DEV299", ()) == numbers["mean"]
    assert "by-annotation" not in numbers["DEV206"]
    assert score.score("DEV206", (Sort.ANNOTATION.value,)) == numbers["DEV206"]["rule"]
    assert numbers["DEV206"]["rule"] != numbers["mean"]


def test_what_the_name_of_a_file_says_is_added_in_log_odds() -> None:
    files = {"files-of-tests": -1.0, "files-of-data": 0.5}
    assert score.shifted(50, ("file.files-of-tests",), files) == round(100 / (1 + e))
    assert score.shifted(50, ("file.files-of-tests", "file.files-of-data"), files) == 38
    assert score.shifted(72, ("file.files-for-cuda", "source.module"), files) == 72


def test_what_a_file_says_depends_on_the_family() -> None:
    files = {"files-of-tests": {"DEV2": -1.5, "DEV3": 0.25}}
    assert score.of_family(files, "DEV203") == {"files-of-tests": -1.5}
    assert score.of_family(files, "DEV302") == {"files-of-tests": 0.25}
    assert score.of_family(files, "DEV401") == {"files-of-tests": 0}


def test_a_finding_in_a_test_is_less_certain() -> None:
    def found(path: str) -> Finding:
        source = b"import torch\n\nx = torch.zeros(3, device='cuda') + torch.ones(3)\n"
        settings = merge([check_layer("x", "", {"select": ["DEV202"], "pedantic": True})])
        (finding,) = check_source(source, path, settings)
        return finding

    here, there = found("a.py"), found("tests/test_a.py")
    assert there.sorts == tuple(sorted((*here.sorts, "file.files-of-tests")))
    assert there.score < score.THRESHOLD < here.score


@pytest.mark.parametrize(
    ("line", "code", "sorts"),
    [
        ("x.cuda()", "DEV101", ()),
        ("shifted = y + torch.ones(3)", "DEV202", (Sort.MOVE_NAMED.value,)),
    ],
)
def test_a_finding_carries_it(line: str, code: str, sorts: tuple[str, ...]) -> None:
    source = f"""
        import torch

        x = torch.zeros(3)
        y = x.to("cuda")
        {line}
    """
    found = check_source(textwrap.dedent(source).encode(), "a.py", Settings())
    (finding,) = (each for each in found if each.code == code)
    assert finding.score == score.score(code, sorts)
    assert (finding.score == 100) == (not code.startswith(score.PROVING))
