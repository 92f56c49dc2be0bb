"""Findings as they are told while one types."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pygls")

from lsprotocol import types as lsp
from server.editor import BOTH, GPU, driven, editing, placed, ranged


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
        "copy it to the CPU first: `x.cpu()`",
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
