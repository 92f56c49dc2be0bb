"""When a class's methods run: those that nobody calls, those that only constructors call, and those
of a module that try or export it as it was made."""

from __future__ import annotations

from devlint.flow.frames.files import ClassInfo, File
from devlint.flow.syntax.walk import descendants, units
from devlint.model import ir
from devlint.policy import means


def is_out_of_use(info: ClassInfo, name: str) -> bool:
    """Whether nobody calls a method: Python hides `__shift` from all but its class, and that
    doesn't mention it."""
    hidden = name.startswith("__") and not name.endswith("__")
    return hidden and not any(
        isinstance(node, ir.Attribute) and node.attr.endswith(name)
        for statement in info.file.body
        for node in descendants(statement)
    )


def is_asked_by_constructors(file: File, method: str) -> bool:
    """Whether the calls of a method of that name in a file all stand in constructors, of what has
    the called object as a part."""
    return method in file.once(_asked_by_constructors, file)


def _asked_by_constructors(file: File) -> set[str]:
    early, late = set[str](), set[str]()
    for function in units(file.body):
        if isinstance(function, ir.Function):
            found = file.scan(function)
            of_itself = found.methods & found.self_calls
            early |= found.methods if function.name == "__init__" else set()
            late |= of_itself if function.name == "__init__" else found.methods
    return early - late


def is_exporting(info: ClassInfo, method: str) -> bool:
    """Whether a method of a module exports its own object, or only such methods of its class call
    it: a model is exported on the host, with examples that are made there."""
    scan = info.file.scan
    if not info.is_module:
        return False
    if scan(info.methods[method]).exports:
        return True
    calling = [scan(each) for each in info.methods.values() if method in scan(each).self_calls]
    return method != "forward" and bool(calling) and all(each.exports for each in calling)


def is_trying_itself(info: ClassInfo, method: ir.Function) -> bool:
    """Whether a method of a module only tries it out, as it was made: it needs nothing to be given,
    takes nothing from a loop, gives nothing back (`test(self)`), and chooses no device."""
    if not info.is_module or not means("trial-run", method.name, "function") or not method.params:
        return False
    if any(parameter.default is None for parameter in method.params[1:]):
        return False
    scan = info.file.scan(method)
    loops = any(isinstance(each, (ir.For, ir.While)) for each in method.body)
    chooses = any(_chooses_device(node, method.params[0].name) for node in descendants(method))
    return not (loops or chooses or scan.yields or any(scan.returned))


def _chooses_device(node: ir.Node, this: str) -> bool:
    """`torch.rand(3, device="cuda")`, `x.cuda()` of anything but the module itself."""
    if not isinstance(node, ir.Call):
        return False
    match node.func:
        case ir.Attribute(value=moved, attr="cuda" | "to"):
            return not (isinstance(moved, ir.Name) and moved.id == this)
    return any(each.keyword == "device" for each in node.args)
