"""Calls that don't come back: Python refuses arguments that don't fit, and nothing after them
runs."""

from __future__ import annotations

from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import NONE, Value
from devlint.flow.frames.arguments import Arguments, fits
from devlint.flow.frames.files import ClassInfo, Closure
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.library import name_in
from devlint.model import ir
from devlint.model.trees import called

REFUSED = NONE.but(trait=Trait.EXITS)
"""What a refused call gives: it raises a TypeError."""


def refuses(frame: Frame, closure: Closure, args: Arguments, receiver: Value | None) -> bool:
    """Whether Python refuses a call of a function, since the arguments don't fit its parameters.

    Of a method, only where the object is made in sight, so that its class is the one that is
    meant, and where nothing else may come between the call and the method.
    """
    if receiver is not None and not _is_exactly(frame.class_of(receiver), receiver):
        return False
    decorators = closure.node.decorators if isinstance(closure.node, ir.Function) else ()
    if not all(_keeps_parameters(name_in(closure.file, called(each))) for each in decorators):
        return False
    return not fits(closure.node.params[receiver is not None :], args)


def _is_exactly(info: ClassInfo | None, receiver: Value) -> bool:
    """Whether an object is of a class and of none of its subclasses, and the class is what its
    definition says: no metaclass, no decorator, one line of bases."""
    made = isinstance(receiver.data, tuple) and isinstance(receiver.data[0], ir.Call)
    if info is None or not made or info.is_open or info.method("__new__"):
        return False
    return all(
        len(each.node.bases) < 2
        and not each.node.decorators
        and not any(base.keyword or base.star for base in each.node.bases)
        for each in info.lineage()
    )


def _keeps_parameters(decorator: str) -> bool:
    """Whether what a decorator gives takes the parameters of what it is given."""
    return decorator.startswith("torch.") or decorator in (
        "builtins.staticmethod",
        "builtins.classmethod",
    )


def is_left_to_subclasses(closure: Closure, receiver: Value | None) -> bool:
    """Whether a method of `self` ends in `raise NotImplementedError`: what a subclass has in its
    place comes back."""
    if receiver is None or receiver.trait is not Trait.SELF:
        return False
    last = closure.node.body[-1] if isinstance(closure.node, ir.Function) else None
    if not isinstance(last, ir.Raise) or last.value is None:
        return False
    return name_in(closure.file, called(last.value)) == "builtins.NotImplementedError"
