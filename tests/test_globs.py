"""Patterns in gitignore's notation: what they match, and that none takes long to say so."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from devlint.config.globs import Lines
from devlint.config.patterns import is_pattern

# No range: those of pathspec match a slash, which those of git and ours don't.
PATTERNS = st.text("ab*?/ !", min_size=1, max_size=9).filter(
    lambda text: is_pattern(text) and "//" not in text
)
NAMES = st.text("abc!", min_size=1, max_size=4)
PATHS = st.builds(
    lambda names, end: "/".join(names) + end,
    st.lists(NAMES, min_size=1, max_size=5),
    st.sampled_from(["", "/"]),
)


@settings(max_examples=400, deadline=None)
@given(st.lists(PATTERNS, min_size=1, max_size=4), PATHS)
def test_lines_decide_as_those_of_pathspec(lines: list[str], path: str) -> None:
    expected = GitIgnoreSpec.from_lines(lines).check_file(path).include
    assert Lines(tuple(lines)).decide(path) is expected


def ignored_by_git(folder: Path, lines: Iterable[str], paths: list[str]) -> set[str]:
    folder.joinpath(".gitignore").write_text("\n".join(lines) + "\n")
    asked = subprocess.run(
        ["git", "check-ignore", "--no-index", "--stdin"],
        cwd=folder,
        input="\n".join(paths),
        capture_output=True,
        text=True,
    )
    return set(asked.stdout.splitlines())


PATHS_OF_GIT = ["a", "b", "ab", "aab", "acab", "a/b", "a/ab", "a/c/b", "c/a/b", "a/c/c/ab", "b/a-b"]


@pytest.mark.skipif(shutil.which("git") is None, reason="compares with git")
@pytest.mark.parametrize(
    "line",
    "a*b *a*b* **/b a/**/b a/** /a* */b [!a]*b a[!c]b ?b \\a* c/".split(),
)
def test_a_line_ignores_what_git_ignores(tmp_path: Path, line: str) -> None:
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    lines = Lines((line,))
    assert {path for path in PATHS_OF_GIT if lines.decide(path)} == ignored_by_git(
        tmp_path, [line], PATHS_OF_GIT
    )


HARD = {
    "many stars": "*a" * 100 + "b",
    "stars side by side": "*" * 200 + "b",
    "stars and any characters": "?*" * 90 + "b",
    "ranges": "[a]*" * 90 + "b",
    "escapes": r"\a*" * 90 + "b",
    "folders": "**/a*/" * 60 + "b",
    "folders in the middle": "/a" + "/**/a" * 500 + "/b",
    "as long as a path": "*a" * 2000 + "b",
    "longer than any path": "*a" * 50_000 + "b",
    "longer than any path, in ranges": "[a]*" * 25_000 + "b",
}
LONG = ["a" * 200, "a" * 4096, "a/" * 2048, ("a" * 20 + "/") * 195, "a" * 4095 + "c"]


@pytest.mark.parametrize("pattern", HARD.values(), ids=HARD)
def test_no_pattern_takes_long(pattern: str) -> None:
    lines = Lines((pattern,))
    before = time.process_time()
    assert [lines.decide(path) for path in LONG] == [None] * len(LONG)
    assert time.process_time() - before < 5


@pytest.mark.parametrize("line", ["/build/{}.py", "file{}", "*.x{}", "!lib/**/part{}.*"])
def test_a_hundred_thousand_lines_take_seconds(line: str) -> None:
    before = time.process_time()
    lines = Lines(tuple(line.format(number) for number in range(100_000)))
    assert not any(lines.decide(f"src/module{number}.py") for number in range(3))
    assert time.process_time() - before < 10


def test_a_range_that_ends_before_it_starts_matches_nothing() -> None:
    assert Lines(("[z-a]*", "*.txt")).decide("z.txt") is True
    assert Lines(("[z-a]*",)).decide("z.txt") is None


def test_an_escaped_slash_is_a_slash_as_with_git() -> None:
    lines = Lines((r"\#x\/*.py", r"a\\/b*"))
    assert lines.decide("#x/a.py") is True
    assert lines.decide("#x.py") is None
    assert lines.decide("a\\/b") is True
