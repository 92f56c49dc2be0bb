"""The harness of the Markdown tests tells of what it should."""

from __future__ import annotations

from pathlib import Path

import pytest
from literate import Case, file_cases, page_cases, problems

from devlint.config.rulebook import find

CUDA = "import torch\n\nx = torch.zeros(3)\ny = x.cuda()"


def cases(folder: Path, text: str) -> list[Case]:
    path = folder / "sample.md"
    path.write_text(text, encoding="utf-8")
    return file_cases(path)


def told(folder: Path, source: str, kind: str = "", select: str = '["DEV101"]') -> list[str]:
    """What is wrong with one block, places cut off."""
    options = f"```toml\nselect = {select}\n```\n"
    [case] = cases(folder, f"# A\n{options}```python {kind}\n{source}\n```\n")
    return [problem.partition(": ")[2] for problem in problems(case)]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (f"{CUDA}  # error: [DEV101]", []),
        (f"{CUDA}  # error: [DEV101] `x.cuda()` runs", []),
        (
            f"{CUDA}  # error: [DEV101] other words",
            ["unexpected: [DEV101]", "missing: [DEV101] other"],
        ),
        (f"{CUDA}  # error: [DEV102]", ["unexpected: [DEV101]", "missing: [DEV102]"]),
        (CUDA, ["unexpected: [DEV101]"]),
        (f"{CUDA}  # error: [DEV101]  # error: [DEV101]", ["missing: [DEV101]"]),
        ("x = 1  # error: [DEV101] text", ["missing: [DEV101] text"]),
        (f"{CUDA}; z = x.cuda()  # error: [DEV101] `x.cuda()` # error: [DEV101]", []),
    ],
)
def test_findings_are_announced_exactly(tmp_path: Path, source: str, expected: list[str]) -> None:
    found = told(tmp_path, source)
    assert len(found) == len(expected)
    assert all(said.startswith(start) for said, start in zip(found, expected, strict=True))


def test_places_are_those_of_the_markdown(tmp_path: Path) -> None:
    [case] = cases(tmp_path, f"# A\n\n```py\n{CUDA}\n```\n")
    assert f"{tmp_path / 'sample.md'}:7: unexpected: [DEV101]" in "\n".join(problems(case))


@pytest.mark.parametrize("kind", ["ok", "fixed"])
def test_quiet_blocks_announce_nothing(tmp_path: Path, kind: str) -> None:
    assert "announces nothing" in told(tmp_path, f"{CUDA}  # error: [DEV101]", kind)[0]


def test_error_blocks_announce_something(tmp_path: Path) -> None:
    assert "announces at least one" in told(tmp_path, "x = 1", "error")[0]


DISCARDED = "import torch\n\nx = torch.zeros(3)\nx.to('cuda')"


@pytest.mark.parametrize(
    ("source", "kind", "expected"),
    [
        (f"{DISCARDED}  # error: [DEV302]", "error pedantic", []),
        (f"{DISCARDED}  # error: [DEV302]", "pedantic", []),
        (f"{DISCARDED}  # error: [DEV302]", "error", ["[DEV302] needs `pedantic`: mark the block"]),
        (f"{DISCARDED}  # error: [DEV302]", "", ["[DEV302] needs `pedantic`: mark the block"]),
        (DISCARDED, "ok", ["unexpected: [DEV302]", "[DEV302] needs `pedantic`: mark the block"]),
        (f"{CUDA}  # error: [DEV101]", "error", []),
        (
            f"{CUDA}  # error: [DEV101]",
            "error pedantic",
            ["all of a block marked `pedantic` is found without"],
        ),
        ("x = 1", "pedantic", ["all of a block marked `pedantic` is found without"]),
    ],
)
def test_a_block_says_whether_it_needs_pedantic(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    source: str,
    kind: str,
    expected: list[str],
) -> None:
    monkeypatch.setattr("devlint.verdict.score.THRESHOLD", 100)
    found = told(tmp_path, source, kind, '["DEV101", "DEV302"]')
    assert len(found) == len(expected)
    assert all(said.startswith(start) for said, start in zip(found, expected, strict=True))


def test_what_is_withheld_may_not_show_without_pedantic(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("devlint.verdict.score.THRESHOLD", 100)
    monkeypatch.setattr("devlint.verdict.saying.is_certain", lambda number, least: True)
    found = told(tmp_path, f"{DISCARDED}  # error: [DEV302]", "error pedantic", '["DEV302"]')
    assert "shown without `pedantic`: [DEV302]" in found


@pytest.mark.parametrize(
    ("comment", "wrong"),
    [
        ("cpu", 0),
        ("tensor on cpu", 0),
        ("cuda", 2),
        ("module on cpu", 2),
    ],
)
def test_revealed_devices_are_compared(tmp_path: Path, comment: str, wrong: int) -> None:
    source = f"import torch\n\nreveal_device(torch.zeros(3))  # revealed: {comment}"
    assert len(told(tmp_path, source)) == wrong


def test_a_reveal_without_a_claim_is_told(tmp_path: Path) -> None:
    found = told(tmp_path, "import torch\n\nreveal_device(torch.zeros(3))")
    assert found == ["revealed: tensor on cpu"]


def test_a_malformed_claim_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"sample\.md:3: .*expected"):
        cases(tmp_path, "# A\n```python\nx  # error: DEV101\n```\n")


def test_options_hold_down_to_the_next_heading_of_their_depth(tmp_path: Path) -> None:
    block = "```python\nx = 1\n```\n"
    text = (
        f'# A\n```toml\nselect = ["DEV1"]\n```\n## B\n{block}'
        f'```toml\n[tool.devlint]\nignore = ["DEV103"]\n```\n{block}## C\n{block}# D\n{block}'
    )
    options = {case.id: dict(case.options) for case in cases(tmp_path, text)}
    assert options == {
        "sample::B[0]": {"select": ["DEV1"]},
        "sample::B[1]": {"select": ["DEV1"], "ignore": ["DEV103"]},
        "sample::C[0]": {"select": ["DEV1"]},
        "sample::D[0]": {},
    }


FIXABLE = "import torch\n\nx = torch.zeros(3)\nx.to('cuda')"


@pytest.mark.parametrize(
    ("fixed", "expected"),
    [
        (FIXABLE.replace("x.to", "x = x.to"), []),
        (FIXABLE.replace("x.to", "x =  x.to"), ["the fixes give another text"]),
    ],
)
def test_a_fixed_block_is_what_the_fixes_give(
    tmp_path: Path, fixed: str, expected: list[str]
) -> None:
    options = '```toml\nselect = ["DEV302"]\n```\n'
    error = f"```python error\n{FIXABLE}  # error: [DEV302]\n```\n"
    first, second = cases(tmp_path, f"# A\n{options}{error}```python fixed\n{fixed}\n```\n")
    found = [problem.partition(": ")[2] for problem in problems(first)]
    assert [said.split(":")[0] for said in found] == expected
    assert problems(second) == []


def test_a_fixed_block_wants_a_fix(tmp_path: Path) -> None:
    block = "```python error\nimport torch\n\ntorch.zeros(3).cuda(7)  # error: [DEV104]\n```\n"
    text = f'# A\n```toml\nselect = ["DEV104"]\n```\n{block}```python fixed\nimport torch\n```\n'
    first, _ = cases(tmp_path, text)
    (found,) = problems(first)
    assert found.endswith("no fix of DEV104, but a block `fixed`")


def test_pages_are_about_their_own_rule() -> None:
    page = find("DEV101")
    assert page is not None
    assert all(case.only is page and case.kind for case in page_cases(page))
