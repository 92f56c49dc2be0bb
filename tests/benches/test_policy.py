"""What a row of policy buys, as `bench/policy.py` counts it."""

from __future__ import annotations

from pathlib import Path

from labels import Label
from policy import over_cases, over_labels

RUN = """\
from torch import nn

def run(train_loader):
    net = nn.Linear(3, 3).to("cuda")
    for x in train_loader:
        net(x)
"""


def test_the_cases_that_break_without_a_row() -> None:
    table = over_cases("dev1_loads", ("schedulers", "indices"))
    assert table["schedulers"].broken == ["dev1_loads::The state of a scheduler[0]"]
    assert (len(table["schedulers"].made), len(table["schedulers"].withheld)) == (0, 1)
    assert not table.get("indices") or not table["indices"].broken


def test_labelled_findings_that_a_row_makes(tmp_path: Path) -> None:
    (tmp_path / "run.py").write_text(RUN)
    label = Label(("owner/name", "1", "run.py", 6, "DEV201"), ("true",), "true", "so")
    table = over_labels(tmp_path, [label], ("loaders", "models"))
    assert table["loaders"].labels == {"made true": 1}
    assert not table["models"].labels if "models" in table else True
