"""Notebooks for tests, as Jupyter writes them."""

from __future__ import annotations

import json
from typing import Any


def code(source: str, count: int | None = 1, **more: Any) -> dict[str, Any]:
    """A cell of code, whose source is a list of lines."""
    outputs = [{"output_type": "stream", "name": "stdout", "text": ["1\n"]}]
    cell = {"cell_type": "code", "execution_count": count, "metadata": {}, "outputs": outputs}
    return {**cell, "source": source.splitlines(keepends=True), **more}


def text(source: str = "# Title") -> dict[str, Any]:
    """A cell of text."""
    return {"cell_type": "markdown", "metadata": {}, "source": [source]}


def notebook(*cells: dict[str, Any], language: str = "python", **layout: Any) -> bytes:
    """The bytes of a notebook; `layout` are options of `json.dumps`."""
    kernel = {"display_name": "x", "language": language, "name": "x"}
    content = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4}
    options = {"indent": 1, "ensure_ascii": False, **layout}
    return (json.dumps(content, **options) + "\n").encode()
