"""SARIF 2.1.0, as GitHub's code scanning and other viewers read it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from devlint import __version__
from devlint.config.rulebook import HOMEPAGE, Page, page_url, pages
from devlint.model.findings import Edit, Finding, Fix, Level, Span
from devlint.report.context import Context, Failure, in_cell, severity, withheld
from devlint.report.linehash import line_hashes
from devlint.safety.escaping import json_text, unlinked

Json = dict[str, object]

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"

_PRECISION = {"error": "high", "warning": "medium", "note": "low"}
_PROBLEM = {"error": "error", "warning": "warning", "note": "recommendation"}
_LONGEST_DESCRIPTION = 1024  # GitHub's limit


def render(findings: Sequence[Finding], context: Context) -> str:
    first = {finding.name: finding for finding in sorted(findings, key=lambda f: f.code)}
    index = {name: position for position, name in enumerate(first)}
    hashes = {
        name: line_hashes(context.sources(name) or "")
        for name in dict.fromkeys(finding.filename for finding in findings)
    }
    run = {
        "tool": {
            "driver": {
                "name": "devlint",
                "version": __version__,
                "semanticVersion": semantic(__version__),
                "informationUri": HOMEPAGE,
                "rules": [_rule(finding) for finding in first.values()],
            }
        },
        "automationDetails": {"id": "devlint/"},
        "columnKind": "unicodeCodePoints",
        "invocations": [_invocation(context)],
        "properties": {"coverage": _coverage(context), **_withheld(context), **_shard(context)},
        "results": [
            _result(finding, index[finding.name], mark, hashes[finding.filename], context)
            for finding, mark in zip(findings, context.fingerprints(findings), strict=True)
        ],
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json_text(log, indent=2) + "\n"


def semantic(version: str) -> str:
    """A version of Python's kind as semantic versioning writes it: `1.2.0rc1` as `1.2.0-rc.1`."""
    public, plus, local = version.partition("+")
    release = re.match(r"[\d.]+(?<!\.)", public)
    numbers = (release[0] if release else "0").split(".")
    later = re.findall(r"([a-z]+)(\d+)", public)
    before = "".join(f".{name}.{number}" for name, number in later).replace(".", "-", 1)
    return ".".join([*numbers, "0", "0"][:3]) + before + plus + local


def _rule(finding: Finding) -> Json:
    page = pages().get(finding.name)
    level = finding.level if page is None else page.level
    word = severity(level)
    rule: Json = {
        "id": finding.code,
        "name": finding.name,
        "helpUri": page_url(finding.name),
        "defaultConfiguration": {
            "enabled": level is not Level.OFF,
            "level": word,
        },
        "properties": {
            "tags": ["pytorch", *(page.tags if page else ())],
            "precision": _PRECISION[word],
            "problem.severity": _PROBLEM[word],
        },
    }
    return rule if page is None else rule | _prose(page)


def _prose(page: Page) -> Json:
    described = re.search(r"^## What it finds\n+(.*?)(?=^#|^```|\Z)", page.body, re.M | re.S)
    text = " ".join(described[1].split()) if described else page.summary
    return {
        "shortDescription": {"text": page.summary},
        "fullDescription": {"text": text[:_LONGEST_DESCRIPTION]},
        "help": {"text": page.body.strip(), "markdown": page.body.strip()},
    }


def _result(
    finding: Finding, rule_index: int, mark: str, hashes: Sequence[str], context: Context
) -> Json:
    uri = context.uri(finding.filename)
    span = finding.span
    marks = {"devlint/v1": mark}
    if span.cell is None:  # else it would be that of another line than the file's
        own_hash = hashes[span.row - 1] if span.row <= len(hashes) else mark
        marks = {"primaryLocationLineHash": own_hash, **marks}
    message = in_cell(span) + finding.message + (f"\n{finding.help}" if finding.help else "")
    result: Json = {
        "ruleId": finding.code,
        "ruleIndex": rule_index,
        "level": severity(finding.level),
        "rank": finding.score,
        "message": _message(message),
        "locations": [_location(uri, span)],
        "partialFingerprints": marks,
    }
    if finding.sorts:
        result["properties"] = {"derivation": list(finding.sorts)}
    if finding.trace:
        steps = [
            _location(context.uri(step.filename) if step.filename else uri, step.span, step.message)
            for step in finding.trace
        ]
        last = _location(uri, span, finding.message)
        flow = [{"location": location} for location in (*steps, last)]
        result["codeFlows"] = [{"threadFlows": [{"locations": flow}]}]
        result["relatedLocations"] = [
            {"id": number, **location} for number, location in enumerate(steps, start=1)
        ]
    if finding.fix is not None:
        there = finding.fix.filename
        result["fixes"] = [_fix(finding.fix, context.uri(there) if there else uri)]
    return result


def _fix(fix: Fix, uri: str) -> Json:
    replacements = [
        {"deletedRegion": _region(edit.span), "insertedContent": {"text": _inserted(edit)}}
        for edit in fix.edits
    ]
    change = {"artifactLocation": {"uri": uri}, "replacements": replacements}
    return {
        "description": _message(f"{fix.message} ({fix.safety.value})"),
        "artifactChanges": [change],
    }


def _inserted(edit: Edit) -> str:
    """The text of an edit as the file has it: in a notebook, within a string of JSON."""
    content = edit.content
    return content if edit.span.cell is None else json.dumps(content, ensure_ascii=False)[1:-1]


def _coverage(context: Context) -> Json:
    """Of the places where tensors meet, how many are decided, and what keeps others from it."""
    coverage = context.summary.coverage
    return {"decided": coverage.decided, "unknown": dict(coverage.unknown)}


def _withheld(context: Context) -> Json:
    """How many findings each row of policy withholds, and how many are withheld as less certain;
    nothing where none is."""
    by_policy, less_certain = withheld(context.summary)
    found: Json = {"withheldByPolicy": dict(sorted(by_policy.items()))} if by_policy else {}
    return {**found, "lessCertain": less_certain} if less_certain else found


def _shard(context: Context) -> Json:
    """Which part of a run it is, for `devlint merge`."""
    shard = context.summary.shard
    return {} if shard is None else {"shard": dict(shard)}


def _location(uri: str, span: Span, message: str | None = None) -> Json:
    place: Json = {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": _region(span)}}
    return place if message is None else {**place, "message": _message(in_cell(span) + message)}


def _message(text: str) -> Json:
    return {"text": unlinked(text)}


def _region(span: Span) -> Json:
    row, column, end_row, end_column = span.of_file
    return {
        "startLine": row,
        "startColumn": column,
        "endLine": end_row,
        "endColumn": end_column,
    }


def _invocation(context: Context) -> Json:
    failures = context.summary.failures
    invocation: Json = {"executionSuccessful": not failures}
    if failures:
        invocation["toolExecutionNotifications"] = [
            _notification(failure, context) for failure in failures
        ]
    return invocation


def _notification(failure: Failure, context: Context) -> Json:
    notification: Json = {"level": "error", "message": _message(failure.reason)}
    if failure.filename:
        artifact = {"artifactLocation": {"uri": context.uri(failure.filename)}}
        notification["locations"] = [{"physicalLocation": artifact}]
    return notification
