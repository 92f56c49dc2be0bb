"""Suppression comments."""

import pytest

from devlint.model.findings import Finding, Level
from devlint.model.reports import Anchor, Rewrite
from devlint.model.spans import apply_edits
from devlint.source.document import Document
from devlint.source.pragmas import Idle, Pragmas, read_pragmas
from devlint.source.reading import read_document

KNOWN = {
    "DEV002": ("DEV002",),
    "unused-suppression": ("DEV002",),
    "DEV101": ("DEV101",),
    "hardcoded-cuda-call": ("DEV101",),
    "DEV103": ("DEV103",),
    "DEV202": ("DEV202",),
}
ALL = frozenset(code for codes in KNOWN.values() for code in codes)


def read(code: str) -> tuple[Document, Pragmas]:
    document = read_document(code.encode(), "x.py")
    return document, read_pragmas(document, KNOWN)


def findings(document: Document, code: str = "DEV101") -> list[Finding]:
    """A finding wherever `bad` stands."""
    found = []
    start = document.text.find("bad")
    while start >= 0:
        span = document.index.span(start, start + 3)
        rows = document.statement_rows(span.row)
        found.append(Finding("x.py", code, "", "", Level.ERROR, span, statement=rows))
        start = document.text.find("bad", start + 1)
    return found


def left(code: str, of: str = "DEV101") -> list[int]:
    """The rows of the findings that are not suppressed."""
    document, pragmas = read(code)
    return [finding.span.row for finding in pragmas.apply(findings(document, of), ALL)[0]]


def idle(code: str, selected: frozenset[str] = ALL) -> list[Idle]:
    document, pragmas = read(code)
    return pragmas.apply(findings(document), selected)[1]


SUPPRESSED = {
    "by code": "bad  # devlint: ignore[DEV101]\n",
    "by name": "bad  # devlint: ignore[hardcoded-cuda-call]\n",
    "in lower case": "bad  # devlint: ignore[dev101]\n",
    "with a reason": "bad  # devlint: ignore[DEV101] -- only on the cluster\n",
    "with another code": "bad  # devlint: ignore[DEV103, DEV101]\n",
    "without blanks": "bad#devlint:ignore[DEV103,DEV101]\n",
    "after another comment": "bad  # why # devlint: ignore[DEV101] # noqa: E501\n",
    "on the first row": "x = f(  # devlint: ignore[DEV101]\n  1,\n  bad,\n)\n",
    "on the last row": "x = f(\n  1,\n  bad,\n)  # devlint: ignore[DEV101]\n",
    "on its own row of many": "x = f(\n  1,\n  bad,  # devlint: ignore[DEV101]\n  2,\n)\n",
    "after a long string": "x = '''\n''', bad, '''\n'''  # devlint: ignore[DEV101]\n",
    "on a header": "if (a and\n  bad\n):  # devlint: ignore[DEV101]\n  pass\n",
    "on the row above": "# devlint: ignore[DEV101]\nbad\n",
    "above a long statement": "# devlint: ignore[DEV101]\n\n# more\nx = f(\n  bad,\n)\n",
    "above a decorated function": "# devlint: ignore[DEV101]\n@a\n@b\ndef f(x=bad): pass\n",
    "above in a block": "if a:\n  # devlint: ignore[DEV101]\n  bad\n",
    "above in brackets": "x = f(\n  1,\n  # devlint: ignore[DEV101]\n  # more\n  bad,\n  2,\n)\n",
    "in the whole file": "x = 1\nbad\nif x:\n  bad\n# devlint: file-ignore[DEV101]\n",
    "in flake8's form": "bad  # noqa: DEV101\n",
    "in flake8's form, tight": "bad  #noqa:E501,DEV101\n",
    "by prefix": "bad  # NOQA: DEV1\n",
    "by a bare noqa": "bad  # noqa\n",
    "by a noqa with words": "bad  # noqa: DEV101 because of that\n",
}


@pytest.mark.parametrize("code", SUPPRESSED.values(), ids=SUPPRESSED.keys())
def test_suppressed(code: str) -> None:
    assert left(code) == []
    assert (left(code, of="DEV202") == []) == (code == "bad  # noqa\n")  # a bare one takes all
    assert idle(code.replace("DEV103,", "")) == []
    assert read(code)[1].problems == ()


KEPT = {
    "another code": ("bad  # devlint: ignore[DEV103]\n", [1]),
    "another code in flake8's form": ("bad  # noqa: E501\n", [1]),
    "another prefix": ("bad  # noqa: DEV2\n", [1]),
    "another row": ("x = f(\n  1,  # devlint: ignore[DEV101]\n  bad,\n  2)\n", [3]),
    "the row below": ("x = 1  # devlint: ignore[DEV101]\nbad\n", [2]),
    "the second row below": ("# devlint: ignore[DEV101]\nx = 1\nbad\n", [3]),
    "the body of a header": ("if a:  # devlint: ignore[DEV101]\n  bad\n", [2]),
    "the body below a header": ("# devlint: ignore[DEV101]\nif a:\n  bad\n", [3]),
    "the second row in brackets": (
        "x = f(\n  # devlint: ignore[DEV101]\n  1,\n  bad,\n)\n",
        [4],
    ),
    "a string": ("bad, '# devlint: ignore[DEV101]'\n", [1]),
    "a string of an f-string": ("bad, f'''{x}# noqa'''\n", [1]),
    "a longer word": ("bad  # noqamore\n", [1]),
}


@pytest.mark.parametrize(("code", "rows"), KEPT.values(), ids=KEPT.keys())
def test_not_suppressed(code: str, rows: list[int]) -> None:
    assert left(code) == rows


@pytest.mark.parametrize(
    ("code", "codes", "after"),
    [
        ("x = 1  # devlint: ignore[DEV101]\ny\n", ("DEV101",), "x = 1\ny\n"),
        ("x = 1\t # devlint: ignore[DEV101] -- why", ("DEV101",), "x = 1"),
        ("x\n  # devlint: ignore[DEV101]\ny\n", ("DEV101",), "x\ny\n"),
        ("x\r\n# devlint: file-ignore[DEV103]\r\ny\r\n", ("DEV103",), "x\r\ny\r\n"),
        ("x\n# devlint: ignore[DEV101]", ("DEV101",), "x\n"),
        ("x # noqa: DEV101\n", ("DEV101",), "x\n"),
        ("x # noqa: E501, DEV101\n", ("DEV101",), "x # noqa: E501\n"),
        ("x # noqa: DEV101 E501 why\n", ("DEV101",), "x # noqa: E501 why\n"),
        ("x # noqa: DEV999\n", ("DEV999",), "x\n"),
        ("# noqa: DEV101\nbad\n", ("DEV101",), "bad\n"),
        ("bad # noqa: DEV101, DEV103\n", ("DEV103",), "bad # noqa: DEV101\n"),
        ("bad # noqa: DEV103, E501, DEV101\n", ("DEV103",), "bad # noqa: E501, DEV101\n"),
        (
            "bad # devlint: ignore[DEV103, hardcoded-cuda-call] -- why\n",
            ("DEV103",),
            "bad # devlint: ignore[hardcoded-cuda-call] -- why\n",
        ),
        (
            "x # devlint: ignore[DEV101, DEV103]  # noqa: E501\n",
            ("DEV101", "DEV103"),
            "x # noqa: E501\n",
        ),
        ("x # why # devlint: ignore[DEV101]\n", ("DEV101",), "x # why\n"),
    ],
)
def test_idle_suppressions_and_their_removal(code: str, codes: tuple[str, ...], after: str) -> None:
    document, _ = read(code)
    (found,) = idle(code)
    assert found.codes == codes
    assert document.text[found.origin.start] == "#"
    rewrite = Rewrite(Anchor(found, "start"), Anchor(found, "end"), found.remaining)
    assert apply_edits(code, document.edits([rewrite]) or []) == after


def test_one_of_two_comments_for_a_finding_is_not_idle() -> None:
    assert idle("# devlint: file-ignore[DEV101]\nbad  # devlint: ignore[DEV101]\n") == []


@pytest.mark.parametrize(
    "code",
    [
        "x  # noqa\n",
        "x  # noqa: E501\n",
        "x  # devlint: ignore[DEV101, DEV002]\n",
        "# devlint: file-ignore[unused-suppression]\nx  # devlint: ignore[DEV101]\n",
    ],
)
def test_never_idle(code: str) -> None:
    assert idle(code) == []


def test_what_did_not_run_is_not_idle() -> None:
    code = "x  # devlint: ignore[DEV101, DEV103]  # noqa: DEV1\n"
    assert [found.codes for found in idle(code, ALL - {"DEV101"})] == [("DEV103",)]
    assert idle(code, ALL - {"DEV002"}) == []
    assert [found.codes for found in idle(code)] == [("DEV101", "DEV103"), ("DEV1",)]


@pytest.mark.parametrize(
    ("comment", "words"),
    [
        ("# devlint: ignore", "name the codes"),
        ("# devlint: ignore[]", "name the codes"),
        ("# devlint: ignore DEV101", "name the codes"),
        ("# devlint: ignore[DEV101", "name the codes"),
        ("# devlint: disable[DEV101]", "neither"),
        ("# devlint:", "neither"),
        ("# devlint: ignore[DEV999]", "no rule `DEV999`"),
        ("# devlint: ignore[cuda]", "no rule `cuda`"),
        ("# devlint: ignore[DEV1]", "no rule `DEV1`: a comment names whole codes"),
        ("# devlint: file-ignore[DEV101]", "row of its own"),
    ],
)
def test_problems(comment: str, words: str) -> None:
    code = f"x = 1\nbad  {comment}\n"
    (problem,) = read(code)[1].problems
    assert problem.row == 2
    assert words in problem.message
    assert left(code) == [2]
    assert read(f"# devlint: file-ignore[DEV002]\n{code}")[1].problems == ()


def test_a_known_code_counts_beside_an_unknown_one() -> None:
    code = "bad  # devlint: ignore[DEV101, DEV999]\n"
    assert left(code) == []
    assert len(read(code)[1].problems) == 1


def test_files_without_comments_are_not_positioned() -> None:
    document, pragmas = read("bad  # a comment\nx = 1  # noqa\n")
    assert pragmas.apply([], ALL) == ([], [])
    assert pragmas.problems == ()
    assert "positions" not in vars(document)
