"""Functions of torch for CUDA alone: mixed precision, loading, waiting, memory, process groups."""

from __future__ import annotations

import re
from collections.abc import Mapping

import libcst as cst
import libcst.matchers as m

from devlint.migrate.scene import Scene
from devlint.migrate.strings import assigned
from devlint.migrate.syntax import (
    added,
    argument,
    grouped,
    is_unpacked,
    keyword,
    spelled,
    string,
    with_args,
)

_AUTOCAST = frozenset({"torch.cuda.amp.autocast", "torch.autocast", "torch.amp.autocast"})
_SCALER = frozenset({"torch.cuda.amp.GradScaler", "torch.amp.GradScaler"})
_OLD_ARGUMENTS = ("enabled", "dtype", "cache_enabled")
_SCALER_ARGUMENTS = ("init_scale", "growth_factor", "backoff_factor", "growth_interval", "enabled")
_DISTRIBUTED = "torch.nn.parallel.DistributedDataParallel"
_NONE: Mapping[str, str] = {
    "torch.cuda.get_device_name": '"CPU"',
    "torch.cuda.memory_summary": '""',
    "torch.cuda.get_device_capability": "(0, 0)",
    "torch.cuda.mem_get_info": "(0, 0)",
    "torch.cuda.current_device": "0",
    "torch.cuda.utilization": "0",
    "torch.cuda.memory_usage": "0",
    "torch.cuda.get_rng_state": "None",
    "torch.cuda.current_stream": "None",
    "torch.cuda.default_stream": "None",
    "torch.cuda.memory_snapshot": "[]",
}
"""What stands for the answer of a function where there is no CUDA."""


def autocast(scene: Scene, original: cst.Call, updated: cst.Call) -> cst.BaseExpression | None:
    """`torch.cuda.amp.autocast()`, `torch.autocast("cuda")` -> `torch.autocast(device.type)`."""
    name = scene.library(original.func)
    if name not in _AUTOCAST or is_unpacked(original):
        return None
    if name != "torch.cuda.amp.autocast":
        return _typed(scene, original, updated)
    if not scene.choice.has_autocast:
        scene.leave(original, "this release of torch has mixed precision for CUDA alone")
        return None
    scene.done["mixed precision"] += 1
    given = [
        each if each.keyword is not None else keyword(_OLD_ARGUMENTS[number], each.value)
        for number, each in enumerate(updated.args)
    ]
    func = scene.code("torch.autocast")
    kind = cst.Arg(scene.type_expression(original))
    return with_args(updated.with_changes(func=func), kind, *given)


def _typed(scene: Scene, original: cst.Call, updated: cst.Call) -> cst.BaseExpression | None:
    """The type of the device in the place of "cuda"."""
    given = argument(original, 0, "device_type") or argument(original, 0, "device")
    if given is None or string(given.value) != "cuda":
        return None
    scene.done["mixed precision"] += 1
    place = original.args.index(given)
    args = [*updated.args]
    args[place] = args[place].with_changes(value=scene.type_expression(original))
    return updated.with_changes(args=args)


def scaler(scene: Scene, original: cst.Call, updated: cst.Call) -> cst.BaseExpression | None:
    """A gradient scaler scales on CUDA alone: elsewhere it hands on what it is given."""
    name = scene.library(original.func)
    if name not in _SCALER or is_unpacked(original):
        return None
    new = scene.choice.has_scaler
    first = argument(original, 0, "device")
    if name == "torch.amp.GradScaler" and (first is None or string(first.value) != "cuda"):
        return None
    if argument(original, 4, "enabled") is not None and _asks(scene, original):
        return None
    scene.done["mixed precision"] += 1
    named = scene.device(original)
    scene.imports.add("torch")
    is_cuda = f'{named.type} == "cuda"'
    given, enabled = [], is_cuda
    names = (
        _SCALER_ARGUMENTS if name == "torch.cuda.amp.GradScaler" else ("device", *_SCALER_ARGUMENTS)
    )
    for number, each in enumerate(updated.args):
        word = each.keyword.value if each.keyword is not None else names[number]
        if word == "enabled":
            if not m.matches(each.value, m.Name("True")):
                enabled = f"{spelled(grouped(each.value))} and {is_cuda}"
        elif word != "device":
            given.append(each if each.keyword is not None else keyword(word, each.value))
    last = keyword("enabled", scene.code(enabled))
    if not new:
        return with_args(updated, *given, last)
    func = scene.code("torch.amp.GradScaler")
    kind = cst.Arg(scene.code(named.type))
    return with_args(updated.with_changes(func=func), kind, *given, last)


def _asks(scene: Scene, call: cst.Call) -> bool:
    """Whether a scaler is on for CUDA alone already."""
    given = argument(call, 4, "enabled")
    return given is not None and '== "cuda"' in spelled(given.value)


def load(scene: Scene, original: cst.Call, updated: cst.Call) -> cst.BaseExpression | None:
    """`torch.load(file)`: what becomes a module goes to the device, all else to the CPU."""
    if is_unpacked(original):
        return None
    if "DEV106" not in scene.codes(original) and not _fails_silently(scene, original):
        return None
    scene.done["loads"] += 1
    where: cst.BaseExpression = cst.SimpleString('"cpu"')
    if _is_used_as_module(scene, original):
        where = scene.device_expression(original)
    return added(updated, keyword("map_location", where))


def _fails_silently(scene: Scene, call: cst.Call) -> bool:
    """Whether a load is tried, and so ends nothing where the device of the file is missing: the
    program goes on without what it has saved."""
    if scene.library(call.func) != "torch.load" or scene.is_guarded(call):
        return False
    if any(argument(call, 1, word) is not None for word in ("map_location", "mmap")):
        return False
    below: cst.CSTNode = call
    above = scene.parent(call)
    while above is not None and not isinstance(above, (cst.FunctionDef, cst.Lambda)):
        if isinstance(above, cst.Try) and below is above.body and above.handlers:
            return True
        below, above = above, scene.parent(above)
    return False


def _is_used_as_module(scene: Scene, call: cst.Call) -> bool:
    """Whether the file calls what is loaded, or asks of it what a module is asked."""
    above = scene.parent(call)
    if not isinstance(above, cst.Assign):
        return isinstance(above, cst.Attribute)
    targets = (each.target for each in above.targets)
    names = [name.value for each in targets for name in _names(each)]
    calls = m.findall(scene.module(call), m.Call())
    called = {spelled(each.func) for each in calls if isinstance(each, cst.Call)}
    return any(f"{name}{asked}" in called for name in names for asked in _OF_MODULES)


_OF_MODULES = ("", ".eval", ".train", ".parameters", ".zero_grad")


def _names(target: cst.CSTNode) -> list[cst.Name]:
    """The names that a target binds, alone or in a tuple."""
    if isinstance(target, cst.Name):
        return [target]
    if isinstance(target, (cst.Tuple, cst.List)):
        return [name for each in target.elements for name in _names(each.value)]
    return []


def api(scene: Scene, original: cst.Call, updated: cst.Call) -> cst.BaseExpression | None:
    """A function of `torch.cuda` that needs CUDA, whose answer is used."""
    if scene.library(original.func) == "torch.cuda.device_count" and (
        _divides(scene, original) or _counts_processes(scene, original)
    ):
        scene.done["functions of torch.cuda"] += 1
        return scene.code(f"max({spelled(updated)}, 1)")
    name = needs_cuda(scene, original)
    if not name or isinstance(scene.parent(original), cst.Expr):
        return None
    if name == "torch.cuda.device" and isinstance(scene.parent(original), cst.WithItem):
        scene.imports.add("contextlib")
        kept = f"{spelled(updated)} if torch.cuda.is_available() else contextlib.nullcontext()"
        scene.done["functions of torch.cuda"] += 1
        return scene.code(kept)
    if name == "torch.cuda.current_device":
        above = scene.parent(original)
        target = assigned(scene, original)
        as_device = isinstance(above, cst.Arg) and above.keyword is not None
        if as_device and isinstance(above, cst.Arg) and above.keyword is not None:
            as_device = above.keyword.value == "device"
        if as_device or (target is not None and spelled(target).endswith("device")):
            scene.done["devices"] += 1
            if isinstance(target, cst.Name):
                return scene.code(scene.choice.device)
            return scene.device_expression(original)
    neutral = _NONE.get(name)
    if neutral is None:
        scene.leave(original, f"`{name}` needs CUDA")
        return None
    scene.done["functions of torch.cuda"] += 1
    kept = f"{spelled(updated)} if torch.cuda.is_available() else {neutral}"
    alone = isinstance(scene.parent(original), (cst.Arg, cst.Assign, cst.AnnAssign))
    return scene.code(kept if alone else f"({kept})")


def _divides(scene: Scene, node: cst.BaseExpression) -> bool:
    """Whether something is divided by a number."""
    above = scene.parent(node)
    divides = (cst.Divide, cst.FloorDivide, cst.Modulo)
    return (
        isinstance(above, cst.BinaryOperation)
        and above.right is node
        and isinstance(above.operator, divides)
    )


def _counts_processes(scene: Scene, node: cst.Call) -> bool:
    """Whether the number of devices gets a name by which nothing asks whether there are any."""
    target = assigned(scene, node)
    if target is None:
        return False
    name = spelled(target).rpartition(".")[2]
    module = scene.module(node)
    for each in m.findall(module, m.Comparison() | m.If() | m.IfExp()):
        test = each if isinstance(each, cst.Comparison) else getattr(each, "test", None)
        words = "" if test is None else spelled(test)
        if _ASKS.search(words) and re.search(rf"\b{name}\b", words):
            return False
        if re.fullmatch(rf"(not )?([\w.]+\.)?{name}", words):
            return False
    return True


_ASKS = re.compile(r"(?<![\w.])0(?![\w.])|< ?1\b|>= ?1\b")


def needs_cuda(scene: Scene, call: cst.Call) -> str:
    """The function of `torch.cuda` that a call needs CUDA for, where nothing asks for it; or ""."""
    name = scene.library(call.func)
    if not name.startswith("torch.cuda.") or name.endswith("Tensor"):
        return ""
    row = scene.project.table.get(name)
    if row is None or not row.cuda or scene.is_guarded(call):
        return ""
    asked = name == "torch.cuda.set_device" or "DEV108" in scene.codes(call)
    return name if asked or _is_conditional(scene, call) else ""


def _is_conditional(scene: Scene, node: cst.CSTNode) -> bool:
    """Whether a call hangs on a condition, which may be one for any accelerator now."""
    above = scene.parent(node)
    while above is not None and not isinstance(above, (cst.FunctionDef, cst.Lambda)):
        if isinstance(above, (cst.If, cst.IfExp, cst.BooleanOperation)):
            return True
        above = scene.parent(above)
    return False


def backend(scene: Scene, original: cst.SimpleString) -> cst.BaseExpression | None:
    """`"nccl"` is for CUDA alone."""
    above = scene.parent(original)
    if string(original) != "nccl" or isinstance(
        above, (cst.Comparison, cst.ComparisonTarget, cst.IfExp, cst.Element, cst.Subscript)
    ):
        return None
    if not isinstance(above, (cst.Arg, cst.Assign, cst.AnnAssign, cst.Param, cst.DictElement)):
        return None
    scene.done["process groups"] += 1
    return scene.code('"nccl" if torch.cuda.is_available() else "gloo"')


def distributed(scene: Scene, original: cst.Call, updated: cst.Call) -> cst.BaseExpression | None:
    """`DistributedDataParallel(model, device_ids=[rank])`: the indices are for CUDA alone."""
    if scene.library(original.func) != _DISTRIBUTED or is_unpacked(original):
        return None
    args = []
    for old, each in zip(original.args, updated.args, strict=True):
        word = each.keyword.value if each.keyword is not None else ""
        plain = not isinstance(old.value, cst.IfExp) and not m.matches(old.value, m.Name("None"))
        if word in ("device_ids", "output_device") and plain:
            kept = f"{spelled(each.value)} if torch.cuda.is_available() else None"
            each = each.with_changes(value=scene.code(kept))
            scene.done["process groups"] += 1
        args.append(each)
    return updated.with_changes(args=args)
