"""Files of which the running function tells what they hold. What it writes itself was saved on the
devices that it runs on; what it gives back as an array, or to a scheduler, is no tensor."""

from __future__ import annotations

from collections.abc import Hashable

from devlint.flow.frames.files import File
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.library import dotted
from devlint.flow.syntax.scan import MOVES
from devlint.flow.syntax.walk import descendants, nodes_of
from devlint.model import ir
from devlint.model.trees import key, last_name
from devlint.policy import means


def is_own(frame: Frame, node: ir.Call, name: str) -> bool:
    """Whether a call loads what the function has saved at the same path, on each way that leads to
    the call, what it makes and saves there where it is missing, an array, or numbers; a call that
    saves is remembered."""
    if name not in ("torch.save", "torch.load"):
        return False
    if name == "torch.load" and (_is_an_array(frame, node) or _is_of_scheduler(frame.file, node)):
        return True
    path = _path(node, int(name == "torch.save"))
    if path is None:
        return False
    if name == "torch.save":
        frame.saved.setdefault(path, frame.arm)
        return False
    if path in frame.saved and frame.arm in (None, frame.saved[path]):
        return True
    return frame.arm is not None and _is_made_where_missing(frame, frame.arm, node, path)


_OF_MODELS = MOVES | {"state_dict", "parameters", "backward", "step"}


def _is_made_where_missing(frame: Frame, arm: ir.If, load: ir.Call, path: Hashable) -> bool:
    """`if exists(path): x = load(path) else: ...; save(x, path)`: what the other branch makes there
    are data on the host, unless it moves something or has to do with a model."""
    for branch in (arm.body, arm.orelse):
        nodes = list(nodes_of(branch))
        calls = (node for node in nodes if isinstance(node, ir.Call))
        saves = (call for call in calls if dotted(frame, call.func) == "torch.save")
        if load not in nodes and any(_path(call, 1) == path for call in saves):
            attributes = {node.attr for node in nodes if isinstance(node, ir.Attribute)}
            return attributes.isdisjoint(_OF_MODELS)
    return False


def _is_an_array(frame: Frame, node: ir.Call) -> bool:
    """Whether the function returns what is loaded, and says that it returns an array."""
    function = frame.function
    if function is None or function.returns is None:
        return False
    if last_name(function.returns) not in _ARRAYS:
        return False
    inside = frame.world.descendants(function)
    return any(isinstance(each, ir.Return) and each.value is node for each in inside)


_ARRAYS = ("ndarray", "NDArray")


def _is_of_scheduler(file: File, node: ir.Call) -> bool:
    """Whether a scheduler of learning rates gets what is loaded: all its state are numbers."""
    return node in file.once(_given_to_schedulers, file.body)


def _given_to_schedulers(body: ir.Body) -> set[ir.Expr]:
    found: set[ir.Expr] = set()
    for node in nodes_of(body):
        match node:
            case ir.Call(
                func=ir.Attribute(value=owner, attr="load_state_dict"),
                args=(ir.Argument(value=given), *_),
            ) if means("scheduler", last_name(owner), "variable"):
                found.add(given)
    return found


def _path(node: ir.Call, position: int) -> Hashable:
    """What the file is named by; None where two that are spelled alike may be two files: of
    an f-string only the shape is known."""
    named = (argument.value for argument in node.args if argument.keyword == "f")
    path = next(named, node.args[position].value if len(node.args) > position else None)
    if path is None or any(isinstance(part, ir.Text) for part in descendants(path)):
        return None
    return key(path)
