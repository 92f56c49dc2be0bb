"""Facts as data, for who changes the interpreter."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from devlint.cli import main
from devlint.config.settings import Settings
from devlint.driver.dumping import Record, facts_of

MODEL = """\
import torch

def add(x, device=None):
    y = torch.ones(3).to("cuda:1")
    if x.any():
        y = torch.zeros(2, 2)
    return torch.zeros(2, 2) + y.cpu(), torch.ones(3, device=device) + y.cuda(0)
"""


def facts(text: str, kind: str, filename: str = "a.py") -> list[Record]:
    found = facts_of(text.encode(), filename, Settings())
    return [each for each in found if each["type"] == kind]


def test_a_fact_has_its_place_and_what_is_known_of_its_operands() -> None:
    text = "import torch\nx = torch.zeros(3).cuda()\n\nä = x + torch.ones(3)\n"
    (join,) = facts(text, "Join")
    assert join["at"] == "4:5-4:22"
    assert join["op"] == "+"
    assert join["context"] == {"function": "", "role": "PLAIN", "guard": "NONE"}
    moved, made = join["placed"]
    assert (moved["text"], moved["at"], moved["place"], moved["kind"], moved["origin"]) == (
        "x",
        "4:5-4:6",
        "cuda",
        "TENSOR",
        "MOVED",
    )
    assert [step["at"] for step in moved["trace"]] == ["2:5-2:19", "2:5-2:26"]
    assert all(step["message"] for step in moved["trace"])
    assert (made["place"], made["origin"]) == ("cpu", "DEFAULT")


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("device", {"symbol": "device"}),
        ("'cuda' if torch.cuda.is_available() else 'cpu'", {"yes": "cuda", "no": "cpu"}),
        ("torch.device('cuda', 1)", "cuda:1"),
        ("some()", "unknown"),
    ],
)
def test_a_place_is_told_as_it_is_known(name: str, place: Any) -> None:
    text = f"import torch\n\ndef f(device, some):\n    y = torch.ones(3).to({name})\n"
    found = next(each for each in facts(text, "Move") if each["method"] == "to")["device"]
    if isinstance(found, dict) and "if" in found:
        assert "is_available" in found.pop("if")
    assert found == place


def test_facts_stand_in_the_order_of_the_text() -> None:
    found = facts_of(MODEL.encode(), "a.py", Settings())
    places = [[int(part) for part in each["at"].partition("-")[0].split(":")] for each in found]
    assert places == sorted(places)
    assert len({each["type"] for each in found}) > 2


def test_what_is_seen_in_another_file_has_its_path(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "helper.py").write_text("def add(a, b):\n    return a + b\n")
    main_file = tmp_path / "main.py"
    text = "import torch\nfrom helper import add\n\nadd(torch.ones(3), torch.ones(3).cuda())\n"
    (led,) = facts(text, "Elsewhere", str(main_file))
    assert led["at"] == "4:1-4:41"
    assert led["function"] == "add"
    assert led["fact"]["type"] == "Join"
    assert led["fact"]["at"] == f"{tmp_path / 'helper.py'}:2:12-2:17"


def dumped(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> tuple[int, list[dict[str, Any]], str]:
    code = main(["check", "--isolated", "--dump-facts", *words])
    printed = capsys.readouterr()
    return code, json.loads(printed.out), printed.err


def test_the_option_prints_all_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, text in (("a.py", MODEL), ("b.py", "x = 1\n"), ("c.py", "def f(:\n")):
        (tmp_path / name).write_text("import torch\n" + text)
    code, files, errors = dumped([str(tmp_path)], capsys)
    assert code == 2
    assert "c.py: " in errors
    assert [Path(each["filename"]).name for each in files] == ["a.py", "b.py"]
    assert {"Move", "ApiCall"} <= {fact["type"] for fact in files[0]["facts"]}
    assert files[1]["facts"] == []


def test_nothing_to_dump_is_an_empty_array(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert dumped([str(tmp_path)], capsys)[:2] == (0, [])


def test_it_is_no_option_for_users(capsys: pytest.CaptureFixture[str]) -> None:
    main(["help", "check"])
    assert "dump" not in capsys.readouterr().out
