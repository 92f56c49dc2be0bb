"""`devlint why`: what is known at a line, and what becomes of it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from literate import page_cases

from devlint.cli import main
from devlint.config import rulebook
from devlint.config.settings import Settings, check_layer, merge
from devlint.lint import check_source
from devlint.why.inspection import REASONS, Why, why

NET = """\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x: torch.Tensor):
        bias = torch.zeros(3)
        return x + bias
"""


def settings(**values: object) -> Settings:
    """Settings as a configuration file would give them; all rules unless it says otherwise."""
    keys = {
        "select": ["ALL"],
        "pedantic": True,
        **{key.replace("_", "-"): value for key, value in values.items()},
    }
    return merge([check_layer("settings", "", keys)])


def ask(text: str, part: str, filename: str = "train.py", **values: object) -> Why:
    """What is known at the first line that has a part."""
    row = next(n for n, line in enumerate(text.splitlines(), start=1) if part in line)
    return why(text.encode(), filename, settings(**values), row)


def withheld(answer: Why) -> set[tuple[str, str]]:
    return {(each.code, each.withheld_by) for each in answer.findings}


def test_values_have_places_and_the_steps_that_led_there() -> None:
    answer = ask(NET, "return x")
    bias = next(each for each in answer.known if each.expression == "bias")
    assert (bias.kind, bias.place) == ("tensor", "cpu")
    assert [(step.at.row, step.message) for step in bias.steps] == [
        (7, "made without `device=` here: on the CPU")
    ]
    assert answer.source == "return x + bias"


def test_a_slice_is_no_value() -> None:
    text = "import torch\nx = torch.ones(3, 4)\ny = x[1:, None], x[:2]\n"
    known = [each.expression for each in ask(text, "y =").known]
    assert "x[1:, None]" in known
    assert not {"1:", ":2", "(1:, None)"} & set(known)


def test_contracts_say_what_meets_and_how_that_ends() -> None:
    (contract,) = ask(NET, "return x").contracts
    assert (contract.operation, contract.outcome) == ("+", "differ")
    assert [operand.expression for operand in contract.operands] == ["x", "bias"]
    same = NET.replace("torch.zeros(3)", "torch.zeros(3, device=x.device)")
    assert [each.outcome for each in ask(same, "return x").contracts] == ["agree"]


@pytest.mark.parametrize(
    ("call", "operation"),
    [
        ("x.add(y)", "add"),
        ("torch.nn.functional.mse_loss(x, y)", "F.mse_loss"),
        ("torch.sparse_coo_tensor(x, y)", "sparse_coo_tensor"),
        ("torch.distributions.Normal(x, 1.0).log_prob(y)", "log_prob"),
    ],
)
def test_operations_have_short_names(call: str, operation: str) -> None:
    text = f"import torch\n\ndef run(x: torch.Tensor, y: torch.Tensor):\n    return {call}\n"
    assert operation in {each.operation for each in ask(text, "return").contracts}


def test_what_is_looked_at_twice_is_told_once() -> None:
    text = (
        "import torch\n\ndef pick():\n    x = torch.zeros(3, device='hpu')\n"
        "    y = torch.ones(3)\n    if (x + y).device == 'cpu':\n        return x\n"
        "    return isinstance(y, torch.Tensor)\n"
    )
    assert withheld(ask(text, "== ")) == {("DEV202", ""), ("DEV305", "")}
    assert [each.expression for each in ask(text, "isinstance").known] == ["y"]


def test_a_finding_that_is_shown_has_nothing_that_withholds_it() -> None:
    assert withheld(ask(NET, "torch.zeros")) == {("DEV203", "")}


def test_what_a_call_brings_is_told_beside_what_the_function_knows_itself() -> None:
    text = (
        "import torch\n\ndef double(x):\n    return torch.add(x, x)\n\n"
        "def run():\n    return double(torch.ones(3, device='cuda'))\n"
    )
    answer = ask(text, "torch.add")
    places = {(each.place, tuple(call.row for call in each.called_from)) for each in answer.known}
    assert ("cuda", (7,)) in places
    assert answer.callers == (("x", "may be on an accelerator"),)


@pytest.mark.parametrize(
    ("text", "part", "expected"),
    [
        (NET.replace("zeros(3)", "zeros(3)  # devlint: ignore[DEV203]"), "zeros", "suppressed"),
        (
            "import pytest\nimport torch\n\nmodel = torch.nn.Linear(2, 2).cuda()\n"
            "with pytest.raises(RuntimeError):\n    model(torch.ones(2, 2))\n",
            "model(torch",
            "expected-error",
        ),
        (
            "import torch\n\ndef stats(x: torch.Tensor, device):\n    print(x.numpy())\n"
            "    return x + torch.ones(3)\n",
            "return x",
            "calls-from-host",
        ),
        (
            "import torch\n\nclass Net(torch.nn.Module):\n    def __init__(self):\n"
            "        super().__init__()\n        self.fc = torch.nn.Linear(3, 3)\n\n"
            "    def predict(self, x):\n        return self.fc(x).detach().numpy()\n",
            "return self",
            "calls-from-host",
        ),
        (
            "import torch\n\nif torch.cuda.is_available():\n    torch.cuda.synchronize()\n",
            "synchronize",
            "guard",
        ),
    ],
)
def test_what_withholds_a_finding_is_named(text: str, part: str, expected: str) -> None:
    found = withheld(ask(text, part))
    assert expected in {by for _, by in found}
    assert "" not in {by for _, by in found}
    shown = {each.code for each in check_source(text.encode(), "train.py", settings())}
    assert not shown & {code for code, by in found if by == expected}


def test_a_rule_that_is_off_is_told_of() -> None:
    assert withheld(ask(NET, "torch.zeros", ignore=["DEV203"])) == {("DEV203", "not-selected")}


def test_what_a_file_is_for_withholds_findings() -> None:
    text = (
        "import torch\n\nclass Words:\n    def __getitem__(self, i):\n"
        "        return torch.ones(3).cuda()\n"
    )
    plain = {each.code for each in ask(text, "cuda()").findings if not each.withheld_by}
    for_data = ask(text, "cuda()", filename="datasets/words.py")
    gone = {each.code for each in for_data.findings if each.withheld_by == "role"}
    assert gone == plain - {each.code for each in for_data.findings if not each.withheld_by}


@pytest.mark.parametrize("page", [pytest.param(p, id=p.code) for p in rulebook.pages().values()])
def test_it_shows_what_is_found(page: rulebook.Page) -> None:
    """What a page's first example reports is among the findings of the line, and shown."""
    case = next((each for each in page_cases(page) if each.errors), None)
    if case is None or page.code in ("DEV001", "DEV002", "DEV003"):
        return  # these are about the file, and its comments
    data = case.source.encode()
    for finding in check_source(data, "example.py", case.settings):
        answer = why(data, "example.py", case.settings, finding.span.row)
        shown = [(each.code, each.message) for each in answer.findings if not each.withheld_by]
        assert (finding.code, finding.message) in shown


# --- how to settle it ------------------------------------------------------------------------


def test_an_annotation_is_advised_and_settles_it() -> None:
    text = "import torch\n\ndef shift(x):\n    y = torch.ones(3)\n    return torch.add(y, x)\n"
    answer = ask(text, "return")
    assert [each.outcome for each in answer.contracts] == ["unknown"]
    assert answer.advice == ("annotate the parameter: x: torch.Tensor",)
    settled = ask(text.replace("shift(x)", "shift(x: torch.Tensor)"), "return")
    assert [each.outcome for each in settled.contracts] == ["differ"]
    assert settled.advice == ()


def test_a_row_is_advised_and_settles_it() -> None:
    text = (
        "import torch\nimport mylib\n\ndef run():\n    y = torch.ones(3, device='cuda')\n"
        "    z = mylib.noise(3)\n    return torch.add(y, z)\n"
    )
    answer = ask(text, "return")
    row = '"mylib.noise" = { effect = "create", device = "device" }'
    assert answer.advice == (
        f"say what `mylib.noise` returns in [tool.devlint.torchapi], for example: {row}",
    )
    rows = {"mylib.noise": {"effect": "create", "device": "device"}}
    settled = ask(text, "return", torchapi=rows)
    assert [each.outcome for each in settled.contracts] == ["differ"]


def test_a_class_of_a_row_makes_tensors() -> None:
    text = (
        "import mylib\nimport torch\n\n"
        "points = mylib.Points([1.0], device='cuda') + torch.ones(3)\n"
    )
    rows = {"mylib.Points": {"effect": "construct", "kind": "tensor", "device": "device"}}
    assert [each.outcome for each in ask(text, "Points", torchapi=rows).contracts] == ["differ"]


def test_a_setting_is_advised_and_settles_it(tmp_path: Path) -> None:
    (tmp_path / "noise.py").write_text("import torch\n\ndef noise(n):\n    return torch.ones(n)\n")
    text = (
        "import torch\nimport noise\n\ndef run():\n    y = torch.ones(3, device='cuda')\n"
        "    z = noise.noise(3)\n    return torch.add(y, z)\n"
    )
    train = str(tmp_path / "train.py")
    answer = ask(text, "return", filename=train, follow_imports=False)
    advice = "if `noise.noise` is part of the project, let devlint read it: follow-imports = true"
    assert advice in answer.advice
    settled = ask(text, "return", filename=train)
    assert [each.outcome for each in settled.contracts] == ["differ"]


# --- the page --------------------------------------------------------------------------------

PAGE = Path(__file__).parents[1] / "docs" / "why.md"


def test_the_page_shows_what_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name, source in re.findall(r"```python (\S+)\n(.*?)```", text, re.DOTALL):
        (tmp_path / name).write_text(source)
    monkeypatch.chdir(tmp_path)
    shown = re.findall(r"```console\n\$ devlint why (\S+)\n(.*?)```", text, re.DOTALL)
    assert len(shown) == 3
    for place, output in shown:
        assert main(["why", place]) == 0
        assert capsys.readouterr().out == output
    assert [line for line in text.splitlines() if line.startswith("- `")] == [
        f"- `{by}`: {reason}" for by, reason in REASONS.items()
    ]


# --- the command -----------------------------------------------------------------------------


def test_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "net.py"
    path.write_text(NET)
    assert main(["why", "--isolated", f"{path}:7"]) == 0
    out = capsys.readouterr().out
    assert "torch.zeros(3): tensor on cpu" in out
    assert "line 7  made without `device=` here: on the CPU" in out
    assert "DEV203" in out
    assert "(shown)" in out


def test_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "net.py"
    path.write_text(NET.replace("zeros(3)", "zeros(3)  # noqa"))
    assert main(["why", "--isolated", "--output-format", "json", f"{path}:7"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["place"] == {"path": str(path), "row": 7, "cell": None}
    assert {each["withheld_by"] for each in found["findings"]} == {"suppressed"}
    assert {each["reason"] for each in found["findings"]} == {REASONS["suppressed"]}


def test_one_column(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "net.py"
    path.write_text(NET)
    main(["why", "--isolated", "--output-format", "json", f"{path}:8:16"])
    known = json.loads(capsys.readouterr().out)["known"]
    assert [each["expression"] for each in known] == ["x", "x + bias"]


def test_columns_count_characters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "net.py"
    path.write_text('import torch\n\n"é🙂漢"; x = torch.zeros(3); y = torch.ones(2)\n', "utf-8")
    column = path.read_text("utf-8").splitlines()[2].index("torch.ones") + 1
    for place, expression in ((column, "torch.ones(2)"), (column - 18, "torch.zeros(3)")):
        main(["why", "--isolated", "--output-format", "json", f"{path}:3:{place}"])
        known = json.loads(capsys.readouterr().out)["known"]
        assert [each["expression"] for each in known] == [expression]


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("net.py", "not of the form FILE:LINE[:COL]"),
        ("net.py:0", "not of the form FILE:LINE[:COL]"),
        ("gone.py:3", "gone.py: no such file or directory"),
        ("broken.py:1", "broken.py:1: "),
        (".:1", ".: it is not a plain file"),
    ],
)
def test_a_place_that_cannot_be_read(
    place: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.py").write_text(NET)
    (tmp_path / "broken.py").write_text("def (:\n")
    assert main(["why", place]) == 2
    error = capsys.readouterr().err
    assert said.lower() in error.lower()
    assert "Traceback" not in error


def test_a_line_without_anything(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "net.py"
    path.write_text(NET)
    for row in (3, 900):
        assert main(["why", "--isolated", f"{path}:{row}"]) == 0
        assert "nothing on this line has to do with devices" in capsys.readouterr().out


def test_a_bug_of_devlint_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise RecursionError("too\ndeep")

    monkeypatch.setattr("devlint.cli.why.ask", broken)
    (tmp_path / "net.py").write_text(NET)
    assert main(["why", "--isolated", f"{tmp_path / 'net.py'}:3"]) == 2
    error = capsys.readouterr().err
    assert error.endswith("net.py: internal error: RecursionError: too deep\n")
    assert "Traceback" not in error
