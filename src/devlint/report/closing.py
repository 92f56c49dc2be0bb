"""The last line of the formats for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from devlint.model.findings import Coverage, Finding, Level
from devlint.report.context import Summary, count_fixable, withheld
from devlint.report.text import Line


def closing(findings: Sequence[Finding], summary: Summary) -> list[Line]:
    """What was found and fixed, in one line; none where the run is to be quiet."""
    if not summary.closing:
        return []
    above = [*fixed_lines(summary.fixes), []] if summary.fixes else []
    if summary.coverage.meetings:
        above.append([(covered(summary.coverage), "")])
    text = f"Fixed {plural(summary.fixed, 'finding')}. " if summary.fixed else ""
    if not findings:
        return [*above, [(f"{text}{clean(summary)}{aside(summary)}", "")]]
    files = plural(len({finding.filename for finding in findings}), "file")
    text += f"Found {kinds(findings)} in {files}."
    safe, unsafe = count_fixable(findings)
    if safe:
        more = f" ({unsafe} more with --unsafe-fixes)" if unsafe else ""
        text += f" [*] {safe} fixable with --fix{more}."
    elif unsafe:
        text += f" {unsafe} fixable with --fix --unsafe-fixes."
    return [*above, [(f"{text}{aside(summary)}", "")]]


def kinds(findings: Sequence[Finding]) -> str:
    """`2 errors, 1 warning`; "" for none."""
    errors = sum(finding.level is Level.ERROR for finding in findings)
    warnings = sum(finding.level is Level.WARNING for finding in findings)
    notes = len(findings) - errors - warnings
    counts = ((errors, "error"), (warnings, "warning"), (notes, "note"))
    return ", ".join(plural(count, word) for count, word in counts if count)


def fixed_lines(fixed: Sequence[Finding], verb: str = "Fixed") -> list[Line]:
    """What was fixed, by file and rule."""
    by_file: dict[str, Counter[tuple[str, str]]] = {}
    for finding in fixed:
        by_file.setdefault(finding.filename, Counter())[finding.code, finding.name] += 1
    lines: list[Line] = [[(f"{verb} {kinds(fixed)}:", "")]]
    for filename, rules in sorted(by_file.items()):
        lines.append([("- ", ""), (filename, "strong"), (":", "")])
        width = len(str(max(rules.values())))
        for (code, name), count in sorted(rules.items(), key=lambda rule: (-rule[1], rule[0])):
            times = f"    {count:>{width}} \N{MULTIPLICATION SIGN} "
            lines.append([(times, ""), (code, "strong"), (f" ({name})", "")])
    return lines


def aside(summary: Summary) -> str:
    """What isn't shown, as sentences."""
    rows, uncertain = withheld(summary)
    return left_out(summary) + _by_policy(rows) + _less_certain(uncertain)


def _by_policy(rows: Mapping[str, int]) -> str:
    """How many findings policy withholds, and by which rows, as a sentence; "" for none."""
    count = sum(rows.values())
    if not count:
        return ""
    names = ", ".join(sorted(rows, key=lambda row: (-rows[row], row)))
    why = "`devlint why FILE:LINE` says why"
    return f" {plural(count, 'finding')} withheld by policy ({names}): {why}."


def _less_certain(count: int) -> str:
    """How many findings only `--pedantic` shows, as a sentence; "" for none."""
    return f" {plural(count, 'less certain finding')}: --pedantic." if count else ""


_MOST_CAUSES = 3


def covered(coverage: Coverage) -> str:
    """How much was decided: what is silent may be clean, or unknown."""
    unknown = coverage.meetings - coverage.decided
    places = plural(coverage.meetings, "place")
    text = f"Decided {coverage.decided} of {places} where tensors meet"
    if not unknown:
        return f"{text}."
    causes = (f"{count} by {cause}" for cause, count in coverage.unknown[:_MOST_CAUSES])
    return f"{text}, {unknown} unknown ({', '.join(causes)})."


def left_out(summary: Summary) -> str:
    """How many findings an older revision has too, as a sentence; "" for none."""
    count = sum(summary.older.values())
    if not count:
        return ""
    verb = "isn't" if count == 1 else "aren't"
    return f" {plural(count, 'finding')} that `{summary.since}` has too {verb} shown."


def clean(summary: Summary) -> str:
    """A sentence on a run that found nothing."""
    if summary.failures:
        problems = plural(len(summary.failures), "problem")
        if not summary.files:
            return f"Nothing was checked: {problems}."
        return f"Found nothing, but {problems} kept devlint from checking everything."
    if not summary.files:
        return "Nothing was checked."
    if summary.older:
        return f"Found nothing new in {plural(summary.files, 'file')}."
    return f"All checks passed in {plural(summary.files, 'file')}."


def plural(count: int, word: str) -> str:
    """`1 file`, `2 files`."""
    return f"{count} {word}{'' if count == 1 else 's'}"
