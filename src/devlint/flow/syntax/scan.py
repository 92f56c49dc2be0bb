"""One look over a function before it runs: what it assigns, moves and treats as tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from devlint.flow.syntax.samples import Samples
from devlint.flow.syntax.seen import ANY, Scan
from devlint.flow.syntax.walk import (
    descendants,
    docstring,
    first_parameter,
    self_attribute,
    single_targets,
    targets,
)
from devlint.model import ir
from devlint.model.trees import dotted_name, root_name
from devlint.policy import docstrings, means

TENSOR_ONLY = frozenset(
    "dim view permute unsqueeze unsqueeze_ numel expand expand_as contiguous detach "
    "masked_fill masked_fill_ new_zeros new_ones new_full new_empty new_tensor type_as "
    "requires_grad requires_grad_ backward unbind chunk bmm matmul view_as to cuda cpu device "
    "index_select gather scatter scatter_ softmax log_softmax sigmoid tanh relu logsumexp "
    "unfold narrow float half bfloat16 long grad_fn ndimension data_ptr index_add_ topk "
    "repeat_interleave clamp clamp_ addmm add_ mul_ div_ sub_ zero_ fill_ copy_ lerp lerp_ "
    "addcmul addcmul_ addcdiv addcdiv_ exp exp_ sqrt rsqrt mul mm".split()
)
"""Attributes that tensors have and arrays, lists and numbers have not; `to`, `cuda`, `cpu` and
`device` are shared with modules, so they don't count alone (see `_WEAK`)."""

_CHANGES = frozenset(
    ("append", "extend", "insert", "update", "setdefault", "add", "pop", "clear", "remove",
     "set_default_device", "set_default_tensor_type", "__init__", "exit", "_exit", "skip",
     "load_state_dict", "register_buffer", "register_parameter", "add_module", "__setattr__",
     "init_process_group")
)  # fmt: skip
_CHANGE_WHOLE = frozenset(
    ("append", "appendleft", "clear", "extend", "insert", "pop", "popleft", "popitem", "remove",
     "reverse", "sort", "update", "setdefault")
)  # fmt: skip
_MAKES_TENSOR = frozenset(("tensor", "from_numpy", "array", "asarray", "FloatTensor", "LongTensor"))
_EXPORTERS = ("onnx.export", "onnx.dynamo_export", "torch.export.export", "jit.trace")
_EXPORTS = frozenset(name.rpartition(".")[2] for name in _EXPORTERS)
_TO_HOST = frozenset(("cpu", "numpy", "tolist", "item"))
_DIMS = ("dim", "keepdim")
"""Keywords that methods of tensors have and those of arrays have not."""

_PROPERTIES = frozenset(("requires_grad", "grad_fn", "device"))
"""Those of `TENSOR_ONLY` that aren't called."""

_OF_MODULES = frozenset(
    ("children", "eval", "load_state_dict", "modules", "named_buffers", "named_children",
     "named_modules", "named_parameters", "parameters", "state_dict", "train", "training")
)  # fmt: skip
_WEAK = frozenset(("to", "cuda", "cpu", "device", "float", "half", "bfloat16", "requires_grad_"))
_NO_ARRAY_HAS = TENSOR_ONLY - {"device", "view"}
"""What tensors have and arrays have not, nor modules that could stand for either."""
TENSORS_ALONE_HAVE = _NO_ARRAY_HAS - _WEAK
"""What nothing else has that a file may hold: no array, module, list, dict or number."""
MOVES = frozenset(("to", "cuda", "cpu", "xpu", "mtia", "ipu", "to_empty", "pin_memory"))

_OR_ARRAY = frozenset(
    "shape reshape transpose sum mean max min argmax flatten squeeze ndim clip std var "
    "cumsum repeat masked_select norm".split()
)
"""Attributes that tensors share with arrays: they count where numpy isn't imported."""


def scan(function: ir.Function, takes_tensors: Callable[[ir.Expr], int], has_arrays: bool) -> Scan:
    """Look over a function. `takes_tensors(func)` says how many arguments of a called function,
    from the first on, are tensors for sure; `has_arrays`, whether the file has to do with numpy."""
    found = Scan(tensors=set(docstrings.tensors(docstring(function))))
    this = first_parameter(function)
    called: set[ir.Node] = set()
    samples = Samples()
    for statement in function.body:
        for node in descendants(statement):  # a call before what it calls
            kind = type(node)
            if kind is ir.Call:
                called.add(node.func)  # type: ignore[attr-defined]
                samples.see(node)
                _call(found, node, this, takes_tensors)  # type: ignore[arg-type]
            elif kind is ir.Attribute:
                is_read = node not in called and node.attr not in _PROPERTIES  # type: ignore[attr-defined]
                _attribute(found, node, this, has_arrays, is_read)  # type: ignore[arg-type]
            elif kind is ir.Subscript:
                if isinstance(node.value, ir.Name) and _is_sliced(node):  # type: ignore[attr-defined, arg-type]
                    found.sliced.add(node.value.id)  # type: ignore[attr-defined]
            elif isinstance(node, ir.Stmt):
                found.size += 1
                samples.see(node)
                _statement(found, node, this)
            elif kind is ir.Yield:
                found.yields = found.answers = True
            elif kind is ir.Walrus:
                found.assigned[node.target.id] += 1  # type: ignore[attr-defined]
            elif kind is ir.Clause:
                for target in single_targets(node.target):  # type: ignore[attr-defined]
                    _target(found, target, this)
    found.of_samples = samples.names()
    _tell_arrays_apart(found)
    found.end()
    return found


def _tell_arrays_apart(found: Scan) -> None:
    """What is indexed in several dimensions is a tensor or an array, and so are its items: one that
    is used as only tensors are tells which."""
    for name, wholes in found.parts.items():
        if name in found.used - found.data and len(wholes) == found.assigned[name]:
            told = found.sliced & set(wholes)
            found.used |= told
            found.tensors |= told


def _call(found: Scan, call: ir.Call, this: str, takes_tensors: Callable[[ir.Expr], int]) -> None:
    func = call.func
    found.given.update(a.value.id for a in call.args if isinstance(a.value, ir.Name))
    if isinstance(func, ir.Name):
        found.called.add(func.id)
        found.answers |= func.id in _CHANGES
        match call:
            case ir.Call(
                func=ir.Name(id="setattr"),
                args=(
                    ir.Argument(value=ir.Name(id=owner)),
                    _,
                    ir.Argument(value=ir.Call(func=made)),
                ),
            ):
                found.makes |= owner == this and _may_make(made)
    elif isinstance(func, ir.Attribute):
        owner = func.value.id if isinstance(func.value, ir.Name) else ""
        found.methods.add(func.attr)
        if owner and func.attr in _CHANGE_WHOLE:
            found.changes.add((owner, ANY))
        if self_attribute(func, this):
            found.self_calls.add(func.attr)
            found.registers |= func.attr in ("register_buffer", "register_parameter")
            for argument in call.args:
                if isinstance(argument.value, ir.Name):
                    found.self_inputs.add((func.attr, argument.value.id))
        if func.attr == "apply":
            found.applied.update(filter(None, (self_attribute(a.value, this) for a in call.args)))
        found.draws |= owner == "random"
        if owner and (func.attr == "size" or any(a.keyword in _DIMS for a in call.args)):
            found.tensors.add(owner)
        found.answers |= func.attr in _CHANGES or func.attr in MOVES
        found.reads_back |= func.attr in _TO_HOST
        if func.attr in _EXPORTS and call.args:
            of_this = root_name(call.args[0].value) == this
            found.hands_out |= of_this and dotted_name(func).endswith(_EXPORTERS)
        if func.attr in MOVES:
            found.followed |= {
                a.value.value.id
                for a in call.args
                if isinstance(a.value, ir.Attribute)
                and a.value.attr == "device"
                and isinstance(a.value.value, ir.Name)
            }
            if func.attr == "cuda" and isinstance(func.value, ir.Subscript):
                if isinstance(func.value.index, ir.Display):
                    found.columns.add(dotted_name(func.value.value))
            found.moved.add(root_name(func.value))
            found.self_moves |= {self_attribute(func.value, this)} - {""}
        if func.attr in _FILLS:
            found.self_fills |= {self_attribute(func.value, this)} - {""}
        if func.attr in _MAKES_TENSOR and call.args and isinstance(call.args[0].value, ir.Name):
            found.data.add(call.args[0].value.id)
    if not _only_iterates(call):
        for argument in call.args:
            found.wrapped.update(_handed_on(argument.value, this))
    if any(isinstance(argument.value, _GIVE) for argument in call.args):
        for argument in call.args[: takes_tensors(func)]:
            if not (argument.keyword or argument.star):
                for names in (found.tensors, found.used, found.passed):
                    names.update(_given(argument.value))


_FILLS = frozenset(("append", "extend", "insert"))


_GIVE = (ir.Name, ir.Display, ir.Binary, ir.Unary)


def _given(node: ir.Expr) -> Iterator[str]:
    """The names that an argument gives: `x`, those in `[x, y]`, and that in `1 - x`, which is what
    a number makes of `x`."""
    for each in node.items if isinstance(node, ir.Display) else (node,):
        match each:
            case ir.Name(id=name):
                yield name
            case ir.Unary(op="-", operand=inner):
                yield from _given(inner)
            case (
                ir.Binary(left=ir.Constant(), right=inner)
                | ir.Binary(left=inner, right=ir.Constant())
            ):
                yield from _given(inner)


_ITERATES = frozenset(("enumerate", "zip", "reversed", "len", "list", "tuple"))


def _only_iterates(node: ir.Expr) -> bool:
    """`enumerate(self.layers)`: it keeps nothing, and what gets it in turn may."""
    func = node.func if isinstance(node, ir.Call) else None
    return isinstance(func, ir.Name) and func.id in _ITERATES


def _handed_on(node: ir.Expr, this: str) -> Iterator[str]:
    """The attributes whose parts an argument brings: `self.layers`, `*reversed(self.layers)`,
    `list(self.layers.values())`, `[layer for layer in self.layers]`."""
    match node:
        case ir.Starred(value=inner) | ir.Call(func=ir.Attribute(value=inner, attr="values")):
            yield from _handed_on(inner, this)
        case ir.Call(args=args) if _only_iterates(node):
            for argument in args:
                yield from _handed_on(argument.value, this)
        case ir.Comprehension(element=ir.Name(), clauses=clauses):
            for clause in clauses:
                yield from _handed_on(clause.iter, this)
        case _ if attr := self_attribute(node, this):
            yield attr


def _is_sliced(node: ir.Subscript) -> bool:
    """Whether it is an index in several dimensions: `x[:, 0]`."""
    index = node.index
    return isinstance(index, ir.Display) and any(isinstance(p, ir.Slice) for p in index.items)


def _attribute(found: Scan, node: ir.Attribute, this: str, has_arrays: bool, is_read: bool) -> None:
    """`is_read`: it isn't called, so that a method of tensors is none (`net.dim`)."""
    name = node.value
    if node.attr == "__dict__":
        found.dynamic = True
    if isinstance(name, ir.Name) and name.id != this:
        strong = node.attr in TENSOR_ONLY and node.attr not in _WEAK and not is_read
        if strong:
            found.used.add(name.id)
        if node.attr in _OF_MODULES:
            found.modules.add(name.id)
        if strong or (node.attr in _OR_ARRAY and not has_arrays):
            found.tensors.add(name.id)
    elif isinstance(name, ir.Subscript) and node.attr in _NO_ARRAY_HAS:
        if isinstance(name.value, ir.Name) and _is_sliced(name):
            found.used.add(name.value.id)
            found.tensors.add(name.value.id)


def _statement(found: Scan, node: ir.Stmt, this: str) -> None:
    for single in targets(node):
        _target(found, single, this)
        if isinstance(node, (ir.Assign, ir.Augment)):  # whether it changes an object
            found.answers |= not isinstance(single, ir.Name)
    if isinstance(node, ir.Assign):
        for target in node.targets:
            if isinstance(target, ir.Name) and _traces(node.value):
                found.traced.add(target.id)
            if isinstance(target, ir.Name) and isinstance(node.value, ir.Subscript):
                if isinstance(node.value.value, ir.Name):
                    found.parts.setdefault(target.id, []).append(node.value.value.id)
            if isinstance(node.value, ir.Name) and isinstance(target, ir.Display):
                found.data |= {node.value.id} & {i.id for i in target.items if type(i) is ir.Name}
            for stored, value in _pairs(target, node.value):
                is_own = bool(self_attribute(stored, this))
                if isinstance(value, ir.Call):
                    made = _may_make(value.func)
                    if made and isinstance(stored, ir.Name):
                        found.made.add(stored.id)
                    found.makes |= is_own and made
                    if is_own:
                        found.registers |= dotted_name(value.func).endswith("nn.Parameter")
                elif isinstance(value, ir.Name):
                    found.makes |= is_own and value.id in found.made
    elif isinstance(node, ir.Return):
        nothing = isinstance(node.value, ir.Constant) and node.value.value is None
        found.answers |= node.value is not None and not nothing
        found.returned.append(node.value)
    elif isinstance(node, ir.Raise):
        found.answers = True  # it may not come back
    elif isinstance(node, (ir.Function, ir.Class)):
        found.assigned[node.name] += 1


def _pairs(target: ir.Expr, value: ir.Expr | None) -> Iterator[tuple[ir.Expr, ir.Expr | None]]:
    """What an assignment stores where: `self.a, self.b = a, b`."""
    match target, value:
        case (ir.Display(items=places), ir.Display(items=items)) if len(places) == len(items):
            for each, item in zip(places, items, strict=True):
                yield from _pairs(each, item)
        case _:
            yield target, value


def _traces(node: ir.Expr | None) -> bool:
    func = node.func if isinstance(node, ir.Call) else None
    return isinstance(func, ir.Attribute) and func.attr == "trace" and root_name(func) == "torch"


def _may_make(func: ir.Expr) -> bool:
    """Whether a called function may give a module, a tensor or a loader: a class, a function of
    the file, or a function of a library; hardly a method of something else."""
    if isinstance(func, ir.Attribute):
        deep = isinstance(func.value, ir.Name)
        return deep or bool(means("class", func.attr, "function")) or func.attr in MOVES
    return True


def _target(found: Scan, target: ir.Expr, this: str) -> None:
    if isinstance(target, ir.Name):
        found.assigned[target.id] += 1
    else:
        found.self_stores |= {self_attribute(target, this)} - {""}
        match target:
            case ir.Attribute(value=ir.Name(id=name), attr=attr):
                found.changes.add((name, attr))
            case ir.Subscript(value=ir.Name(id=name), index=ir.Constant(value=str(key))):
                found.changes.add((name, key))
            case ir.Subscript(value=ir.Name(id=name)):
                found.changes.add((name, ANY))
        if isinstance(target, ir.Subscript):
            found.self_items |= {self_attribute(target.value, this)} - {""}
