"""Fixes that hold are kept, others are taken back; files are replaced in one step."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from devlint.fix.applying import Across, FixResult, fix_across, fix_source
from devlint.fix.patches import unified_diff
from devlint.model.findings import Edit, Finding, Fix, Level, Safety
from devlint.model.spans import LineIndex
from devlint.project.neighbours import Neighbours, unsaved
from devlint.source.encoding import decode

Repair = Callable[[re.Match[str]], list[tuple[int, int, str]]]
Rule = tuple[str, str, "Repair | None", Safety]


def replaced_by(content: str) -> Repair:
    return lambda match: [(match.start(), match.end(), content)]


class Rules:
    """A linter for tests: a code for each occurrence of a pattern, with the fix of the rule."""

    def __init__(self, *rules: Rule) -> None:
        self.rules = rules
        self.calls = 0

    def __call__(self, data: bytes, filename: str, settings: None) -> list[Finding]:
        self.calls += 1
        text = decode(data).text
        index = LineIndex(text)
        found = []
        for code, pattern, repair, safety in self.rules:
            for match in re.finditer(pattern, text):
                edits = [
                    Edit(index.span(start, end), content)
                    for start, end, content in (repair(match) if repair else [])
                ]
                fix = Fix("repair", safety, tuple(edits)) if repair else None
                where = index.span(*match.span())
                found.append(Finding(filename, code, "x", code, Level.ERROR, where, fix=fix))
        return sorted(found, key=lambda finding: finding.span.start)


def fix(data: bytes | str, *rules: Rule, unsafe: bool = False) -> FixResult:
    source = data.encode() if isinstance(data, str) else data
    result = fix_source(source, "a.py", None, unsafe, Rules(*rules))
    again = fix_source(result.data, "a.py", None, unsafe, Rules(*rules))
    assert again.data == result.data, "a second run changes nothing"
    return result


SAFE, UNSAFE = Safety.SAFE, Safety.UNSAFE
BAD_TOO = ("DEV3", "too", replaced_by("good"), SAFE)
BAD = ("DEV1", "bad", replaced_by("good"), SAFE)


def reasons(result: FixResult) -> list[str]:
    return [dropped.reason for dropped in result.dropped]


def test_all_fixes_are_applied_in_one_pass() -> None:
    rules = Rules(BAD)
    result = fix_source(b"bad + bad\nbad\n", "a.py", None, False, rules)
    assert result.data == b"good + good\ngood\n"
    assert (len(result.applied), result.dropped, result.remaining) == (3, (), ())
    assert rules.calls == 2


def test_unsafe_fixes_are_applied_when_asked() -> None:
    rules = (BAD, ("DEV2", "risky", replaced_by("safe"), UNSAFE))
    assert fix("bad\nrisky\n", *rules).data == b"good\nrisky\n"
    assert fix("bad\nrisky\n", *rules, unsafe=True).data == b"good\nsafe\n"
    assert [finding.code for finding in fix("risky\n", *rules).remaining] == ["DEV2"]


def test_what_is_not_shown_is_not_fixed_but_may_not_come_of_a_fix() -> None:
    hidden = ("DEV2", "worse|odd", replaced_by("even"), SAFE)
    rules = Rules(("DEV1", "bad", replaced_by("worse"), SAFE), BAD_TOO, hidden)
    result = fix_source(
        b"bad\nbad + too\nodd\n", "a.py", None, False, rules, lambda found: found.code != "DEV2"
    )
    assert result.data == b"bad\nbad + good\nodd\n"
    assert [finding.code for finding in result.remaining] == ["DEV1", "DEV1"]
    assert all("DEV2 would appear" in reason for reason in reasons(result))


def test_overlapping_fixes_wait_for_the_next_pass() -> None:
    inner = ("DEV1", "a", replaced_by("b"), SAFE)
    outer = ("DEV2", r"f\((\w)\)", lambda m: [(m.start(), m.end(), f"g({m[1]})")], SAFE)
    result = fix("f(a)\n", inner, outer)
    assert result.data == b"g(b)\n"
    assert len(result.applied) == 2


def test_insertions_at_one_place_wait_for_each_other() -> None:
    first = ("DEV1", "(?<!not )x", lambda m: [(m.start(), m.start(), "not ")], SAFE)
    second = ("DEV2", "(?<!not )(?<!- )x", lambda m: [(m.start(), m.start(), "- ")], SAFE)
    assert fix("x\n", first, second).data == b"not x\n"


def test_a_fix_of_several_edits_is_applied_whole() -> None:
    def rounded(match: re.Match[str]) -> list[tuple[int, int, str]]:
        start, end = match.span()
        return [(start, start + 1, "("), (end - 1, end, ")")]

    both = ("DEV1", r"\[(\w)\]", rounded, SAFE)
    assert fix("[a] + [b]\n", both).data == b"(a) + (b)\n"


def test_a_fix_that_leaves_its_finding_is_dropped() -> None:
    result = fix("bad = 1\nfine\n", ("DEV1", "bad", replaced_by("bad"), SAFE))
    assert result.data == b"bad = 1\nfine\n"
    assert reasons(result) == ["DEV1 would stay"]
    assert [finding.code for finding in result.remaining] == ["DEV1"]


def test_a_fix_that_brings_a_new_finding_is_dropped() -> None:
    worse = ("DEV1", "bad", replaced_by("worse"), SAFE)
    result = fix("x\nbad\n", worse, ("DEV2", "worse", None, SAFE))
    assert result.data == b"x\nbad\n"
    assert reasons(result) == ["DEV2 would appear in row 2: DEV2"]


def test_a_fix_that_uncovers_the_next_mistake_is_applied_with_its_fix() -> None:
    first = ("DEV1", "bad", replaced_by("worse"), SAFE)
    second = ("DEV2", "worse", replaced_by("dire(x)"), SAFE)
    third = ("DEV1", r"dire\(x\)", replaced_by("good"), SAFE)
    result = fix("a\nbad + bad\n", first, second, third)
    assert result.data == b"a\ngood + good\n"
    assert [each.code for each in result.applied] == ["DEV1", "DEV2", "DEV1"] * 2
    unsafe = (*second[:3], UNSAFE)
    result = fix("a\nbad + bad\n", first, unsafe, third)
    assert result.data == b"a\nbad + bad\n"
    assert reasons(result) == ["DEV2 would appear in row 2: DEV2"] * 2
    assert fix("bad\n", first, unsafe, third, unsafe=True).data == b"good\n"


def test_a_chain_of_fixes_that_leads_nowhere_is_dropped_whole() -> None:
    first = ("DEV1", "bad", replaced_by("worse"), SAFE)
    back = ("DEV2", "worse", replaced_by("bad"), SAFE)
    assert fix("bad = 1\n", first, back).data == b"bad = 1\n"
    longer = ("DEV2", "worse+", lambda m: [(m.end(), m.end(), "e")], SAFE)
    assert reasons(fix("bad = 1\n", first, longer)) == ["DEV2 would appear in row 1: DEV2"]


def test_a_fix_that_breaks_the_syntax_is_dropped_though_no_rule_tells() -> None:
    result = fix("bad\n", ("DEV1", "bad", replaced_by("("), SAFE))
    assert result.data == b"bad\n"
    assert reasons(result) == ["the file would no longer parse"]


def test_bad_fixes_do_not_keep_good_ones_back() -> None:
    broken = ("DEV2", "odd", replaced_by(")"), SAFE)
    text = "bad\nodd\nbad\nbad\nodd\nbad\n"
    result = fix(text, BAD, broken)
    assert result.data == b"good\nodd\ngood\ngood\nodd\ngood\n"
    assert len(result.applied) == 4
    assert len(result.dropped) == 2


def test_overlapping_edits_within_one_fix_are_told() -> None:
    twice = ("DEV1", "bad", lambda m: [(m.start(), m.end(), "a"), (m.start(), m.end(), "b")], SAFE)
    assert "overlap" in reasons(fix("bad\n", twice))[0]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(b"bad\r\nbad\r\n", b"good\r\ngood\r\n", id="crlf"),
        pytest.param(b"bad\rbad", b"good\rgood", id="cr, no end"),
        pytest.param(b"\xef\xbb\xbfbad\n", b"\xef\xbb\xbfgood\n", id="byte order mark"),
        pytest.param(
            b"# coding: latin-1\n'\xe9'; bad\n", b"# coding: latin-1\n'\xe9'; good\n", id="latin-1"
        ),
        pytest.param("'日本👍'; bad\n".encode(), "'日本👍'; good\n".encode(), id="wide"),
        pytest.param(b"x = 1\x0c\nbad\n", b"x = 1\x0c\ngood\n", id="form feed"),
    ],
)
def test_bytes_around_a_fix_stay(before: bytes, after: bytes) -> None:
    assert fix(before, BAD).data == after


def test_new_lines_end_like_the_file() -> None:
    longer = ("DEV1", "bad", replaced_by("a\nb"), SAFE)
    assert fix(b"bad\r\n", longer).data == b"a\r\nb\r\n"


def test_a_fix_that_the_encoding_lacks_is_dropped() -> None:
    data = b"# coding: latin-1\nbad\n"
    result = fix(data, ("DEV1", "bad", replaced_by("'日'"), SAFE))
    assert result.data == data
    assert reasons(result) == ["the encoding of the file lacks its characters"]


# --- diff ----------------------------------------------------------------------------------


def test_no_change_is_no_diff() -> None:
    assert unified_diff(b"a\n", b"a\n", "a.py") == b""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"a\nb\nc\n", b"a\nB\nc\n"),
        (b"a\r\nb\r\n", b"a\r\nB\r\n"),
        (b"a\nb", b"a\nB"),
        (b"a\nb", b"a\nb\n"),
        (b"x\x0c = 1\nb\n", b"x\x0c = 2\nb\n"),
        (b"\xef\xbb\xbfa\n", b"\xef\xbb\xbfb\n"),
    ],
)
@pytest.mark.parametrize("command", [["git", "apply", "-p0"], ["patch", "-p0", "--binary"]])
def test_a_diff_can_be_applied(tmp_path: Path, old: bytes, new: bytes, command: list[str]) -> None:
    if shutil.which(command[0]) is None:
        command = ["git", "apply", "-p0"]
    path = tmp_path / "a.py"
    path.write_bytes(old)
    diff = unified_diff(old, new, "a.py")
    (tmp_path / "a.diff").write_bytes(diff)
    with (tmp_path / "a.diff").open("rb") as file:
        subprocess.run(command, stdin=file, cwd=tmp_path, check=True, capture_output=True)
    assert path.read_bytes() == new


# --- in another file -----------------------------------------------------------------------


class Calls:
    """A linter for tests: `call` is wrong in a file while another one says "bad", where it is
    fixed by `content`; and "worse" is wrong wherever it stands."""

    def __init__(self, content: str) -> None:
        self.content = content

    def __call__(self, data: bytes, filename: str, settings: None) -> list[Finding]:
        text = data.decode()
        index = LineIndex(text)
        found = [
            Finding(filename, "DEV2", "x", "worse", Level.ERROR, index.span(*match.span()))
            for match in re.finditer("worse", text)
        ]
        if filename == "a.py":
            there = read_unsaved("b.py")
            for match in re.finditer("bad", there):
                edit = Edit(LineIndex(there).span(*match.span()), self.content)
                fix = Fix("repair", UNSAFE, (edit,), "b.py")
                at = index.span(0, 4)
                found.append(Finding(filename, "DEV1", "x", "bad", Level.ERROR, at, fix=fix))
        return found


def read_unsaved(path: str) -> str:
    script = Neighbours(1000).script(path)
    return "" if script is None else script.text


def across(b: str, content: str) -> Across:
    check = Calls(content)
    data = b"call()\n"
    there = {"a.py": data, "b.py": b.encode()}
    with unsaved(there):
        (finding,) = (each for each in check(data, "a.py", None) if each.code == "DEV1")
        return fix_across(finding, {"a.py": data}, None, check, there.__getitem__)


def test_a_fix_in_another_file_clears_the_finding() -> None:
    done = across("x = bad\n", "good")
    assert done.texts == {"a.py": b"call()\n", "b.py": b"x = good\n"}
    assert ([each.code for each in done.applied], done.remaining, done.reason) == (["DEV1"], (), "")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("worse", "DEV2 would appear in row 1: worse"),
        ("bad", "DEV1 would stay"),
        (")", "the file would no longer parse"),
    ],
)
def test_a_fix_in_another_file_is_left_out(content: str, reason: str) -> None:
    done = across("x = bad\n", content)
    assert (done.reason, done.applied, done.texts["b.py"]) == (reason, (), b"x = bad\n")


def test_a_text_that_is_not_on_disk_counts_for_the_other_file() -> None:
    class Told(Calls):
        """Something is wrong in `b.py` as long as `a.py` calls it."""

        def __call__(self, data: bytes, filename: str, settings: None) -> list[Finding]:
            found = super().__call__(data, filename, settings)
            if filename == "b.py" and "call" in read_unsaved("a.py"):
                at = LineIndex(data.decode()).span(0, 1)
                found.append(Finding(filename, "DEV3", "x", "called", Level.ERROR, at))
            return found

    check, there = Told("good"), {"a.py": b"pass\n", "b.py": b"x = bad\n"}
    with unsaved(there):
        (finding,) = check(b"call()\n", "a.py", None)
        done = fix_across(finding, {"a.py": b"call()\n"}, None, check, there.__getitem__)
    assert (done.texts["b.py"], done.reason) == (b"x = good\n", "")


def test_what_another_fix_has_cleared_is_gone() -> None:
    texts = {"a.py": b"call()\n"}
    finding = Finding("a.py", "DEV1", "x", "bad", Level.ERROR, LineIndex("call()").span(0, 4))
    with unsaved({"b.py": b"x = good\n"}):
        done = fix_across(finding, texts, None, Calls("good"), lambda path: b"")
    assert (done.applied, done.remaining, done.reason) == ((finding,), (), "")


def test_a_file_by_itself_is_not_fixed_in_another_one() -> None:
    with unsaved({"b.py": b"x = bad\n"}):
        done = fix_source(b"call()\n", "a.py", None, True, Calls("good"))
    assert (done.data, done.applied, done.dropped) == (b"call()\n", (), ())
    assert [each.code for each in done.remaining] == ["DEV1"]
