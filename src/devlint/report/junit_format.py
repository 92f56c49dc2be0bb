"""JUnit's XML: a suite a file, a failed case a finding."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from xml.etree import ElementTree

from devlint.model.findings import Finding
from devlint.report.context import Context, severity
from devlint.safety.escaping import line


def render(findings: Sequence[Finding], context: Context) -> str:
    failures = context.summary.failures
    root = ElementTree.Element(
        "testsuites",
        name="devlint",
        tests=str(max(len(findings) + len(failures), 1)),
        failures=str(len(findings)),
        errors=str(len(failures)),
    )
    for filename, group in groupby(findings, key=lambda finding: finding.filename):
        here = list(group)
        path = context.relative_path(filename)
        suite = _suite(root, path, tests=len(here), failures=len(here))
        for finding in here:
            _case(suite, finding, path)
    for failure in failures:
        suite = _suite(root, failure.filename or "devlint", tests=1, errors=1)
        case = ElementTree.SubElement(suite, "testcase", name="devlint", classname="devlint")
        _message(case, "error", failure.reason, "failure", [failure.reason])
    if not findings and not failures:
        # Some readers take a report without a case for a broken one.
        suite = _suite(root, "devlint", tests=1)
        ElementTree.SubElement(suite, "testcase", name="No findings", classname="devlint")
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def _suite(
    root: ElementTree.Element, name: str, tests: int, failures: int = 0, errors: int = 0
) -> ElementTree.Element:
    return ElementTree.SubElement(
        root,
        "testsuite",
        name=line(name),
        tests=str(tests),
        failures=str(failures),
        errors=str(errors),
    )


def _case(suite: ElementTree.Element, finding: Finding, path: str) -> None:
    span = finding.span
    case = ElementTree.SubElement(
        suite,
        "testcase",
        name=line(f"{finding.code} {finding.name} ({span.place})"),
        classname=line(path),
        file=line(path),
        line=str(span.of_file[0]),
    )
    lines = [f"{path}:{span.place}: {finding.code} {finding.message}"]
    lines += [
        f"{step.filename or path}:{step.span.place}: {step.message}" for step in finding.trace
    ]
    lines += [f"help: {finding.help}"] if finding.help else []
    _message(case, "failure", finding.message, severity(finding.level), lines)


def _message(
    case: ElementTree.Element, tag: str, message: str, kind: str, lines: Sequence[str]
) -> None:
    element = ElementTree.SubElement(case, tag, message=line(message), type=kind)
    element.text = "\n".join(map(line, lines))
