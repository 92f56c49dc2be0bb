"""A program that uses what is public, for type checkers: nothing runs it, they only read it.

The release has mypy and pyright read it in their strict modes, beside the installed wheel.
"""

# pyright: strict

from __future__ import annotations

from pathlib import Path

from typing_extensions import assert_type

import devlint

assert_type(devlint.__version__, str)


def lint(folder: Path) -> list[str]:
    findings = devlint.check([folder, "train.py"], {"select": ["DEV2"]})
    assert_type(findings, list[devlint.Finding])
    findings += devlint.check(folder)
    findings += devlint.check_text(b"import torch\n", filename="a.py")
    return [describe(finding) for finding in findings]


def describe(finding: devlint.Finding) -> str:
    assert_type(finding.span.row, int)
    assert_type(finding.score, int)
    assert_type(finding.sorts, tuple[str, ...])
    edits = finding.fix.edits if finding.fix is not None else ()
    return " ".join([finding.message, *(edit.content for edit in edits), finding.trace[0].message])


def failures(folder: str) -> tuple[str, ...]:
    try:
        devlint.check(folder)
    except devlint.CheckError as error:
        assert_type(error.findings, tuple[devlint.Finding, ...])
        return error.reasons
    return ()


@devlint.guarded
def train(epochs: int) -> float:
    return float(epochs)


@devlint.guarded(mode="collect")
def evaluate(epochs: int) -> float:
    return train(epochs)


def run() -> None:
    with (
        devlint.emulate("cuda", count=2),
        devlint.guard(mode="trace"),  # pyright: ignore[reportUnknownMemberType] - torch isn't there
    ):
        assert_type(train(2), float)
        assert_type(evaluate(epochs=2), float)
    installed = devlint.install_guard(when="first-batches")
    installed.remove()
    try:
        train(1)
    except devlint.DeviceMismatchError as error:
        assert_type(error.torch_message, str)


def wrong() -> None:
    devlint.check(3)  # type: ignore[arg-type]
    devlint.check_text("x = 1", settings=["DEV2"])  # type: ignore[arg-type]
