"""What is told of values, and the hints of devices."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pygls")

from lsprotocol import types as lsp
from server.editor import driven, editing

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
        assert page.startswith("## DEV202 operands-on-other-devices\n\nOne operation gets")
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
