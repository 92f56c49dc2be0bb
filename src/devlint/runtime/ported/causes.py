"""What failed tests tell: a line of the project that is to blame, or why a test can't be ported."""

from __future__ import annotations

from dataclasses import dataclass, replace
from dis import opmap

from devlint.crashes.messages import may_be_about_devices
from devlint.runtime.collected import Mismatch
from devlint.runtime.explaining.caught import explain_error, text_of
from devlint.runtime.explaining.stack import Spot, raised
from devlint.runtime.guard.tracebacks import chain
from devlint.runtime.operands import OperandFacts, Site
from devlint.runtime.ported.code import Code
from devlint.runtime.ported.notes import Notes
from devlint.runtime.virtual.errors import NotEmulatedError


@dataclass(frozen=True, slots=True)
class NotPorted:
    """Why a test fails on the device though nothing is wrong with the project."""

    reason: str


def judge(error: BaseException, code: Code, notes: Notes) -> Mismatch | NotPorted | None:
    """What the error of a test means; None where it has nothing to do with devices."""
    if isinstance(error, AssertionError):
        return _asserted(error, code, notes)
    told = explain_error(error)
    links = [each for each in chain(error) if may_be_about_devices(text_of(each))]
    link = told.error if told is not None else next(reversed(links), None)
    if link is None:
        return None
    if isinstance(link, NotEmulatedError):
        return NotPorted(f"hits a limit of devlint: {text_of(link)}")
    stack, operands = raised(link.__traceback__), getattr(link, "devlint_operands", ())
    if stack and _is_raise(stack[-1]):
        return NotPorted("gets an error that isn't PyTorch's")
    site = _blamed(stack, operands, code)
    if site is None:
        return NotPorted("mixes devices itself")
    strays = [facts.site for facts in operands if facts.device == "cpu"]
    is_known = any(each and code.side_of(each.file) == "project" for each in strays)
    if notes.on_host and not is_known:
        return NotPorted(notes.on_host)
    site = notes.handed or site
    if told is None:
        first_line = text_of(link).partition("\n")[0]
        return Mismatch.unexplained(site.file, site.line, first_line, "failed")
    return replace(Mismatch.of(told.explanation, "failed"), file=site.file, line=site.line)


def _asserted(error: AssertionError, code: Code, notes: Notes) -> NotPorted | None:
    """Why a comparison of a test fails, if that is because of devices."""
    at = (
        spot for spot in reversed(raised(error.__traceback__)) if code.side_of(spot.file) == "test"
    )
    spot = next(at, None)
    reason = notes.at(spot.file, spot.line) if spot is not None else ""
    if not reason and may_be_about_devices(text_of(error)):
        reason = "compares devices"
    return NotPorted(reason) if reason else None


def _blamed(stack: list[Spot], operands: tuple[OperandFacts, ...], code: Code) -> Site | None:
    """The innermost line of the project's code that the test has run; where the error is raised
    in the test itself, the line of the project that has made an operand on the CPU."""
    for spot in reversed(stack):
        side = code.side_of(spot.file)
        if side == "project":
            return Site.of(spot.code, spot.line)
        if side == "test":
            break
    sites = (facts.site for facts in operands if facts.device == "cpu")
    return next((s for s in sites if s and code.side_of(s.file) == "project"), None)


def _is_raise(spot: Spot) -> bool:
    """Whether a line has raised an error itself, by a statement."""
    return spot.code.co_code[spot.instruction] == opmap["RAISE_VARARGS"]
