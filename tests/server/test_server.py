"""The server over its standard streams, with a real client."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pygls")

from lsprotocol import types as lsp
from server.editor import WORDS, Editor, capabilities, driven, editing, placed, ranged

GPU = 'import torch\n\nx = torch.ones(3, device="cuda")\ny = x.numpy()\n'
"""DEV205 in row 4, with a safe fix."""
BOTH = f'{GPU}z = x + torch.ones(3)\nd = torch.device("gpu")\nw = 1  # devlint: ignore[DEV101]\n'
"""DEV205, DEV202 and DEV304 with unsafe ones, DEV002 with a safe one."""


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


# --- diagnostics


@driven
async def test_a_finding_is_told_with_all_that_is_known_of_it(tmp_path: Path) -> None:
    uri = (tmp_path / "a.py").as_uri()
    async with editing(tmp_path) as editor:
        editor.open(uri, GPU)
        (found,) = await editor.found(uri)
        assert editor.published[uri][0].version == 1
    assert placed(found) == (3, 4, 3, 13)
    assert found.code == "DEV205"
    assert found.source == "devlint"
    assert found.severity is lsp.DiagnosticSeverity.Error
    assert found.code_description is not None
    assert found.code_description.href.endswith("/rules/numpy-on-accelerator.md")
    assert found.message.splitlines() == [
        "`x` is on cuda but `.numpy()` needs it on cpu",
        "copy it to the host first: `x.cpu().numpy()`",
    ]
    (step,) = found.related_information or ()
    assert step.location == lsp.Location(uri, ranged((2, 4), (2, 32)))
    assert step.message == "made on cuda here"


@driven
async def test_diagnostics_follow_what_is_typed_and_go_with_the_text(tmp_path: Path) -> None:
    uri = (tmp_path / "a.py").as_uri()
    async with editing(tmp_path) as editor:
        editor.open(uri, GPU)
        assert await editor.codes(uri) == ["DEV205"]
        editor.type(uri, (3, 4), (3, 5), "x.cpu()")
        assert await editor.codes(uri, version=2) == []
        editor.type(uri, (3, 4), (3, 11), "x")
        assert await editor.codes(uri, version=3) == ["DEV205"]
        editor.close(uri)
        assert await editor.codes(uri, since=3) == []
        assert editor.published[uri][-1].version is None
        editor.open(uri, GPU)
        assert await editor.codes(uri, since=4) == ["DEV205"]


@driven
async def test_nothing_is_told_of_what_is_typed_over_at_once(tmp_path: Path) -> None:
    uri = (tmp_path / "a.py").as_uri()
    async with editing(tmp_path) as editor:
        editor.open(uri, "import torch\n")
        await editor.found(uri)
        for letter in "\n" + "x" * 20:
            editor.type(uri, (1, 0), (1, 0), letter)
        editor.replace(uri, GPU)
        assert await editor.codes(uri, since=1) == ["DEV205"]
        assert [each.version for each in editor.published[uri]] == [1, 23]


@driven
async def test_what_settings_say_holds_in_each_root(tmp_path: Path) -> None:
    for name, table in (("one", 'ignore = ["DEV205"]'), ("two", 'extend-exclude = ["old.py"]')):
        (tmp_path / name).mkdir()
        (tmp_path / name / "devlint.toml").write_text(table + "\n")
    first, second, left_out = (
        (tmp_path / name).as_uri() for name in ("one/a.py", "two/a.py", "two/old.py")
    )
    async with editing(tmp_path / "one", tmp_path / "two") as editor:
        for uri in (first, second, left_out):
            editor.open(uri, BOTH)
        assert await editor.codes(first) == ["DEV202", "DEV304", "DEV002"]
        assert await editor.codes(second) == ["DEV205", "DEV202", "DEV304", "DEV002"]
        assert await editor.codes(left_out) == []
        assert await editor.actions(left_out, (0, 0), (6, 0)) == {}
        assert await editor.hover(left_out, 3, 4) == ""


@driven
async def test_what_is_less_certain_needs_pedantic(tmp_path: Path) -> None:
    cases = (Path(__file__).parents[1] / "cases").glob("*.md")
    blocks = (
        each for path in cases for each in path.read_text().split("```python error pedantic\n")[1:]
    )
    text = next(blocks).partition("```")[0]
    uri = (tmp_path / "a.py").as_uri()
    async with editing(tmp_path) as editor:
        editor.open(uri, text)
        usual = await editor.codes(uri)
        (tmp_path / "devlint.toml").write_text("pedantic = true\n")
        editor.changed_on_disk(tmp_path / "devlint.toml")
        assert len(await editor.codes(uri, since=1)) > len(usual)


@driven
async def test_a_changed_configuration_counts_at_once(tmp_path: Path) -> None:
    settings, uri = tmp_path / "pyproject.toml", (tmp_path / "a.py").as_uri()
    settings.write_text("[tool.devlint]\n")
    async with editing(tmp_path) as editor:
        editor.open(uri, GPU)
        assert await editor.codes(uri) == ["DEV205"]
        assert {"**/pyproject.toml", "**/devlint.toml", "**/.gitignore"} <= set(editor.watched)
        settings.write_text('[tool.devlint]\nignore = ["DEV2"]\n')
        editor.changed_on_disk(settings)
        assert await editor.codes(uri, since=1) == []


@driven
async def test_a_broken_configuration_is_told_once_and_the_last_good_one_holds(
    tmp_path: Path,
) -> None:
    settings, uri = tmp_path / "devlint.toml", (tmp_path / "a.py").as_uri()
    settings.write_text('ignore = ["DEV205"]\n')
    async with editing(tmp_path) as editor:
        editor.open(uri, BOTH)
        assert "DEV205" not in await editor.codes(uri)
        settings.write_text('ignor = ["DEV2"]\n')
        editor.changed_on_disk(settings)
        assert await editor.codes(uri, since=1) == ["DEV202", "DEV304", "DEV002"]
        editor.replace(uri, GPU)
        assert await editor.codes(uri, version=2) == []
        assert editor.shown == [
            'devlint: devlint.toml: unknown key `ignor`; did you mean "ignore"?'
        ]
        settings.write_text("")
        editor.changed_on_disk(settings)
        assert await editor.codes(uri, since=editor.count(uri)) == ["DEV205"]


@driven
async def test_a_configuration_that_is_broken_from_the_start_is_told(tmp_path: Path) -> None:
    (tmp_path / "devlint.toml").write_text("select = 3\n")
    uri = (tmp_path / "a.py").as_uri()
    async with editing(tmp_path) as editor:
        editor.open(uri, GPU)
        assert await editor.codes(uri) == []
        assert len(editor.shown) == 1
        assert "select" in editor.shown[0]


@driven
async def test_open_texts_count_for_the_files_that_import_them(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "made.py").write_text("import torch\n\ndevice = torch.device('cpu')\n")
    made, uses = (tmp_path / "made.py").as_uri(), (tmp_path / "uses.py").as_uri()
    text = "import torch\nfrom made import device\n\nx = torch.ones(3, device=device).numpy()\n"
    async with editing(tmp_path) as editor:
        editor.open(uses, text)
        assert await editor.codes(uses) == []
        editor.open(made, "import torch\n\ndevice = torch.device('cuda')\n")
        (found,) = await editor.found(uses, since=1)
        assert found.code == "DEV205"
        editor.close(made)
        assert await editor.codes(uses, since=2) == []


@driven
async def test_a_step_in_another_file_is_told_there(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "made.py").write_text(
        "import torch\n\n\ndef made():\n    '🙂'; return torch.ones(3, device='cuda')\n"
    )
    uses = (tmp_path / "uses.py").as_uri()
    async with editing(tmp_path) as editor:
        editor.open(uses, "from made import made\n\nx = made().numpy()\n")
        (found,) = await editor.found(uses)
    places = [step.location for step in found.related_information or ()]
    assert lsp.Location((tmp_path / "made.py").as_uri(), ranged((4, 17), (4, 45))) in places


# --- texts


@driven
async def test_columns_are_counted_as_the_editor_does(tmp_path: Path) -> None:
    uri, text = (tmp_path / "a.py").as_uri(), GPU.replace("y = ", "'é🙂'; y = ")
    for encoding, shift in (
        (lsp.PositionEncodingKind.Utf16, 7),
        (lsp.PositionEncodingKind.Utf8, 10),
    ):
        async with editing(tmp_path, able=capabilities([encoding])) as editor:
            editor.open(uri, text)
            (found,) = await editor.found(uri)
            assert placed(found) == (3, 4 + shift, 3, 13 + shift)
            assert "on cuda" in await editor.hover(uri, 3, 4 + shift)
            editor.type(uri, (3, 4 + shift), (3, 5 + shift), "x.cpu()")
            assert await editor.codes(uri, version=2) == []


@driven
async def test_rows_end_where_the_protocol_says(tmp_path: Path) -> None:
    # A form feed and a line separator end no row; a lone carriage return does.
    text = 'import torch\r\n# \f \u2028 \x1c\rx = torch.ones(3, device="cuda")\r\ny = x.numpy()\r\n'
    uri = (tmp_path / "a.py").as_uri()
    async with editing(tmp_path) as editor:
        editor.open(uri, text)
        (found,) = await editor.found(uri)
        assert placed(found) == (3, 4, 3, 13)
        action = await editor.resolved(
            (await editor.actions(uri, (3, 4), (3, 4)))["Fix: Insert `.cpu()`"]
        )
        assert editor.applied(action) == {uri: text.replace("x.numpy", "x.cpu().numpy")}
        ignoring = (await editor.actions(uri, (3, 4), (3, 4)))["Ignore DEV205 here"]
        suppressed = editor.applied(await editor.resolved(ignoring))[uri]
        assert suppressed == text[:-2] + "  # devlint: ignore[DEV205]\r\n"
        editor.type(uri, (3, 4), (3, 5), "x.cpu()")
        assert await editor.codes(uri, version=2) == []


@driven
async def test_the_text_counts_and_not_its_bytes_on_disk(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"\xff\xfe nothing \x00 that Python reads")
    latin = "# coding: latin-1\nimport torch\n'é'; x = torch.ones(3, device='cuda').numpy()\n"
    async with editing(tmp_path) as editor:
        editor.open(path.as_uri(), "\ufeff" + GPU)
        assert [placed(each) for each in await editor.found(path.as_uri())] == [(3, 4, 3, 13)]
        editor.replace(path.as_uri(), latin)
        (found,) = await editor.found(path.as_uri(), version=2)
        assert placed(found)[:2] == (2, 9)
        editor.replace(path.as_uri(), "\ufeffx = __import__; import torch; torch.device('gpu')\n")
        (found,) = await editor.found(path.as_uri(), version=3)
        assert placed(found)[:2] == (0, 44)


@driven
async def test_half_typed_code_is_a_finding_that_goes(tmp_path: Path) -> None:
    uri = (tmp_path / "a.py").as_uri()
    async with editing(tmp_path) as editor:
        editor.open(uri, GPU + "def f(:\n")
        (found,) = await editor.found(uri)
        assert (found.code, found.range.start.line) == ("DEV001", 4)
        assert await editor.hover(uri, 2, 0) == ""
        assert await editor.hints(uri) == []
        assert await editor.actions(uri, (4, 0), (4, 9)) == {}
        editor.type(uri, (4, 6), (4, 7), "): ...")
        assert await editor.codes(uri, version=2) == ["DEV205"]


@driven
async def test_what_has_no_file_is_linted_and_what_is_elsewhere_is_not(tmp_path: Path) -> None:
    (tmp_path / "devlint.toml").write_text('ignore = ["DEV202"]\n')
    async with editing(tmp_path) as editor:
        editor.open("untitled:Untitled-1", BOTH)
        assert await editor.codes("untitled:Untitled-1") == ["DEV205", "DEV304", "DEV002"]
        elsewhere = ("git:/a.py?HEAD", "https://example.org/a.py", "file:///a%00.py", "nonsense")
        for uri in elsewhere:
            editor.open(uri, GPU)
            assert await editor.hover(uri, 3, 4) == ""
        plain = (tmp_path / "notes.txt").as_uri()
        editor.open(plain, GPU, "plaintext")
        assert await editor.codes(plain) == []
        assert not any(editor.count(uri) for uri in elsewhere)


# --- actions


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


# --- hovers and hints

LOADED = """\
import torch
from torch import nn
from torch.utils.data import DataLoader


def train(model: nn.Module, loader: DataLoader, device: torch.device) -> None:
    model.to(device)
    for pictures, labels in loader:
        pictures = pictures.to(device)
        logits = model(pictures)
        nn.functional.cross_entropy(logits, labels)  # devlint: ignore[DEV202]
"""


@driven
async def test_a_hover_says_where_a_value_is_and_why(tmp_path: Path) -> None:
    uri = (tmp_path / "a.py").as_uri()
    async with editing(tmp_path) as editor:
        editor.open(uri, LOADED)
        assert (
            await editor.hover(uri, 7, 18)
            == "`labels`: batch on cpu, comes from a DataLoader at line 8"
        )
        moved = "`pictures`: batch on `device`, comes from a DataLoader at line 8\n\n"
        moved += (
            "- line 8: comes from a DataLoader here: on the CPU\n- line 9: moved to `device` here"
        )
        assert await editor.hover(uri, 9, 25) == moved
        assert await editor.hover(uri, 8, 8) == moved
        assert await editor.hover(uri, 5, 4) == ""
        page = await editor.hover(uri, 10, 73)
        assert page.startswith("## DEV202 operands-on-other-devices\n")
        assert await editor.hover(uri, 400, 4) == ""
        editor.replace(uri, LOADED.replace("  # devlint: ignore[DEV202]", ""))
        told = await editor.hover(uri, 10, 44)
        value, _, page = told.partition("\n\n---\n\n")
        assert value == "`labels`: batch on cpu, comes from a DataLoader at line 8"
        assert page.startswith("## DEV202 operands-on-other-devices\n\nOne operation takes")
        assert "## When it stays silent" in page


@driven
async def test_a_hover_names_calls_and_harms_no_viewer(tmp_path: Path) -> None:
    text = "import torch\n\n\ndef f(x):\n    return x + 1\n\n\nf(torch.ones(3, device='cuda'))\n"
    odd = "import torch\n\nx = {'`](https://e.org)<b>': torch.ones(3)}['`](https://e.org)<b>']\nx\n"
    uri = (tmp_path / "a.py").as_uri()
    async with editing(tmp_path) as editor:
        editor.open(uri, text)
        assert "on cuda, made on cuda at line 8 (as called at line 8)" in await editor.hover(
            uri, 4, 11
        )
        editor.replace(uri, odd)
        told = await editor.hover(uri, 2, 64)
        assert told.startswith('``{"`](https://e.org)<b>": torch.ones(3)}')


@driven
async def test_hints_are_there_where_they_are_asked_for(tmp_path: Path) -> None:
    uri = (tmp_path / "a.py").as_uri()
    async with editing(tmp_path, options={"inlayHints": True}) as editor:
        editor.open(uri, LOADED)
        assert len(await editor.hints(uri)) == 5
        editor.settings = {"inlayHints": False}
        editor.client.workspace_did_change_configuration(lsp.DidChangeConfigurationParams(None))
        await editor.until(lambda: editor.refreshed == 1)
        assert await editor.hints(uri) == []
        editor.settings = {"inlayHints": True}
        editor.client.workspace_did_change_configuration(lsp.DidChangeConfigurationParams(None))
        await editor.until(lambda: editor.refreshed == 2)
        expected = [
            (5, 34, ": cpu"),
            (7, 16, ": cpu"),
            (7, 24, ": cpu"),
            (8, 16, ": `device`"),
            (9, 14, ": `device`"),
        ]
        assert sorted(await editor.hints(uri)) == expected
        assert sorted(await editor.hints(uri, 8, 8)) == expected[3:4]


@driven
async def test_what_is_wrong_with_the_editors_settings_is_told(tmp_path: Path) -> None:
    uri = (tmp_path / "a.py").as_uri()
    options = {"devlint": {"inlayHint": True, "inlayHints": "yes"}}
    async with editing(tmp_path, options=options) as editor:
        editor.open(uri, LOADED)
        assert await editor.hints(uri) == []
        assert editor.shown == [
            'devlint: the editor\'s settings: there is no `inlayHint`; did you mean "inlayHints"?',
            "devlint: the editor's settings: `inlayHints` is true or false",
        ]


# --- notebooks


def notebook(tmp_path: Path, cells: list[str]) -> lsp.DidOpenNotebookDocumentParams:
    names = [f"vscode-notebook-cell:{tmp_path}/a.ipynb#{number}" for number in range(len(cells))]
    kinds = [lsp.NotebookCell(lsp.NotebookCellKind.Code, name) for name in names]
    document = lsp.NotebookDocument((tmp_path / "a.ipynb").as_uri(), "jupyter-notebook", 1, kinds)
    items = [
        lsp.TextDocumentItem(n, "python", 1, text) for n, text in zip(names, cells, strict=True)
    ]
    return lsp.DidOpenNotebookDocumentParams(document, items)


@driven
async def test_a_notebook_is_one_text_and_its_cells_have_their_own_places(tmp_path: Path) -> None:
    cells = [
        "import torch\n%matplotlib inline",
        "x = torch.ones(3, device='cuda')",
        "1\ny = x.numpy()",
    ]
    opened = notebook(tmp_path, cells)
    first, second, third = (cell.document for cell in opened.notebook_document.cells)
    uri = opened.notebook_document.uri
    async with editing(tmp_path) as editor:
        editor.client.notebook_document_did_open(opened)
        for cell, text in zip((first, second, third), cells, strict=True):
            editor.texts[cell], editor.versions[cell] = text, 1
        (found,) = await editor.found(third)
        assert await editor.found(first) == await editor.found(second) == []
        assert (found.code, placed(found)) == ("DEV205", (1, 4, 1, 13))
        (step,) = found.related_information or ()
        assert step.location == lsp.Location(second, ranged((0, 4), (0, 32)))
        assert "at cell 2, line 1" in await editor.hover(third, 1, 4)
        offered = await editor.actions(third, (1, 4), (1, 4))
        everything = await editor.resolved(offered["devlint: fix all safe problems"])
        assert everything.kind == "notebook.source.fixAll.devlint"
        assert editor.applied(everything) == {third: "1\ny = x.cpu().numpy()"}

        change = lsp.TextDocumentContentChangePartial(ranged((0, 25), (0, 29)), "cpu")
        content = lsp.NotebookDocumentCellContentChanges(
            lsp.VersionedTextDocumentIdentifier(2, second), [change]
        )
        cell_changes = lsp.NotebookDocumentCellChanges(text_content=[content])
        editor.client.notebook_document_did_change(_changed(uri, 2, cell_changes))
        assert await editor.found(third, since=1) == []
        editor.client.notebook_document_did_change(_changed(uri, 3, _without(1, second)))
        await editor.until(lambda: editor.count(third) == 3)
        assert editor.published[second][-1].version is None
        assert editor.published[second][-1].diagnostics == ()
        closed = lsp.NotebookDocumentIdentifier(uri), [lsp.TextDocumentIdentifier(first)]
        editor.client.notebook_document_did_close(lsp.DidCloseNotebookDocumentParams(*closed))
        await editor.until(lambda: editor.count(third) == 4)


def _changed(
    uri: str, version: int, cells: lsp.NotebookDocumentCellChanges
) -> lsp.DidChangeNotebookDocumentParams:
    named = lsp.VersionedNotebookDocumentIdentifier(version, uri)
    return lsp.DidChangeNotebookDocumentParams(named, lsp.NotebookDocumentChangeEvent(cells=cells))


def _without(at: int, cell: str) -> lsp.NotebookDocumentCellChanges:
    gone = [lsp.TextDocumentIdentifier(cell)]
    structure = lsp.NotebookDocumentCellChangeStructure(
        lsp.NotebookCellArrayChange(at, 1), did_close=gone
    )
    return lsp.NotebookDocumentCellChanges(structure=structure)


# --- harm


@driven
async def test_nothing_of_what_is_open_is_run_or_imported(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    trap = "open('trapped', 'w').close()\n"
    for name in ("torch", "pygls", "lsprotocol", "attr", "cattrs", "libcst", "asyncio", "devlint"):
        (tmp_path / f"{name}.py").write_text(trap)
    uri = (tmp_path / "a.py").as_uri()
    async with editing(tmp_path, words=[*WORDS, "--isolated"]) as editor:
        editor.open(uri, f"import devlint\n{trap}{GPU}")
        assert await editor.codes(uri) == ["DEV205"]
        assert "cuda" in await editor.hover(uri, 5, 4)
    assert not (tmp_path / "trapped").exists()


@driven
async def test_a_bug_in_one_file_is_a_line_of_the_log(tmp_path: Path) -> None:
    broken = (
        "import devlint.server.checking as checking, sys\n"
        "from devlint.cli import main\n"
        "real = checking.check\n"
        "def check(data, path, settings):\n"
        "    if b'crash' in data: raise KeyError('what\\nnow\\x1b')\n"
        "    return real(data, path, settings)\n"
        "checking.check = check\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    editor, uri, other = Editor(), (tmp_path / "a.py").as_uri(), (tmp_path / "b.py").as_uri()
    await editor.client.start_io(sys.executable, "-c", broken, "server", *WORDS)
    await editor.client.initialize_async(lsp.InitializeParams(capabilities()))
    editor.open(uri, f"{GPU}# crash\n")
    assert await editor.codes(uri) == []
    assert editor.logged == [f"{tmp_path}/a.py: internal error: KeyError: 'what\\nnow\\x1b'"]
    editor.open(other, GPU)
    assert await editor.codes(other) == ["DEV205"]
    assert await editor.leave() == 0


@driven
async def test_odd_messages_end_nothing(tmp_path: Path) -> None:
    uri = (tmp_path / "a.py").as_uri()
    async with editing(tmp_path) as editor:
        for body in (b"{", b"[]", b"7", b'{"jsonrpc": "2.0", "method": "textDocument/didOpen"}'):
            editor.process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))  # type: ignore[union-attr]
        unknown = {"jsonrpc": "2.0", "id": 77, "method": "textDocument/nothing", "params": {}}
        body = json.dumps(unknown).encode()
        editor.process.stdin.write(b"nonsense\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))  # type: ignore[union-attr]
        editor.versions["nowhere"] = 1
        editor.replace("nowhere", "x")
        editor.close("nowhere")
        editor.open(uri, GPU)
        editor.type(uri, (900, 7), (901, 9), "\nd = torch.device('gpu')\n")
        assert await editor.codes(uri, version=2) == ["DEV205", "DEV304"]
        editor.type(uri, (3, 100), (3, 200), "; torch.device('gpu')")
        assert await editor.codes(uri, version=3) == ["DEV205", "DEV304", "DEV304"]


@driven
async def test_long_work_ends_where_its_text_has_changed(tmp_path: Path) -> None:
    slow = (
        "import devlint.server.checking as checking, sys, time\n"
        "from devlint.cli import main\n"
        "from devlint.flow.frames import world\n"
        "real = world.Steps.look\n"
        "def look(self):\n"
        "    time.sleep(0.5)\n"
        "    real(self)\n"
        "world.Steps.look = look\n"
        "world._BETWEEN = 1\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    editor, uri = Editor(), (tmp_path / "a.py").as_uri()
    await editor.client.start_io(sys.executable, "-c", slow, "server", *WORDS)
    await editor.client.initialize_async(lsp.InitializeParams(capabilities()))
    editor.open(uri, "import torch\n" + "x = torch.ones(3)\n" * 1000)  # some minutes
    await asyncio.sleep(0.5)
    editor.replace(uri, "import sys\n")
    assert await editor.codes(uri) == []
    assert editor.published[uri][0].version == 2
    editor.open(uri, "import torch\n" + "x = torch.ones(3)\n" * 1000)
    await asyncio.sleep(0.5)
    assert await editor.leave() == 0


@driven
async def test_an_end_without_shutdown_is_an_error(tmp_path: Path) -> None:
    editor = Editor()
    await editor.start([tmp_path], capabilities(), None, *WORDS)
    editor.client.exit(None)
    assert await editor.exit_code() == 1
