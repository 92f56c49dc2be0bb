"""DEV208: one of several modules is left on the CPU while what it meets has been moved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from devlint.flow.facts import ModuleCall, Operand, Origin, StrayPart, Symbol
from devlint.model import ir
from devlint.model.findings import Change, Hop, Level, Report, Safety, insert_after
from devlint.model.trees import is_named
from devlint.rules import rule
from devlint.rules._meetings import (
    apart,
    confidence,
    distinct,
    followed_by,
    is_left,
    is_own_place,
    place,
)
from devlint.rules._remedies import IN_SCOPE, devices_of, first_name


@rule("module-left-behind", on=ModuleCall)
def module_left_behind(call: ModuleCall) -> Iterator[Report]:
    """Report the making of a module that nobody has moved, but that gets what was moved."""
    if not is_left(call.module):
        return
    module = call.holder or call.module
    for given in call.inputs:
        if not apart(call.module, given, call.context):
            continue
        argument = given.origin is Origin.INPUT and isinstance(given.device, Symbol)
        yield Report(
            at=_making(module),
            message=_sentence(module, given),
            because=distinct((*module.trace, *given.trace, Hop(call.node, "they meet here"))),
            fix=_move(module, given),
            help=_help(module, given),
            level=Level.WARNING if argument else None,
            confidence=confidence(call.module.device, given.device),
        )
        return


@rule("module-left-behind", on=StrayPart)
def part_left_behind(stray: StrayPart) -> Iterator[Report]:
    """Report a layer that was put into a module after the module's move."""
    module, made = stray.module, _making(stray.part)
    if apart(stray.part, module, stray.context):
        yield Report(
            at=made,
            message=f"`{module}` was moved before this became its `{stray.name}`: it is "
            f"{place(stray.part.device)}, the rest {place(module.device)}",
            because=distinct((*module.trace, *stray.part.trace, Hop(stray.node, "called here"))),
            fix=_as_partner(made, module),
            help=f"move `{module}` after the last change, or move `{module}.{stray.name}` as well",
            confidence=confidence(stray.part.device, module.device),
        )


def _making(module: Operand) -> ir.Expr:
    """The call that made a module."""
    calls = (hop.node for hop in module.trace if isinstance(hop.node, ir.Call))
    return next(calls, module.node)


def _sentence(module: Operand, given: Operand) -> str:
    head = f"`{module}` is made on cpu and left there, but is called with `{given}`"
    if is_own_place(given):
        return f"{head}, which may be on an accelerator"
    return f"{head}, which is {place(given.device)}"


def _help(module: Operand, given: Operand) -> str:
    if is_named(given.node) and is_named(module.node):
        return f"move it first: `{module}.to({given}.device)`"
    if isinstance(given.device, Symbol) and given.device.is_spelled:
        return f"move it first: `{followed_by(module, f'.to({given.device.label})')}`"
    return f"move `{module}` to the device of `{given}`"


# --- fixes ---------------------------------------------------------------------------------


def _move(module: Operand, given: Operand) -> Change | None:
    """Move it where it is made, to where what it is called with is."""
    made = _making(module)
    if not isinstance(made, ir.Call):
        return None
    chosen: Change | None = None
    for words in reversed([*devices_of(given), IN_SCOPE]):
        rewrites = (insert_after(made, f".to({words.text})"),)
        together = () if words.told is None else (made, words.told)
        help = f"move it where it is made: `.to({words.text})`"
        chosen = Change(
            f"Move it to `{words.text}`", rewrites, Safety.UNSAFE, together,
            names=words.names, otherwise=chosen, help=help,
        )  # fmt: skip
    alike = _as_partner(made, given)
    return chosen if alike is None else replace(alike, otherwise=chosen)


def _as_partner(made: ir.Expr, partner: Operand) -> Change | None:
    """Move it by the words that moved its partner, where their names are bound."""
    moves = [hop.node for hop in partner.trace if isinstance(hop.node, ir.Call)]
    for move in reversed(moves):
        match move:
            case ir.Call(func=ir.Attribute(attr="to" | "cuda" as method), args=args) if len(
                args
            ) < 2 and all(_is_plain(arg) for arg in args):
                written = [ir.render(arg.value, 200) for arg in args]
                text = f".{method}({', '.join(written)})"
                names = tuple(
                    first_name(each)
                    for each, argument in zip(written, args, strict=True)
                    if not isinstance(argument.value, ir.Constant)
                )
                change = (insert_after(made, text),)
                help = f"move it where it is made: `{text}`"
                return Change(
                    f"Move it: `{text}`", change, Safety.UNSAFE, (move, made),
                    names=names, help=help,
                )  # fmt: skip
    return None


def _is_plain(argument: ir.Argument) -> bool:
    constant = isinstance(argument.value, ir.Constant)
    plain = argument.keyword is None and not argument.star
    return plain and (constant or is_named(argument.value))
