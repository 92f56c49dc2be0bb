"""A page to look at: each finding with its source, lanes of its values, its fix and its reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import PurePath

from devlint import __version__
from devlint.config.rulebook import page_url
from devlint.model.findings import Confidence, Finding, Fix, Safety
from devlint.model.spans import LineIndex
from devlint.report.changes import hunks
from devlint.report.closing import aside, clean, covered, fixed_lines, kinds, plural
from devlint.report.context import Context, count_fixable, severity
from devlint.report.html.excerpt import chip, excerpt
from devlint.report.html.markup import code, prose, text
from devlint.report.html.page import BUTTONS, GAP, page


def render(findings: Sequence[Finding], context: Context) -> str:
    """All findings as one HTML page."""
    files = [(name, list(group)) for name, group in groupby(findings, lambda each: each.filename)]
    main = "".join(_files(files, context))
    if not findings:
        main = f'<p class="clean">{prose(clean(context.summary))}</p>\n'
    body = (
        _header(findings, context)
        + _filters(findings, context)
        + '<div class="columns">\n'
        + _contents(files, context)
        + f'<main id="main" tabindex="-1">\n{_failures(context)}{main}</main>\n</div>\n'
    )
    return page(f"devlint: {kinds(findings) or 'no findings'}", body, "findings")


# --- above


def _header(findings: Sequence[Finding], context: Context) -> str:
    summary = context.summary
    lines = [f"{plural(summary.files, 'file')} checked" if summary.files else ""]
    if summary.coverage.meetings:
        lines.append(covered(summary.coverage))
    lines.append(aside(summary).strip())
    safe, unsafe = count_fixable(findings)
    if safe or unsafe:
        lines.append(f"Fixable: {safe} with `--fix`, {unsafe} more with `--unsafe-fixes`.")
    if summary.fixed:
        lines.append(f"Fixed {plural(summary.fixed, 'finding')}.")
    said = "".join(f"<p>{prose(line)}</p>\n" for line in lines if line)
    if summary.fixes:
        listed = "\n".join("".join(part for part, _ in line) for line in fixed_lines(summary.fixes))
        said += f"<pre>{'<br>'.join(map(text, listed.splitlines()))}</pre>\n"
    levels = Counter(severity(finding.level) for finding in findings)
    counts = "".join(
        f'<li class="level {level}"><b>{levels[level]:,}</b> '
        f"{level}{'s' * (levels[level] != 1)}</li>"
        for level in ("error", "warning", "note")
        if levels[level]
    )
    return (
        f'<header>\n<div class="bar"><h1>Device findings</h1><p class="by">devlint '
        f"{text(__version__)}</p>{BUTTONS}</div>\n"
        f'<ul class="counts" aria-label="Findings by level">{counts}</ul>\n{said}</header>\n'
    )


def _filters(findings: Sequence[Finding], context: Context) -> str:
    rules = Counter((finding.code, finding.name) for finding in findings)
    levels = Counter(severity(finding.level) for finding in findings)
    folders = Counter(
        folder
        for finding in findings
        for folder in _folders(context.relative_path(finding.filename))
    )
    lowest = min((finding.score for finding in findings), default=0)
    rule_options = [
        (code, f"{code} {name} ({count:,})") for (code, name), count in sorted(rules.items())
    ]
    folder_options = [(name, f"{name} ({count:,})") for name, count in sorted(folders.items())]
    level_options = [(level, f"{level} ({count:,})") for level, count in levels.items()]
    return (
        '<form id="filter" role="search" aria-label="Filter the findings" hidden>\n'
        f"{_select('rule', 'Rule', rule_options)}{_select('folder', 'Folder', folder_options)}"
        f"{_select('level', 'Level', sorted(level_options))}"
        f'<label for="confidence">Confidence <output id="confidence-value">{lowest}</output> % '
        f'or more<input type="range" id="confidence" min="{lowest}" max="100" value="{lowest}">'
        "</label>"
        '<label for="words">Text<input type="search" id="words" autocomplete="off"></label>'
        '<button type="reset">Reset</button>\n'
        '<p id="count" role="status"></p>\n</form>\n'
    )


def _select(name: str, label: str, options: Sequence[tuple[str, str]]) -> str:
    listed = "".join(
        f'<option value="{text(value)}">{text(words)}</option>' for value, words in options
    )
    return (
        f'<label for="{name}">{label}<select id="{name}"><option value="">all</option>{listed}'
        "</select></label>"
    )


def _folders(path: str) -> Iterator[str]:
    """The folders that a file lies in, the outermost first."""
    above = [folder.as_posix() for folder in PurePath(path).parents]
    yield from reversed([folder for folder in above if folder not in (".", "/")])


# --- at the side


def _contents(files: Sequence[tuple[str, list[Finding]]], context: Context) -> str:
    items = "".join(
        f'<li data-file="{number}"><a href="#file{number}">{text(context.relative_path(name))}</a> '
        f'<span class="many">{len(group):,}</span></li>\n'
        for number, (name, group) in enumerate(files)
    )
    return (
        f'<nav aria-label="Files">\n<h2>Files</h2>\n<ul>\n{items}</ul>\n</nav>\n' if items else ""
    )


def _failures(context: Context) -> str:
    failures = "".join(
        f"<li>{text(failure.filename)}{': ' * bool(failure.filename)}{text(failure.reason)}</li>"
        for failure in context.summary.failures
    )
    return (
        f'<section class="failures" aria-labelledby="failed"><h2 id="failed">Not checked</h2>'
        f"<ul>{failures}</ul></section>\n"
        if failures
        else ""
    )


# --- findings


def _files(files: Sequence[tuple[str, list[Finding]]], context: Context) -> Iterator[str]:
    count = 0
    for number, (name, group) in enumerate(files):
        path = context.relative_path(name)
        sources = _Sources(name, context)
        yield f'<section class="file" id="file{number}" aria-labelledby="name{number}">\n'
        yield f'<h2 id="name{number}">{text(path)}</h2>\n'
        for finding in group:
            count += 1
            yield _finding(finding, count, path, sources)
        yield "</section>\n"


class _Sources:
    """The texts that the findings of one file are about; read once, those of others as well."""

    def __init__(self, filename: str, context: Context) -> None:
        self._context = context
        self._known: dict[str, LineIndex | None] = {}
        self._filename = filename

    def of(self, finding: Finding) -> tuple[dict[str, LineIndex], list[str]]:
        """The texts by file, "" for the finding's own, and the names of those that are gone."""
        there = [] if finding.fix is None else [finding.fix.filename]
        names = dict.fromkeys(["", *(step.filename for step in finding.trace), *there])
        found = {name: self.text(name) for name in names}
        gone = [self.name(name) for name, source in found.items() if source is None]
        return {name: source for name, source in found.items() if source is not None}, gone

    def name(self, filename: str) -> str:
        """How a file is shown; "" is the findings' own."""
        return self._context.relative_path(filename or self._filename)

    def text(self, name: str) -> LineIndex | None:
        if name not in self._known:
            read = self._context.sources(name or self._filename)
            self._known[name] = None if read is None else LineIndex(read)
        return self._known[name]


def _finding(finding: Finding, number: int, path: str, sources: _Sources) -> str:
    level, place = severity(finding.level), f"{path}:{finding.span.place}"
    texts, gone = sources.of(finding)
    uncertain = finding.confidence is Confidence.MEDIUM
    aside = ", only a run decides one of the devices" if uncertain else ""
    changes = ""
    if finding.fix is not None:
        there = finding.fix.filename
        place_of_fix = sources.name(there) if there else path
        changes = _fix(finding.fix, texts.get(there), place_of_fix)
    remedy = f'<p class="help"><b>Help:</b> {prose(finding.help)}</p>\n' if finding.help else ""
    return (
        f'<article class="finding {level}" id="f{number}" tabindex="-1" '
        f'aria-labelledby="h{number}" data-rule="{text(finding.code)}" data-level="{level}" '
        f'data-confidence="{finding.score}" data-path="{text(path)}">\n'
        f'<h3 id="h{number}"><span class="level {level}">{level}</span> '
        f'<a href="{text(page_url(finding.name))}">{text(finding.code)} {text(finding.name)}</a> '
        f'<a class="place" href="#f{number}">{text(place)}</a></h3>\n'
        f'<p class="message">{prose(finding.message)}</p>\n'
        f"{excerpt(finding, texts, sources.name, gone)}{remedy}{changes}"
        f'<p class="sure">Confidence {finding.score} %{aside}</p>\n'
        f"{_derivation(finding, sources)}</article>\n"
    )


def _fix(fix: Fix, source: LineIndex | None, path: str) -> str:
    safe = fix.safety is Safety.SAFE
    flags = "safe, `--fix`" if safe else "unsafe, `--fix --unsafe-fixes`"
    rows: list[str] = []
    cell = 0
    for hunk in hunks(source, fix) if source is not None else ():
        if hunk.cell and hunk.cell != cell:
            rows.append(f'<div class="row gap">{text(path)}, cell {hunk.cell}</div>\n')
        elif rows:
            rows.append(GAP)
        cell = hunk.cell
        for row in hunk.rows:
            word, css = ("removed", "del") if row.sign == "-" else ("added", "ins")
            rows.append(
                f'<div class="row {css}"><span class="no">{row.row}</span>'
                f'<span class="sign" aria-hidden="true">{row.sign}</span>'
                f'<span class="sr">{word}: </span>'
                f'<code class="src">{code(row.text, around=row.column)}</code></div>\n'
            )
    shown = f'<div class="excerpt" role="group" aria-label="The fix">\n{"".join(rows)}</div>\n'
    said = f"{fix.message}, in `{path}`" if fix.filename else fix.message
    return (
        f'<details class="fix" open><summary>Fix: {prose(said)} ({prose(flags)})</summary>\n'
        f"{shown if rows else ''}</details>\n"
    )


def _derivation(finding: Finding, sources: _Sources) -> str:
    if not finding.trace and not finding.sorts:
        return ""
    steps = "".join(
        f"<li>{f'<code>{text(step.value)}</code> ' if step.value else ''}"
        f"{chip(step.device) + ' ' if step.device else ''}{prose(step.message)} "
        f'<span class="place">{text(sources.name(step.filename))}:{step.span.place}</span></li>\n'
        for step in finding.trace
    )
    sorts = " ".join(f"<code>{text(sort)}</code>" for sort in finding.sorts)
    known = f'<p class="sorts">Known by: {sorts}</p>\n' if sorts else ""
    return (
        f"<details><summary>How this is known</summary>\n"
        f"{f'<ol>{steps}</ol>' if steps else ''}{known}</details>\n"
    )
