"""Whether code names a device or moves something."""

from __future__ import annotations

from collections.abc import Iterable

from devlint.flow.syntax.programs import holds_tests, is_named_test
from devlint.flow.syntax.walk import descendants, mentions, statements_of, units
from devlint.model import ir
from devlint.policy import means


def speaks(nodes: Iterable[ir.Node]) -> bool:
    """Whether any of these nodes, in that order, names a device or moves something. What comments
    and docstrings say of devices changes nothing, nor does a seed: `torch.cuda.manual_seed(0)`."""
    said: set[ir.Node] = set()
    for node in nodes:
        match node:
            case ir.Evaluate(value=ir.Constant() as text):
                said.add(text)
            case ir.Call(
                func=ir.Attribute(value=generator, attr="manual_seed" | "manual_seed_all")
            ):
                said.add(generator)
            case _ if node not in said and _is_sign(node):
                return True
    return False


def _is_sign(node: ir.Node) -> bool:
    match node:
        case ir.Call(func=ir.Attribute(attr="to"), args=args):
            return not args or not all(map(_is_dtype, args))
        case ir.Call(func=ir.Attribute(attr="cuda")):
            return True
        case (
            ir.Name(id=word) | ir.Attribute(attr=word) | ir.Constant(value=str(word))
            | ir.Parameter(name=word) | ir.Function(name=word) | ir.Class(name=word)
            | ir.Argument(keyword=str(word)) | ir.ImportFrom(module=word)
        ):  # fmt: skip
            return _speaks(word)
        case ir.Alias(name=word, asname=other):
            return _speaks(word) or _speaks(other or "")
    return False


def _is_dtype(argument: ir.Argument) -> bool:
    """Whether what `.to(...)` is given moves nothing: `torch.float32`, `dtype=x.dtype`."""
    match argument.value:
        case ir.Attribute(value=ir.Name(id="torch"), attr=attr):
            return argument.keyword in (None, "dtype") and not _speaks(attr)
        case ir.Attribute(attr="dtype"):
            return True
    return argument.keyword == "dtype"


def _speaks(word: str) -> bool:
    return bool(means("speaks-of-devices", word, "word"))


def made_up_for_tests(body: ir.Body) -> frozenset[str]:
    """The classes of a file of tests that stay on the host: none but tests make objects of them,
    and neither these nor the classes ever speak of devices."""
    if not holds_tests(body):
        return frozenset()
    all_units = list(units(body))
    classes = [each for each in statements_of(body) if isinstance(each, ir.Class)]
    return frozenset(each.name for each in classes if _stays(each, all_units))


def _stays(made: ir.Class, all_units: list[ir.Stmt]) -> bool:
    users = [each for each in all_units if each not in made.body and mentions(each, made.name)]
    around = [each for each in all_units if made in descendants(each) and each is not made]
    used = [*users, *around]
    if not used or not all(map(is_named_test, used)):
        return False
    return not speaks(each for unit in (made, *used) for each in descendants(unit))
