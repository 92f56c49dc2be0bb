"""Every rule has a page, every page a rule, and what a page claims is so."""

from __future__ import annotations

import pytest
from literate import Case, as_parameters, lint, page_cases, problems

from devlint.config.rulebook import Page, pages
from devlint.model.findings import Level
from devlint.rules import all_rules

REQUIRED = ["What it finds", "Why it matters", "Example", "When it stays silent"]
HEADINGS = [*REQUIRED, "Options", "References"]
INFOS = ("error", "error pedantic", "fixed", "ok", "")

PAGES = list(pages().values())
CASES = [case for page in PAGES for case in page_cases(page)]

each_page = pytest.mark.parametrize("page", [pytest.param(page, id=page.name) for page in PAGES])


@pytest.mark.parametrize("case", as_parameters(CASES))
def test_block(case: Case) -> None:
    found = problems(case)
    if found:
        pytest.fail("\n".join(found), pytrace=False)


def test_pages_and_rules_have_the_same_names() -> None:
    assert sorted({rule.name for rule in all_rules()}) == sorted(page.name for page in PAGES)


def test_rule_modules_are_named_after_their_page() -> None:
    modules = {rule.check.__module__.rpartition(".")[2] for rule in all_rules()}
    assert modules == {page.name.replace("-", "_") for page in PAGES}


def test_codes_are_in_order_and_unique() -> None:
    codes = [page.code for page in PAGES]
    assert codes == sorted(set(codes))


@each_page
def test_headings(page: Page) -> None:
    titles = [section.title for section in page.sections if section.depth == 2]
    assert [title for title in HEADINGS if title in titles] == titles
    assert [title for title in titles if title in REQUIRED] == REQUIRED
    assert all(section.depth >= 2 for section in page.sections)


@each_page
def test_blocks(page: Page) -> None:
    python = [block for block in page.blocks if block.is_python]
    unknown = [f"{page.path}:{block.row}" for block in python if block.info not in INFOS]
    assert unknown == []
    kinds = [block.kind for block in python]
    assert "error" in kinds
    assert "ok" in kinds
    orphans = [
        f"{page.path}:{block.row}"
        for before, block in zip([None, *python], python, strict=False)
        if block.kind == "fixed" and (before is None or before.kind != "error")
    ]
    assert orphans == [], "a `fixed` block follows the `error` block it fixes"


@each_page
def test_a_page_says_that_its_rule_needs_pedantic(page: Page) -> None:
    marks = [block.pedantic for block in page.blocks if block.kind == "error"]
    found = page.body.partition("## Why it matters")[0]
    assert ("needs `--pedantic`" in found) == all(marks)


@each_page
def test_metadata(page: Page) -> None:
    assert not page.summary.endswith(".")
    assert page.summary[0].isupper() or page.summary[0] == "`"
    assert page.tags


@each_page
def test_fix_is_as_often_as_the_page_says(page: Page) -> None:
    findings = [
        finding
        for case in page_cases(page)
        if case.kind == "error"
        for finding in lint(case, case.source.encode())
    ]
    fixed = [finding.fix is not None for finding in findings]
    often = "never" if not any(fixed) else "always" if all(fixed) else "sometimes"
    # Examples may all be fixable where others are not, but never the other way round.
    assert page.fix in ((often, "sometimes") if often == "always" else (often,))


@each_page
def test_findings_say_what_to_do(page: Page) -> None:
    for case in page_cases(page):
        for finding in lint(case, case.source.encode()):
            assert isinstance(finding.help, str)
            assert finding.help or finding.fix or page.code.startswith("DEV0")


@each_page
def test_findings_carry_the_metadata(page: Page) -> None:
    findings = [
        finding for case in page_cases(page) for finding in lint(case, case.source.encode())
    ]
    assert {(finding.code, finding.name) for finding in findings} == {(page.code, page.name)}
    # A rule may raise or lower its level for a finding, but one that is off stays off.
    assert (page.level is Level.OFF) <= all(finding.level is Level.OFF for finding in findings)
