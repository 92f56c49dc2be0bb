"""DEV110: a function takes a device and goes to another one."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.facts import Ignored, IgnoredDevice, Move, Role
from devlint.model import ir
from devlint.model.findings import Safety
from devlint.model.reports import (
    Anchor,
    Change,
    Report,
    Rewrite,
    insert_after,
    insert_before,
    replace,
    replace_tail,
)
from devlint.model.trees import dotted_name, written
from devlint.rules import rule


@rule("ignored-device-argument", on=IgnoredDevice)
def ignored_device_argument(fact: IgnoredDevice) -> Iterator[Report]:
    if fact.context.role in (Role.TEST, Role.DATA) and fact.how not in _RAISES:
        return
    name, function = fact.parameter, fact.function
    message, remedy, fix = {
        Ignored.UNREAD: _unread,
        Ignored.UNUSED: _unused,
        Ignored.REPLACED: _replaced,
        Ignored.OPTION: _option,
        Ignored.UNBOUND: _unbound,
        Ignored.OVERWRITTEN: _overwritten,
        Ignored.DROPPED: _dropped,
        Ignored.DEFAULTED: _defaulted,
        Ignored.LATE: _late,
        Ignored.MISSING: _missing,
    }[fact.how](fact, name, function)
    yield Report(at=fact.node, message=message, because=fact.instead, fix=fix, help=remedy)


_RAISES = (Ignored.UNBOUND, Ignored.MISSING)
_Said = tuple[str, str, Change | None]


def _unread(fact: IgnoredDevice, name: str, function: str) -> _Said:
    return (
        f"`{function}` never reads `{name}`, and uses another device",
        f"use `{name}` there, or remove the parameter",
        _keep(fact, name) if isinstance(fact.node, ir.Assign) else None,
    )


def _unused(fact: IgnoredDevice, name: str, function: str) -> _Said:
    return (
        f"`{function}` only sets a default for `{name}`, and uses another device",
        f"use `{name}` there, or remove the parameter",
        None,
    )


def _replaced(fact: IgnoredDevice, name: str, function: str) -> _Said:
    assert isinstance(fact.node, ir.Assign)
    attribute = ir.render(fact.node.targets[0])
    return (
        f"`{attribute}` is set a second time, before anything has read it",
        "keep the one that you meant",
        None,
    )


def _missing(fact: IgnoredDevice, name: str, function: str) -> _Said:
    return (
        f"`{fact.callee}` has to be given `{name}`: this call raises a TypeError",
        f"pass it: `{name}=...`",
        None,
    )


def _unbound(fact: IgnoredDevice, name: str, function: str) -> _Said:
    if not name:
        missing = ir.render(fact.node)
        binds = f"neither `{function}` nor the file binds it" if function else "nothing binds it"
        return (
            f"`{missing}` isn't defined: {binds}",
            "name a device that is there",
            None,
        )
    return (
        f"`{ir.render(fact.node)}` isn't defined here: `{function}` was given `{name}`",
        f"use `{name}`",
        None,
    )


def _option(fact: IgnoredDevice, name: str, options: str) -> _Said:
    call = fact.node
    assert isinstance(call, ir.Call)
    passed = f"{name}={options}.{name}"
    rewrite = insert_after(call.args[-1], f", {passed}")
    return (
        f"`{fact.callee}` gets other options of `{options}`, but not `{options}.{name}`",
        f"pass it on: `{passed}`",
        Change(f"Pass `{options}.{name}` on", (rewrite,), Safety.UNSAFE),
    )


def _overwritten(fact: IgnoredDevice, name: str, function: str) -> _Said:
    return (
        f"the `{name}` that `{function}` is given is overwritten before anything reads it",
        f"choose one only if none is given: `if {name} is None:`",
        _keep(fact, name),
    )


def _keep(fact: IgnoredDevice, name: str) -> Change | None:
    """Assign what was chosen only where nothing is given."""
    if not fact.optional or not isinstance(fact.node, ir.Assign) or fact.node.value is None:
        return None
    kept = insert_before(fact.node.value, f"{name} if {name} is not None else ")
    return Change(f"Choose only if no `{name}` is given", (kept,), Safety.UNSAFE)


def _dropped(fact: IgnoredDevice, name: str, function: str) -> _Said:
    call = fact.node
    assert isinstance(call, ir.Call)
    again = "itself" if fact.callee == function else f"`{fact.callee}`"
    return (
        f"`{function}` calls {again} without the `{name}` that it was given",
        f"pass it on: `{name}={name}`",
        _passing(call, f"{name}={name}", f"Pass `{name}` on"),
    )


def _defaulted(fact: IgnoredDevice, name: str, function: str) -> _Said:
    assert fact.at_hand is not None
    at_hand, text = ir.render(fact.at_hand), written(fact.at_hand)
    passed = f"{name}={at_hand}"
    return (
        f"`{fact.callee}` is called without `{name}`, and uses its default, not `{at_hand}`",
        f"pass it on: `{passed}`",
        _passing(fact.node, f"{name}={text}", f"Pass `{at_hand}` on") if text else None,
    )


def _passing(node: ir.Node, passed: str, what: str) -> Change | None:
    """A call gets one argument more."""
    assert isinstance(node, ir.Call)
    if not node.args:
        return Change(what, (replace_tail(node.func, node, f"({passed})"),), Safety.UNSAFE)
    if isinstance(node.args[-1].value, ir.Comprehension):
        return None  # it may have no parentheses of its own
    return Change(what, (insert_after(node.args[-1], f", {passed}"),), Safety.UNSAFE)


def _late(fact: IgnoredDevice, name: str, function: str) -> _Said:
    return (
        f"`{ir.render(fact.node)}` is still the old device here: `{name}` is stored further down",
        f"use `{name}`",
        Change(f"Use `{name}`", (replace(fact.node, name),), Safety.UNSAFE),
    )


_OTHER_WAY = {"cpu": ("cuda", "xpu"), "cuda": ("cpu",), "xpu": ("cpu",)}


@rule("ignored-device-argument", on=Move)
def override_that_goes_elsewhere(move: Move) -> Iterator[Report]:
    """`def cpu(self): return super().cuda()`."""
    method = move.context.function.rpartition(".")[2]
    if move.method not in _OTHER_WAY.get(method, ()):
        return
    receiver = move.receiver.node
    inherited = isinstance(receiver, ir.Call) and dotted_name(receiver.func) == "super"
    if not inherited:
        return
    tail = Rewrite(Anchor(receiver, "end"), Anchor(move.node, "end"), f".{method}()")
    yield Report(
        at=move.node,
        message=f"`{method}()` calls `{ir.render(receiver)}.{move.method}()`, the opposite move",
        fix=Change(f"Call `{method}()` of the parent", (tail,), Safety.SAFE),
        help=f"write `{ir.render(receiver)}.{method}()`",
    )
