"""Generated programs: findings beside runs, known disagreements, and the bench itself."""

from __future__ import annotations

from collections.abc import Iterator

import generate
import pytest
from generated_runs import machine, tried
from grammar import Program
from grammar_programs import generated
from shrinking import shrunk

PARTS, COUNT = 4, 300
PARTS_OF = [range(COUNT)[part::PARTS] for part in range(PARTS)]

HEAD = "import torch\nfrom torch import nn\nnet = nn.Linear(4, 4).cuda()\n"


@pytest.fixture
def on_machine() -> Iterator[None]:
    with machine():
        yield


@pytest.mark.parametrize("numbers", PARTS_OF, ids=range(PARTS))
def test_findings_and_runs_disagree_where_it_is_known(numbers: range) -> None:
    """`python bench/generate.py --count 300 --write-known` writes the list anew."""
    found = generate.outcomes_of(generate.Part(0, numbers))
    assert [each.number for each in found if each.is_broken] == []
    known = [
        line for line in generate.KNOWN.read_text().splitlines() if int(line.split()[0]) in numbers
    ]
    assert generate.known_lines(found) == known


def test_a_program_is_made_from_its_number() -> None:
    first, again, other = generated(3, 14), generated(3, 14), generated(4, 14)
    assert (first, first.files == other.files) == (again, False)
    rows = {(f, n) for f, text in first.files.items() for n in range(1, text.count("\n") + 1)}
    assert set(first.productions) == rows


HIDDEN = f"{HEAD}x = torch.ones(4)\nglobals()['x'] = x.cuda()\nnet(x)\n"
"""The linter doesn't see how `x` is moved."""


@pytest.mark.parametrize(
    ("text", "outcomes", "disagree"),
    [
        (f"{HEAD}net(torch.ones(4))\n", [("raised", 4)], []),
        (f"{HEAD}net(eval('torch.ones(4)'))\n", [("missed", 4)], ["missed"]),
        (f"{HEAD}net(torch.ones(4).cuda())\n", [], []),
        (HIDDEN, [("ran", 6)], ["ran"]),
        (f"{HEAD}if eval('False'):\n    net(torch.ones(4))\n", [("ran", 5)], []),
        (f"{HIDDEN}1 / 0\n", [("ran", 6)], []),
    ],
    ids=["named", "missed", "right", "false", "not-tried", "broken"],
)
def test_what_is_found_beside_what_happens(
    text: str, outcomes: list[tuple[str, int]], disagree: list[str], on_machine: None
) -> None:
    result = tried(Program({"train.py": text}))
    assert [(each.outcome, each.at[1]) for each in result.judged] == outcomes
    assert [each.outcome for each in result.disagreements()] == disagree
    assert result.is_broken == ("1 / 0" in text)


def test_an_error_is_named_in_the_file_that_it_comes_from(on_machine: None) -> None:
    helper = "import torch\n\n\ndef far(x):\n    return x + torch.ones(4)\n"
    main = "import torch\nfrom helper import far\n\nfar(torch.ones(4).cuda())\n"
    result = tried(Program({"train.py": main, "helper.py": helper}))
    assert result.run.at == ("helper.py", 5)
    assert {each.outcome for each in result.judged} == {"raised"}


def test_a_program_is_made_small_while_it_stays() -> None:
    text = "a = 1\nif a:\n    b = 2\n    c = 3\nelse:\n    d = 4\n\ndef f():\n    return 5\n"
    assert shrunk({"a.py": text, "b.py": "e = 6\n"}, lambda files: "c = 3" in files["a.py"]) == {
        "a.py": "c = 3\n"
    }
    assert shrunk({"a.py": text}, lambda files: "return" in files["a.py"]) == {
        "a.py": "def f():\n    return 5\n"
    }
    assert shrunk({"a.py": text}, lambda files: False) == {"a.py": text}


def test_tables_count_by_rule_sort_and_production() -> None:
    judged = generate.Judged("ran", "DEV202", "", ("train.py", 3), ("train.py", 2), ("move.named",))
    missed = generate.Judged("missed", "", "Expected cpu", ("train.py", 3), ("train.py", 3))
    false, names = (judged, ("meet", "made-host")), frozenset({"meet", "loop"})
    found = [
        generate.Outcome(0, "", False, (judged,), (false,), names, "?"),
        generate.Outcome(1, "", False, (judged,), (), names, "?"),
        generate.Outcome(2, "E", False, (missed,), ((missed, ("meet", "meet")),), names, "meet"),
        generate.Outcome(3, "ValueError", True, (judged,), (), names, "loop"),
    ]
    text = generate.tables(found)
    assert "4 programs: 2 end well, 1 end by an error about devices, 1 are broken" in text
    assert "| DEV202 |  | 1 | 1 | 1 |" in text
    assert "| move.named |  | 1 | 1 | 1 |" in text
    assert "| meet | 4 | 1 | 1 | 1 |" in text
    assert "DEV202: meet, made-host  (as in program 0)" in text
    assert generate.known_lines(found) == [
        "0 DEV202: meet, made-host",
        "2 missed: meet, Expected D",
    ]
