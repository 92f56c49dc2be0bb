"""Guards that stand around a whole function, class or file: decorators, pytest's marks, names."""

from __future__ import annotations

from devlint.flow.domain.values import Condition
from devlint.flow.facts import Guard
from devlint.flow.frames.frame import Frame
from devlint.flow.syntax.walk import names_assigned
from devlint.model import ir
from devlint.model.trees import called, dotted_name, words
from devlint.policy import means

FOR_ACCELERATORS = frozenset(("triton", "tilelang", "cutlass", "gluon", "cuda"))
COMPILES = frozenset(("jit", "njit", "kernel", "vectorize", "guvectorize", "autotune"))
"""Decorators of kernels: the last word, and one of those before it where the kernels need an
accelerator."""


def guard_of_file(body: ir.Body) -> Guard:
    """The guard of a whole file: what defines kernels for CUDA is run where it is."""
    return Guard.CHOSEN if any(map(_defines_kernel, body)) else Guard.NONE


def _defines_kernel(node: ir.Stmt) -> bool:
    """Whether a statement of a file defines a kernel of Triton or its like, perhaps under a
    condition."""
    match node:
        case ir.If(body=body):
            return any(map(_defines_kernel, body))
        case ir.Function(decorators=decorators):
            spelled = (dotted_name(called(each)).split(".") for each in decorators)
            return any(w[-1] in COMPILES and FOR_ACCELERATORS & {*w} for w in spelled)
    return False


def guard_of(frame: Frame, outer: Guard, decorators: tuple[ir.Expr, ...]) -> Guard:
    """The guard of what these decorators stand on."""
    if outer is Guard.NONE and any(needs_accelerator(frame, each) for each in decorators):
        return Guard.CHOSEN
    return outer


def needs_accelerator(frame: Frame, node: ir.Expr) -> bool:
    """Whether a decorator or a mark has to do with accelerators, by its words, or by those of what
    the file stores under its name; or by the name under which its arguments were stored."""
    stored = _stored(frame, node)
    names = [*words(node), *(() if stored is None else words(stored))]
    if any(means("about-devices", each, "decorator") for each in names):
        return True
    skips = any(means("skips", each, "decorator") for each in names)
    if isinstance(node, (ir.Name, ir.Attribute)) and skips:
        return True  # `@skip_unless_built`: where that skips is written elsewhere
    arguments = node.args if isinstance(node, ir.Call) else ()
    return any(_is_condition(frame, argument.value) for argument in arguments)


def _stored(frame: Frame, node: ir.Expr) -> ir.Expr | None:
    """What the file's top level stores under a name, once; else None."""
    if not isinstance(node, ir.Name):
        return None
    assigns = (each for each in frame.file.body if isinstance(each, ir.Assign))
    found = [each.value for each in assigns if node.id in names_assigned((each,))]
    return found[0] if len(found) == 1 else None


def _is_condition(frame: Frame, node: ir.Expr) -> bool:
    value = frame.look_up(node.id) if isinstance(node, ir.Name) else None
    found = None if value is None else value.data
    return isinstance(found, Condition) and bool(found.true or found.false)
