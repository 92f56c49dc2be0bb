"""What `devlint rule` and `devlint config` print."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence

from devlint import policy
from devlint.cli.prose import plain
from devlint.config.rulebook import Page
from devlint.config.selection import catalogue, select
from devlint.config.settings import Settings, keys
from devlint.config.shapes import Shape
from devlint.safety.escaping import shown, toml_string

_NARROWEST, _WIDEST = 40, 96
"""Between how many columns the text of a page is wrapped."""


def rule_as_text(page: Page, markdown: bool) -> str:
    """One rule's page: in Markdown, or as it reads well in a terminal."""
    title = f"{page.name} ({page.code})"
    facts = f"Level: {page.level.value}. Fix: {page.fix}. Since {page.since}."
    body = f"{page.summary}.\n\n{facts}\n\n{page.body.strip()}\n"
    if markdown:
        return f"# {title}\n\n{body}"
    columns = shutil.get_terminal_size((_WIDEST, 0)).columns
    text = plain(body, max(_NARROWEST, min(columns, _WIDEST)))
    return f"{title}\n{'=' * len(title)}\n\n{text}"


def rules_as_table(pages: Sequence[Page]) -> str:
    """All rules, one a line."""
    width = max((len(page.name) for page in pages), default=0)
    return "".join(
        f"{page.code}  {page.name:<{width}}  {page.level.value:<7}  {page.summary}\n"
        for page in pages
    )


def rules_as_markdown(pages: Sequence[Page]) -> str:
    """All rules as a table in Markdown."""
    head = "| code | name | level | fix | finds |\n|---|---|---|---|---|\n"
    return head + "".join(
        f"| {page.code} | [{page.name}]({page.url}) | {page.level.value} | {page.fix} "
        f"| {page.summary} |\n"
        for page in pages
    )


def rule_as_record(page: Page) -> dict[str, object]:
    """One rule as JSON."""
    return {
        "code": page.code,
        "name": page.name,
        "summary": page.summary,
        "level": page.level.value,
        "fix": page.fix,
        "since": page.since,
        "tags": list(page.tags),
        "url": page.url,
        "explanation": page.body.strip(),
    }


def key_as_record(key: str) -> dict[str, object]:
    """One setting as JSON."""
    field = keys()[key]
    return {
        "description": field.metadata["doc"],
        "type": field.metadata["shape"].value,
        "default": _plain(field.default),
    }


def key_as_text(key: str) -> str:
    """One setting: what it means, its type and its default."""
    field = keys()[key]
    option = (
        ""
        if key in ("extend", "max-file-size", "device-types", "torchapi", "policy", "levels")
        else f"--{key}"
    )
    lines = [key, "", field.metadata["doc"], "", f"Type: {field.metadata['shape'].value}"]
    is_table = field.metadata["shape"] in (Shape.ROWS, Shape.SWITCHES, Shape.LEVELS)
    default = {} if is_table else _plain(field.default)
    lines.append(f"Default: {_toml(default)}")
    if option:
        lines.append(f"Option: {option}")
    return "\n".join(lines) + "\n"


def settings_as_text(settings: Settings, filename: str) -> str:
    """The settings in force for a file, in TOML's notation."""
    rules = sorted(select(settings.selectors, catalogue()))
    lines = [
        f"# settings of: {shown(filename)}",
        f"# root: {shown(settings.root or '(no configuration file)')}",
        f"# rules that are on: {', '.join(rules)}",
    ]
    for key, field in keys().items():
        value = getattr(settings, field.name)
        if value is None:
            continue
        if key == "torchapi":
            value = json.loads(value or "{}")
        if key == "policy":
            value = {name: dict(value).get(name, True) for name in policy.names()}
        if key in ("extension", "levels"):
            value = dict(value)
        if key.endswith("per-file-ignores"):
            value = {glob: list(codes) for glob, codes in value}
        lines.append(f"{key} = {_toml(_plain(value))}")
    return "\n".join(lines) + "\n"


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _toml(value: object) -> str:
    if value is None:
        return "not set"
    if isinstance(value, dict):
        pairs = ", ".join(f"{toml_string(key)} = {_toml(item)}" for key, item in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return toml_string(value) if isinstance(value, str) else json.dumps(value)
