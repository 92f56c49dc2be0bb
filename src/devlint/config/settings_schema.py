"""The JSON Schema of the configuration, made from the declared keys.

python -m devlint.config.settings_schema > devlint.schema.json
python -m devlint.config.settings_schema --check devlint.schema.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from devlint.config.settings import file_keys
from devlint.config.shapes import LEVELS, Shape
from devlint.model.findings import FAIL_ON, OUTPUT_FORMATS
from devlint.policy import reasons
from devlint.safety.files import LANGUAGES, LARGEST_SOURCE

_STRINGS: dict[str, Any] = {"type": "array", "items": {"type": "string"}}
_SHAPES: dict[Shape, dict[str, Any]] = {
    Shape.STRING: {"type": "string"},
    Shape.BOOLEAN: {"type": "boolean"},
    Shape.SIZE: {"type": "integer", "minimum": 1, "maximum": LARGEST_SOURCE},
    Shape.PERCENT: {"type": "integer", "minimum": 0, "maximum": 100},
    Shape.STRINGS: _STRINGS,
    Shape.DEVICE_TYPES: _STRINGS,
    Shape.TABLE_OF_STRINGS: {"type": "object", "additionalProperties": _STRINGS},
    Shape.ROWS: {"type": "object", "additionalProperties": {"type": "object"}},
    Shape.SWITCHES: {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            name: {"type": "boolean", "default": True, "description": reason}
            for name, reason in reasons().items()
        },
    },
    Shape.LEVELS: {"type": "object", "additionalProperties": {"enum": list(LEVELS)}},
    Shape.EXTENSIONS: {
        "type": "object",
        "propertyNames": {"pattern": r"^[^./\\]+$"},
        "additionalProperties": {"enum": list(LANGUAGES)},
    },
    Shape.FORMAT: {"enum": list(OUTPUT_FORMATS)},
    Shape.FAILING: {"enum": list(FAIL_ON)},
}


def schema() -> dict[str, Any]:
    """The schema of `[tool.devlint]` and of `devlint.toml`."""
    properties = {}
    for key, field in file_keys().items():
        entry = {"description": field.metadata["doc"], **_SHAPES[field.metadata["shape"]]}
        if field.default not in (None, (), ""):
            default = field.default
            entry["default"] = list(default) if isinstance(default, tuple) else default
        properties[key] = entry
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "devlint",
        "description": "Settings of devlint: [tool.devlint] in pyproject.toml, or devlint.toml.",
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
    }


def text() -> str:
    """The schema as it stands in the repository."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def main(argv: list[str]) -> int:
    """Print the schema, or with `--check FILE` say whether a file holds it."""
    if argv[:1] != ["--check"]:
        sys.stdout.write(text())
        return 0
    path = Path(argv[1] if len(argv) > 1 else "devlint.schema.json")
    if path.is_file() and path.read_text(encoding="utf-8") == text():
        return 0
    command = f"python -m devlint.config.settings_schema > {path}"
    print(f"{path} is out of date; make it anew by: {command}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
