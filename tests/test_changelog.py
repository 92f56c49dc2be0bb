"""The changelog is made from fragments, and these look as towncrier takes them."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["towncrier"]
KINDS = "|".join(kind["directory"] for kind in SETTINGS["type"])


def complaints(name: str, text: str) -> list[str]:
    """What towncrier would leave out, take for something else, or print askew."""
    found = []
    if not re.fullmatch(rf"\+[a-z0-9]+(-[a-z0-9]+)*\.({KINDS})\.md", name):
        found.append(f"{name}: the name isn't +TOPIC.KIND.md, with a kind of {KINDS}")
    paragraph = text.removesuffix("\n")
    if not text.endswith("\n") or "\n" in paragraph or paragraph != paragraph.strip():
        found.append(f"{name}: it isn't one line")
    if paragraph.startswith(("-", "*", "#")) or not paragraph.endswith((".", ")")):
        found.append(f"{name}: it isn't a paragraph of sentences")
    return found


def test_fragments_are_well_formed() -> None:
    fragments = [path for path in (ROOT / "changelog.d").iterdir() if path.name != "README.md"]
    assert [line for path in fragments for line in complaints(path.name, path.read_text())] == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("+speed.better.md", "It is faster.\n"),
        ("speed.added.md", "It is faster.\n"),
        ("+speed.added.txt", "It is faster.\n"),
        ("+speed.added.md", ""),
        ("+speed.added.md", "It is faster."),
        ("+speed.added.md", "- It is faster.\n"),
        ("+speed.added.md", "It is\nfaster.\n"),
        ("+speed.added.md", "It is faster\n"),
    ],
)
def test_others_are_told_of(name: str, text: str) -> None:
    assert complaints("+speed.added.md", "It is faster.\n") == []
    assert complaints(name, text)


def test_the_changelog_holds_releases_only() -> None:
    """What isn't released is a fragment, or a release would list it as older than itself."""
    log = (ROOT / SETTINGS["filename"]).read_text()
    _, mark, releases = log.partition("<!-- towncrier release notes start -->\n")
    assert mark
    parts = re.split(r"^## ", releases, flags=re.MULTILINE)
    assert parts[0].strip() == ""
    for part in parts[1:]:
        assert re.match(r"\d+\.\d+\.\d+ \(\d{4}-\d\d-\d\d\)\n", part)


def test_a_clone_without_tags_goes_on_from_the_newest_release() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    fallback = project["tool"]["hatch"]["version"]["fallback-version"]
    released = re.findall(r"^## (\S+) \(", (ROOT / SETTINGS["filename"]).read_text(), re.MULTILINE)
    if released:
        assert fallback == released[0]
    else:
        assert fallback == "0.1.0.dev0"
