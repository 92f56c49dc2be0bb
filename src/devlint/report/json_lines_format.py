"""One JSON object a line, one finding each."""

from __future__ import annotations

from collections.abc import Sequence

from devlint.model.findings import Finding
from devlint.report.context import Context
from devlint.report.json_format import as_object
from devlint.safety.escaping import json_text


def render(findings: Sequence[Finding], context: Context) -> str:
    return "".join(json_text(as_object(finding)) + "\n" for finding in findings)
