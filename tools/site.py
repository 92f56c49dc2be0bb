"""Hooks of mkdocs: the rule pages, which stand beside docs/, and links to the project's files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
REPOSITORY = "https://github.com/devlint/devlint/blob/main"
_LINK = re.compile(r"(?<=\]\()(?P<target>\.\.?/[^)\s#]+|[\w./-]+\.md)(?P<anchor>#[^)\s]*)?(?=\))")
_DECLARATION = "\N{SYMBOL FOR START OF HEADING}"
_FRONT = re.compile(r"\A\+\+\+\n(?P<front>.*?)\n\+\+\+\n", re.DOTALL)
_FIELD = re.compile(r'^(?P<key>code|name|summary|level) = "(?P<value>.*)"$', re.MULTILINE)


def on_files(files: Files, config: Any) -> Files:
    """Add a page for each rule."""
    for path in sorted((ROOT / "rules").glob("*.md")):
        files.append(File.generated(config, f"rules/{path.name}", content=rule(path)))
    return files


def rule(path: Path) -> str:
    """A rule's page with a heading in the place of its front matter."""
    text = path.read_text("utf-8")
    found = _FRONT.match(text)
    assert found is not None, path
    fields = dict(_FIELD.findall(found["front"]))
    head = (
        f"# {fields['code']}: {fields['name']}\n\n{fields['summary']}. Level: {fields['level']}.\n"
    )
    return head + text[found.end() :]


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Links as the site has them: to a rule's page, or to what isn't part of the site."""
    own = Path("rules" if page.file.src_uri.startswith("rules/") else "docs")

    def moved(found: re.Match[str]) -> str:
        target, anchor = found["target"], found["anchor"] or ""
        path = (ROOT / own / target).resolve()
        if not path.exists():
            return str(found[0])  # mkdocs reports it
        inside = path.relative_to(ROOT)
        folder = "" if own.name == "docs" else "../"
        if inside.parts[0] == "rules" and inside.suffix == ".md":
            return (
                f"{folder}rules/{inside.name}{anchor}" if not folder else f"{inside.name}{anchor}"
            )
        if inside.parts[0] == "docs":
            return f"{folder}{inside.relative_to('docs').as_posix()}{anchor}"
        return f"{REPOSITORY}/{inside.as_posix()}{anchor}"

    return _LINK.sub(moved, markdown).replace("<![", _DECLARATION)


def on_page_content(html: str, page: Any, config: Any, files: Files) -> str:
    """What Python-Markdown would take for a declaration of HTML, in code too, as it was."""
    return html.replace(_DECLARATION, "&lt;![")
