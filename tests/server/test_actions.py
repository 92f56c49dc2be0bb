"""Fixes and comments, as the command gives them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pygls")

from driver.test_fix_across import FIXED, LOSSES, TRAIN
from lsprotocol import types as lsp
from server.editor import BOTH, GPU, WORDS, capabilities, driven, editing, placed


def by_command(folder: Path, text: str, *words: str) -> str:
    """What `devlint` makes of a text on its standard input."""
    command = [
        sys.executable,
        "-m",
        "devlint",
        "--no-cache",
        *WORDS,
        "--stdin-filename",
        "a.py",
        *words,
        "-",
    ]
    done = subprocess.run(command, input=text.encode(), capture_output=True, cwd=folder)
    return done.stdout.decode()


@driven
async def test_fixes_give_what_the_command_gives(tmp_path: Path) -> None:
    uri = (tmp_path / "a.py").as_uri()
    async with editing(tmp_path) as editor:
        editor.open(uri, BOTH)
        offered = await editor.actions(uri, (0, 0), (7, 0))
        assert list(offered) == [
            "Fix: Insert `.cpu()`",
            "Ignore DEV205 here",
            "Fix: Make it on `x.device` (unsafe)",
            "Ignore DEV202 here",
            "Fix: Write `cuda` (unsafe)",
            "Ignore DEV304 here",
            "Fix: remove the comment",
            "devlint: fix all safe problems",
        ]
        preferred = [title for title, each in offered.items() if each.is_preferred]
        assert preferred == ["Fix: Insert `.cpu()`", "Fix: remove the comment"]
        assert all(each.edit is None for each in offered.values())
        everything = await editor.resolved(offered["devlint: fix all safe problems"])
        assert editor.applied(everything) == {uri: by_command(tmp_path, BOTH, "--fix")}
        ones = [await editor.resolved(offered[t]) for t in offered if t.startswith("Fix")]
        fixed = BOTH
        for action in ones:
            (edit,) = action.edit.document_changes[0].edits  # type: ignore[union-attr, index]
            assert edit.range.start.line == edit.range.end.line
            before = BOTH.splitlines()[edit.range.start.line]
            after = editor.applied(action)[uri].splitlines()[edit.range.start.line]
            fixed = fixed.replace(before, after)
        assert fixed == by_command(tmp_path, BOTH, "--fix", "--unsafe-fixes")


@driven
async def test_actions_are_those_of_the_place_and_the_kind(tmp_path: Path) -> None:
    uri = (tmp_path / "a.py").as_uri()
    async with editing(tmp_path) as editor:
        editor.open(uri, BOTH)
        here = await editor.actions(uri, (3, 6), (3, 6), "quickfix")
        assert list(here) == ["Fix: Insert `.cpu()`", "Ignore DEV205 here"]
        (diagnostic,) = here["Ignore DEV205 here"].diagnostics or ()
        assert (diagnostic.code, placed(diagnostic)) == ("DEV205", (3, 4, 3, 13))
        on_save = await editor.actions(uri, (0, 0), (6, 0), "source.fixAll")
        assert [each.kind for each in on_save.values()] == ["source.fixAll.devlint"]
        assert await editor.actions(uri, (0, 0), (6, 0), "refactor") == {}


@driven
async def test_an_editor_that_does_not_resolve_gets_the_edits_at_once(tmp_path: Path) -> None:
    uri = (tmp_path / "a.py").as_uri()
    async with editing(tmp_path, able=capabilities(resolves=False)) as editor:
        editor.open(uri, GPU)
        offered = await editor.actions(uri, (3, 4), (3, 4))
        fixed = {uri: GPU.replace("x.numpy", "x.cpu().numpy")}
        assert editor.applied(offered["Fix: Insert `.cpu()`"]) == fixed
        assert editor.applied(offered["devlint: fix all safe problems"]) == fixed


@driven
async def test_a_comment_stands_where_the_command_puts_it(tmp_path: Path) -> None:
    text = GPU.replace("x.numpy()", '"""\n""", x.numpy()') + "z = (  # devlint: ignore[DEV304]\n"
    text += '    torch.device("gpu"), x.numpy(),\n)\n'
    uri, path = (tmp_path / "a.py").as_uri(), tmp_path / "a.py"
    async with editing(tmp_path) as editor:
        editor.open(uri, text)
        assert set(await editor.codes(uri)) == {"DEV205"}
        first = (await editor.actions(uri, (4, 6), (4, 6)))["Ignore DEV205 here"]
        changed = editor.applied(await editor.resolved(first))[uri]
        assert changed.splitlines()[4] == '""", x.numpy()  # devlint: ignore[DEV205]'
        editor.replace(uri, changed)
        assert await editor.codes(uri, version=2) == ["DEV205"]
        second = (await editor.actions(uri, (6, 30), (6, 30)))["Ignore DEV205 here"]
        changed = editor.applied(await editor.resolved(second))[uri]
    path.write_text(text)
    command = [sys.executable, "-m", "devlint", "--no-cache", *WORDS, "--add-ignore", "a.py"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert changed == path.read_text()


@driven
async def test_an_action_of_another_text_does_nothing(tmp_path: Path) -> None:
    uri = (tmp_path / "a.py").as_uri()
    async with editing(tmp_path) as editor:
        editor.open(uri, GPU)
        (action,) = (await editor.actions(uri, (3, 4), (3, 4), "source")).values()
        fix = (await editor.actions(uri, (3, 4), (3, 4)))["Fix: Insert `.cpu()`"]
        editor.replace(uri, "import torch\n")
        assert (await editor.resolved(fix)).edit is None
        assert (await editor.resolved(action)).edit is None
        stranger = lsp.CodeAction("x", data={"uri": 7, "what": ["fix"]})
        assert (await editor.resolved(stranger)).edit is None


@driven
async def test_a_fix_of_another_file_changes_that_one(tmp_path: Path) -> None:
    losses = (tmp_path / "losses.py").as_uri()
    (tmp_path / "losses.py").write_text(LOSSES)
    uri = (tmp_path / "train.py").as_uri()
    title = "Fix: Make it on `logits.device`, in losses.py (unsafe)"
    async with editing(tmp_path) as editor:
        editor.open(uri, TRAIN)
        offered = await editor.actions(uri, (6, 7), (6, 7))
        action = await editor.resolved(offered[title])
        (change,) = action.edit.document_changes  # type: ignore[union-attr, misc]
        assert (change.text_document.uri, change.text_document.version) == (losses, None)  # type: ignore[union-attr]
        assert [each.new_text for each in change.edits] == [", device=logits.device"]  # type: ignore[union-attr]
        editor.open(losses, f"# open\n{LOSSES}")
        offered = await editor.actions(uri, (6, 7), (6, 7))
        action = await editor.resolved(offered[title])
        assert editor.applied(action) == {losses: f"# open\n{FIXED}"}
