"""Reading rule pages, and what is said of malformed ones."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from devlint.config.rulebook import RulebookError, find, pages, read_page, read_sections
from devlint.model.findings import Level

FRONT = """\
+++
code = "DEV999"
name = "some-rule"
summary = "Something is odd"
level = "warning"
fix = "sometimes"
since = "0.1"
tags = ["odd"]
+++
"""

BODY = """\
## What it finds
Text.

````python error
x = '''
```python ok
## no heading
'''
````

## Example
~~~toml
a = 1
~~~
"""


def write(folder: Path, text: str, name: str = "some-rule.md") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_page(tmp_path: Path) -> None:
    page = read_page(write(tmp_path, FRONT + BODY))
    assert (page.code, page.name, page.summary) == ("DEV999", "some-rule", "Something is odd")
    assert (page.level, page.fix, page.since, page.tags) == (
        Level.WARNING,
        "sometimes",
        "0.1",
        ("odd",),
    )
    assert page.body == BODY
    assert page.url.endswith("/rules/some-rule.md")


def test_blocks_know_their_row_and_their_kind(tmp_path: Path) -> None:
    path = write(tmp_path, FRONT + BODY)
    lines = path.read_text(encoding="utf-8").split("\n")
    error, toml = read_page(path).blocks
    assert (error.language, error.kind) == ("python", "error")
    assert error.text == "x = '''\n```python ok\n## no heading\n'''\n"
    assert lines[error.row - 1] == "x = '''"
    assert (toml.language, toml.kind, lines[toml.row - 1]) == ("toml", "", "a = 1")


@pytest.mark.parametrize(
    ("info", "kind", "pedantic"),
    [
        ("python error", "error", False),
        ("python error pedantic", "error", True),
        ("py pedantic", "", True),
        ("python pedantic error", "", False),
        ("python errorpedantic", "", False),
        ("toml pedantic", "", False),
    ],
)
def test_a_block_may_say_that_it_needs_pedantic(info: str, kind: str, pedantic: bool) -> None:
    ((block,),) = (section.blocks for section in read_sections(f"```{info}\nx\n```\n"))
    assert (block.kind, block.pedantic) == (kind, pedantic)


def test_sections_have_depth_title_and_row() -> None:
    sections = read_sections("intro\n# A #\n\n### B `c`\n```\n# no\n```\n", first_row=10)
    assert [(s.title, s.depth, s.row, len(s.blocks)) for s in sections] == [
        ("A", 1, 11, 0),
        ("B `c`", 3, 13, 1),
    ]


def test_an_open_block_is_an_error() -> None:
    with pytest.raises(ValueError, match="row 3: the block is never closed"):
        read_sections("a\n\n```python\nx\n")


@pytest.mark.parametrize(
    ("old", "new", "row", "reason"),
    [
        ("+++\ncode", "code", 1, "starts with a line `+++`"),
        ("+++\n##", "##", 1, "no closing"),
        ('code = "DEV999"\n', "", 1, "lacks `code`"),
        ('"DEV999"', '"E1"', 2, "`code` must be DEV and three digits, not 'E1'"),
        ('"DEV999"', "999", 2, "`code` must be"),
        ('"some-rule"', '"other-rule"', 3, "the file is some-rule.md"),
        ('"some-rule"', '"Some Rule"', 3, "words joined by hyphens"),
        ('"Something is odd"', '""', 4, "`summary` must be"),
        ('"warning"', '"info"', 5, '`level` must be one of "error", "warning", "off"'),
        ('"sometimes"', '"often"', 6, '"never", "sometimes", "always"'),
        ('"0.1"', '"soon"', 7, "a version"),
        ('["odd"]', '"odd"', 8, "`tags` must be a list of strings"),
        ("tags", "tag", 8, "unknown key `tag`"),
        ("level = ", "level: ", 5, "line 4"),
    ],
)
def test_malformed_pages_are_named_with_the_line(
    tmp_path: Path, old: str, new: str, row: int, reason: str
) -> None:
    text = (FRONT + BODY).replace(old, new, 1)
    path = write(tmp_path, text)
    with pytest.raises(RulebookError) as caught:
        read_page(path)
    assert str(caught.value).startswith(f"{path}:{row}: ")
    assert reason in caught.value.reason


def test_two_pages_may_not_share_a_code(tmp_path: Path) -> None:
    write(tmp_path, FRONT)
    write(tmp_path, FRONT.replace("some-rule", "a-rule"), "a-rule.md")
    with pytest.raises(RulebookError, match=r"some-rule\.md:1: .*DEV999 is taken by a-rule\.md"):
        pages(tmp_path)


def test_a_missing_folder_and_an_unreadable_page_are_named(tmp_path: Path) -> None:
    with pytest.raises(RulebookError, match=r"none.*missing"):
        pages(tmp_path / "none")
    (tmp_path / "bad.md").write_bytes(b"+++\n\xff")
    with pytest.raises(RulebookError, match=r"bad\.md:1: can't be read"):
        pages(tmp_path)


def test_pages_are_in_the_order_of_their_codes(tmp_path: Path) -> None:
    write(tmp_path, FRONT)
    write(tmp_path, FRONT.replace("some-rule", "z").replace("DEV999", "DEV998"), "z.md")
    assert [page.code for page in pages(tmp_path).values()] == ["DEV998", "DEV999"]


@pytest.mark.parametrize("word", ["DEV101", "dev101", "hardcoded-cuda-call"])
def test_find(word: str) -> None:
    page = find(word)
    assert page is not None
    assert (page.code, page.name) == ("DEV101", "hardcoded-cuda-call")


def test_find_nothing() -> None:
    assert find("DEV000") is None


def test_reading_pages_needs_neither_parser_nor_terminal() -> None:
    code = (
        "import sys; sys.path[:0] = [sys.argv[1]]\n"
        "from devlint.config.rulebook import pages\nassert pages()\n"
        "assert not {'libcst', 'rich', 'torch'} & set(sys.modules)"
    )
    source = str(Path(__file__).parents[1] / "src")
    subprocess.run([sys.executable, "-c", code, source], check=True)
