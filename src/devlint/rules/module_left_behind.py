"""DEV208: one of several modules is left on the CPU while what it meets has been moved."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.facts import ModuleCall, Operand, Origin, StrayPart, Symbol
from devlint.model import ir
from devlint.model.findings import Level, Safety
from devlint.model.reports import Change, Hop, Report, chain, options
from devlint.model.trees import is_named, written
from devlint.rules import rule
from devlint.rules._meetings import (
    apart,
    confidence,
    creation,
    distinct,
    followed_by,
    is_left,
    is_own_place,
    place,
)
from devlint.rules._moving import suffix, with_guess
from devlint.rules._remedies import IN_SCOPE, Words, devices_of, names_in


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
            at=creation(module),
            message=_sentence(module, given),
            because=distinct((*module.trace, *given.trace, Hop(call.node, "they meet here"))),
            fix=_move(call, module, given),
            help=_help(module, given),
            level=Level.WARNING if argument else None,
            confidence=confidence(call.module.device, given.device),
            cause=creation(module),
            root=creation(module),
        )
        return


@rule("module-left-behind", on=StrayPart)
def part_left_behind(stray: StrayPart) -> Iterator[Report]:
    """Report a layer that was put into a module after the module's move."""
    module = stray.module
    made = stray.part.node if stray.inside else creation(stray.part)
    if apart(stray.part, module, stray.context):
        yield Report(
            at=made,
            message=f"`{module}` was moved before this became {_named(stray)}: {_left(stray)} is "
            f"{place(stray.part)}, the rest {place(module)}",
            because=distinct((*module.trace, *stray.part.trace, Hop(stray.node, "called here"))),
            fix=_with_the_rest(made, module),
            help=f"move `{module}` after the last change, or move {_whole(stray)} as well",
            confidence=confidence(stray.part.device, module.device),
            root=made,
        )


def _named(stray: StrayPart) -> str:
    return f"its `{stray.name}`" if stray.name else "a part of it"


def _left(stray: StrayPart) -> str:
    return f"its `{stray.inside}`" if stray.inside else "it"


def _whole(stray: StrayPart) -> str:
    return f"`{stray.module}.{stray.name}`" if stray.name else "that part"


def _sentence(module: Operand, given: Operand) -> str:
    head = f"`{module}` is made on cpu and left there, but is called with `{given}`"
    if is_own_place(given):
        return f"{head}, which may be on an accelerator"
    return f"{head}, which is {place(given)}"


def _help(module: Operand, given: Operand) -> str:
    if is_named(given.node) and is_named(module.node):
        return f"move it first: `{module}.to({given}.device)`"
    if isinstance(given.device, Symbol) and given.device.is_spelled:
        return f"move it first: `{followed_by(module, f'.to({given.device.label})')}`"
    return f"move `{module}` to the device of `{given}`"


# --- fixes ---------------------------------------------------------------------------------


def _move(call: ModuleCall, module: Operand, given: Operand) -> Change | None:
    """Move it where it is made, to where what it is called with is; or else where it is called."""
    made = creation(module)
    if not isinstance(made, ir.Call):
        return None
    devices = devices_of(given)
    if isinstance(module.value.data, frozenset):  # one of several that it may be
        return _behind(module.node, devices, None)
    chosen = _as_partner(made, given, constant=True)
    if call.holder is None:
        chosen = _behind(module.node, devices, chosen)
    chosen = _behind(made, with_guess(devices), chosen)
    return chain((*options(_as_partner(made, given)), *options(chosen)))


def _behind(node: ir.Expr, devices: list[Words], chosen: Change | None) -> Change | None:
    """Put a move behind an expression."""
    for words in reversed(devices):
        text = f".to({words.text})"
        rewrites = suffix(node, text)
        if rewrites:
            together = () if words.told is None else (node, words.told)
            chosen = Change(
                f"Move it to `{words.text}`", rewrites, Safety.UNSAFE, together,
                after=words.after, names=words.names,
                otherwise=chosen, help=_words(node, text), is_guess=words is IN_SCOPE,
            )  # fmt: skip
    return chosen


def _words(node: ir.Expr, text: str) -> str:
    if isinstance(node, ir.Call):
        return f"move it where it is made: `{text}`"
    return f"move it first: `{ir.render(node)}{text}`"


def _as_partner(made: ir.Expr, partner: Operand, constant: bool = False) -> Change | None:
    """Move it by the words that moved its partner, where their names are bound; or that have none,
    if they are to be `constant`."""
    moves = [hop.node for hop in partner.trace if isinstance(hop.node, ir.Call)]
    for move in reversed(moves):
        match move:
            case ir.Call(func=ir.Attribute(attr="to" | "cuda" as method), args=args) if len(
                args
            ) < 2 and all(_is_plain(arg) for arg in args):
                names = tuple(name for each in args for name in names_in(each.value))
                if constant is bool(names):
                    return None
                text = f".{method}({', '.join(written(arg.value) for arg in args)})"
                return Change(
                    f"Move it: `{text}`", suffix(made, text), Safety.UNSAFE, (move, made),
                    names=names, help=_words(made, text),
                )  # fmt: skip
    return None


def _with_the_rest(made: ir.Expr, module: Operand) -> Change | None:
    """Move a part to where its module is."""
    rest = [words for words in devices_of(module, module=True) if words.told is module.node]
    chosen = _behind(made, rest, _as_partner(made, module, constant=True))
    return chain((*options(_as_partner(made, module)), *options(chosen)))


def _is_plain(argument: ir.Argument) -> bool:
    constant = isinstance(argument.value, ir.Constant)
    plain = argument.keyword is None and not argument.star
    return plain and (constant or is_named(argument.value))
