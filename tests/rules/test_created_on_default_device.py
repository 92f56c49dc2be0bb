"""DEV203 on whole files: where its fix is offered, and what stays of several reports."""

from __future__ import annotations

import pytest

from devlint.config.settings import Settings
from devlint.lint import check_source
from devlint.model.findings import Finding, Level
from devlint.model.spans import apply_edits

HEAD = """\
import torch
from torch import nn

"""

HELPER = """\
def make(n):
    return torch.ones(n)  # made

class Net(nn.Module):
    def forward(self, x):
        x = x.relu()
        return x + make(3)
"""

OUTSIDE = """\
ONES = torch.ones(3)  # made

class Net(nn.Module):
    def forward(self, x):
        x = x.relu()
        return x + ONES
"""

INSIDE = """\
class Net(nn.Module):
    def forward(self, x):
        x = x.relu()
        ones = torch.ones(3)  # made
        return x + ones
"""

FIX_AT_THE_SECOND_MEETING = """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x):
        x = x.relu()
        ones = torch.ones(3)  # made
        h = self.fc(x)
        return h + ones, x + ones
"""

ERROR_IN_THE_SECOND_MEETING = """\
ONES = torch.ones(3)  # made

def add(x: torch.Tensor):
    return x + ONES

class Net(nn.Module):
    def forward(self, x):
        x = x.relu()
        return x + ONES
"""


def found(code: str) -> list[Finding]:
    findings = check_source((HEAD + code).encode(), "x.py", Settings(pedantic=True))
    return [finding for finding in findings if finding.code == "DEV203"]


@pytest.mark.parametrize(
    ("code", "fixed"),
    [
        pytest.param(HELPER, "make(3).to(x.device)", id="helper"),
        pytest.param(OUTSIDE, "ONES.to(x.device)", id="module level"),
        pytest.param(INSIDE, "torch.ones(3, device=x.device)", id="same function"),
        pytest.param(
            FIX_AT_THE_SECOND_MEETING, "torch.ones(3, device=x.device)", id="second meeting"
        ),
    ],
)
def test_one_finding_where_it_is_made_with_a_fix_where_the_name_is_bound(
    code: str, fixed: str
) -> None:
    (finding,) = found(code)
    assert (HEAD + code).splitlines()[finding.span.row - 1].endswith("# made")
    assert finding.fix is not None
    new = apply_edits(HEAD + code, finding.fix.edits)
    assert set(new.splitlines()) - set((HEAD + code).splitlines()) == {
        line for line in new.splitlines() if fixed in line
    }
    assert finding.trace[-1].message == "they meet here"
    assert finding.trace[-1].span.row > finding.span.row


def test_what_is_one_of_several_is_not_moved_where_it_is_used() -> None:
    states = """\
def states(n):
    return torch.zeros(1, n, 4), torch.zeros(1, n, 4)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(4, 4)

    def forward(self, x):
        return self.rnn(x.relu(), states(3))
"""
    findings = found(states)
    assert [finding.fix for finding in findings] == [None, None]
    there = "on the device of the module, as `device=next(self.parameters()).device`"
    assert all(there in finding.help for finding in findings)


def test_the_gravest_meeting_counts() -> None:
    (finding,) = found(ERROR_IN_THE_SECOND_MEETING)
    assert finding.level is Level.ERROR


@pytest.mark.parametrize(
    ("filename", "speaks"),
    [
        ("net/datasets/video.py", False),
        ("net/collators/helpers.py", False),
        ("net/collate_helpers.py", False),
        ("net/visualization/wrong.py", False),
        ("net/visual/wrong.py", True),
        ("net/models/transforms.py", False),
        ("net/models/transformer.py", True),
    ],
)
def test_what_works_on_samples_or_shows_them_is_left_to_the_host(
    filename: str, speaks: bool
) -> None:
    code = "def mask(x: torch.Tensor, device):\n    return x[0] + torch.ones(3)\n"
    found = check_source(
        (HEAD + code).encode(), filename, Settings(select=("DEV203",), pedantic=True)
    )
    assert bool(found) is speaks
