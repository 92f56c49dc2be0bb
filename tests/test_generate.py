"""The generated files: how they are made, and that staleness is told."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from devlint.config.rulebook import pages


@pytest.fixture
def generate(tmp_path: Path) -> ModuleType:
    """The script, set to write into an empty folder that has the rules of the checkout."""
    root = Path(__file__).parents[1]
    spec = importlib.util.spec_from_file_location("generate", root / "tools" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (tmp_path / "rules").symlink_to(root / "rules")
    module.ROOT = tmp_path  # type: ignore[attr-defined]
    return module


def test_every_rule_is_in_the_index(generate: ModuleType) -> None:
    text = generate.generated()["docs/rules.md"]
    rows = [line for line in text.splitlines() if line.startswith("| DEV")]
    assert len(rows) == len(pages())
    for row, page in zip(rows, pages().values(), strict=True):
        assert row.startswith(f"| {page.code} | [{page.name}](../rules/{page.name}.md) |")
        assert row.endswith(f"| {page.level.value} | {page.fix} |")


def test_stale_files_are_told_and_written(
    generate: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert generate.main(["--check"]) == 1
    assert "docs/rules.md is out of date" in capsys.readouterr().out
    assert generate.main([]) == 0
    assert generate.main(["--check"]) == 0
    (generate.ROOT / "docs" / "rules.md").write_text("old", encoding="utf-8")
    assert generate.main(["--check"]) == 1
