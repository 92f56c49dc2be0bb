"""Files that are programs: what they do holds for all that they use."""

from __future__ import annotations

from devlint.model import ir
from devlint.model.trees import dotted_name


def runs(body: ir.Body) -> bool:
    """Whether a file does something where it is run, besides defining and importing."""
    for statement in body:
        match statement:
            case ir.Evaluate(value=ir.Call()) | ir.For() | ir.While() | ir.With():
                return True
            case ir.If(test=ir.Compare(left=ir.Name(id="__name__"))):
                return True
    return False


def trains(body: ir.Body) -> bool:
    """Whether a file imports torch's optimizers, and is run by its name; or makes one wherever it
    is run or imported, as programs and notebooks do."""
    optimizes = runs = False
    for statement in body:
        match statement:
            case ir.Import(names=names):
                optimizes |= any(each.name.startswith("torch.optim") for each in names)
            case ir.ImportFrom(module=module, names=names):
                optimizes |= module.startswith("torch.optim")
                optimizes |= module == "torch" and any(each.name == "optim" for each in names)
            case ir.If(test=ir.Compare(left=ir.Name(id="__name__")), body=inside):
                runs = True
                optimizes |= any(map(_makes_optimizer, inside))
            case ir.Assign() if _makes_optimizer(statement):
                return True
    return optimizes and runs


def _makes_optimizer(statement: ir.Stmt) -> bool:
    match statement:
        case ir.Assign(value=ir.Call(func=func)):
            return dotted_name(func).removeprefix("torch.").startswith("optim.")
    return False
