"""Devices by their names: `"cuda"`, `torch.device("cuda:0")`, `"cuda" if there else "cpu"`."""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from devlint.migrate.moves import SEVERAL, counts, current
from devlint.migrate.scene import Scene
from devlint.migrate.syntax import (
    argument,
    cuda_index,
    cuda_of_index,
    dotted,
    grouped,
    integer,
    is_cuda_text,
    spelled,
    string,
)

_NAMED = frozenset({"DEV103", "DEV104"})


def device_made(scene: Scene, original: cst.Call, updated: cst.Call) -> cst.BaseExpression | None:
    """`torch.device("cuda")`, `torch.device("cuda", index)`, and a choice between two strings."""
    if scene.library(original.func) != "torch.device" or not original.args:
        return None
    first, second = argument(original, 0, "type"), argument(original, 1, "index")
    if first is None:
        return None
    value = first.value
    if isinstance(value, cst.IfExp):
        # The strings in it are converted by themselves; one that asks for CUDA alone is a choice.
        if not _is_choice(scene, value) or cuda_of_index(value.body) is not None:
            return None
        if choice_of_cuda(scene, value):
            return scene.code(scene.choice.device)
        if not scene.choice.has_accelerator:
            return None
        converted = updated.args[original.args.index(first)].value
        assert isinstance(converted, cst.IfExp)
        chosen, cpu = grouped(scene.code(scene.choice.device)), scene.code('torch.device("cpu")')
        return converted.with_changes(body=chosen, orelse=cpu)
    index: cst.BaseExpression | None = cuda_of_index(value)
    if second is not None and cuda_index(value) == -1:
        index = second.value if integer(second.value) is None else None
    elif index is None and cuda_index(value) is None and integer(value) is None:
        return None
    if index is None and not _is_single(scene, original, value):
        return None
    if index is not None and _is_one_of_several(scene, original, index):
        return None
    if not _is_followed(scene, original):
        return None
    scene.done["devices"] += 1
    if index is not None:
        current(scene, original, index)
    return _chosen_at(scene, original)


def _is_followed(scene: Scene, node: cst.CSTNode) -> bool:
    """Whether a device that is written out is to follow the choice: not in a comparison."""
    return not isinstance(scene.parent(node), (cst.Comparison, cst.ComparisonTarget))


def _is_single(scene: Scene, node: cst.CSTNode, value: cst.BaseExpression) -> bool:
    """Whether a fixed index is the only one of the project."""
    index = integer(value) if cuda_index(value) is None else cuda_index(value)
    if index is not None and index >= 0 and len(scene.project.indices) > 1:
        scene.leave(node, SEVERAL)
        return False
    return True


def _is_one_of_several(scene: Scene, node: cst.CSTNode, index: cst.BaseExpression) -> bool:
    """Whether an index is another one at each turn of a loop."""
    if counts(scene, node, index):
        scene.leave(node, SEVERAL)
        return True
    return False


def _chosen_at(scene: Scene, node: cst.BaseExpression) -> cst.BaseExpression:
    """The device; where it gets its name, or another one, the choice itself."""
    if isinstance(assigned(scene, node), cst.Name):
        return scene.code(scene.choice.device)
    return scene.device_expression(node)


def assigned(scene: Scene, node: cst.CSTNode) -> cst.BaseExpression | None:
    """The name or attribute that an expression is assigned to, as a whole."""
    above = scene.parent(node)
    if isinstance(above, cst.Assign) and len(above.targets) == 1:
        return above.targets[0].target
    if isinstance(above, cst.AnnAssign):
        return above.target
    return None


def text(scene: Scene, original: cst.BaseExpression) -> cst.BaseExpression | None:
    """`"cuda"` where it means a device."""
    if not is_cuda_text(original) or not _means_device(scene, original):
        return None
    index = cuda_of_index(original)
    if index is None and not _is_single(scene, original, original):
        return None
    if index is not None and _is_one_of_several(scene, original, index):
        return None
    scene.done["devices"] += 1
    if index is not None:
        current(scene, original, index)
    target = assigned(scene, original)
    if isinstance(target, cst.Name):
        return scene.code(scene.choice.string)
    if _takes_device(scene, original):
        return scene.device_expression(original)
    return cst.Call(cst.Name("str"), [cst.Arg(scene.device_expression(original))])


def number(scene: Scene, original: cst.Integer) -> cst.BaseExpression | None:
    """`x.to(0)`."""
    if "DEV104" not in scene.codes(original) or not _takes_device(scene, original):
        return None
    if not _is_single(scene, original, original):
        return None
    scene.done["devices"] += 1
    return scene.device_expression(original)


def _means_device(scene: Scene, node: cst.BaseExpression) -> bool:
    """Whether a string names the device that something goes to."""
    above = scene.parent(node)
    if isinstance(above, cst.IfExp):
        return False  # a choice, as a whole
    if isinstance(above, cst.Arg):
        call = scene.parent(above)
        if isinstance(call, cst.Call) and scene.library(call.func) in (
            "torch.device", "torch.autocast", "torch.amp.autocast", "torch.amp.GradScaler",
        ):  # fmt: skip
            return False  # the call, as a whole
    if isinstance(above, cst.Arg) and m.matches(above, m.Arg(keyword=m.Name("default"))):
        return True  # of an option, `--device`
    if isinstance(above, cst.Arg) and _is_of_device(scene, above):
        return True
    return bool(_NAMED & set(scene.codes(node))) or _takes_device(scene, node)


def _is_of_device(scene: Scene, arg: cst.Arg) -> bool:
    """Whether an argument of a function of this file, or one by its name, is a device."""
    if arg.keyword is not None:
        return arg.keyword.value in ("device", "map_location")
    call = scene.parent(arg)
    if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Name):
        return False
    return scene.bindings.takes_device(call.func.value, call.args.index(arg))


def _takes_device(scene: Scene, node: cst.BaseExpression) -> bool:
    """Whether a `torch.device` may stand where a string does."""
    arg = scene.parent(node)
    if not isinstance(arg, cst.Arg):
        return False
    call = scene.parent(arg)
    if not isinstance(call, cst.Call):
        return False
    word = arg.keyword.value if arg.keyword is not None else ""
    if m.matches(call.func, m.Attribute(attr=m.Name("to"))):
        return word in ("", "device") and (bool(word) or call.args[0] is arg)
    of_torch = scene.library(call.func).startswith("torch.") or isinstance(call.func, cst.Attribute)
    return (
        word in ("device", "map_location")
        and of_torch
        and not dotted(call.func).endswith("add_argument")
    )


def choice_of_cuda(scene: Scene, node: cst.IfExp) -> bool:
    """`"cuda" if torch.cuda.is_available() else "cpu"`, with nothing else asked."""
    return scene.is_available(node.test) and _is_choice(scene, node)


def _is_choice(scene: Scene, node: cst.IfExp) -> bool:
    """A choice between a CUDA device and the CPU."""
    return _is_cuda(scene, node.body) and _is_cpu(scene, node.orelse)


def _is_cuda(scene: Scene, node: cst.BaseExpression) -> bool:
    if isinstance(node, cst.Call) and scene.library(node.func) == "torch.device" and node.args:
        return is_cuda_text(node.args[0].value)
    return is_cuda_text(node)


def _is_cpu(scene: Scene, node: cst.BaseExpression) -> bool:
    if isinstance(node, cst.Call) and scene.library(node.func) == "torch.device" and node.args:
        return string(node.args[0].value) == "cpu"
    return string(node) == "cpu"


def choice(scene: Scene, original: cst.IfExp, updated: cst.IfExp) -> cst.BaseExpression | None:
    """A choice between CUDA and the CPU becomes one among all accelerators."""
    if not _is_choice(scene, original):
        return None
    made = isinstance(original.body, cst.Call)
    words = scene.choice.device if made else scene.choice.string
    index = _index_of(scene, original.body)
    alone = scene.is_available(original.test)
    scene.done["choices"] += 1
    if alone and index is None:
        return _like(scene.code(words), original)
    if alone:
        kept = f"{spelled(original.body)} if torch.cuda.is_available() else {words}"
        return _like(scene.code(kept), original)
    if index is not None:
        words = f"{spelled(original.body)} if torch.cuda.is_available() else {words}"
    return updated.with_changes(body=grouped(scene.code(words)))


def _like(node: cst.BaseExpression, original: cst.IfExp) -> cst.BaseExpression:
    """With the parentheses that stood around what it replaces."""
    return node.with_changes(lpar=original.lpar, rpar=original.rpar) if original.lpar else node


def _index_of(scene: Scene, node: cst.BaseExpression) -> cst.BaseExpression | None:
    if isinstance(node, cst.Call):
        if len(node.args) == 2:
            return node.args[1].value
        return cuda_of_index(node.args[0].value)
    return cuda_of_index(node)
