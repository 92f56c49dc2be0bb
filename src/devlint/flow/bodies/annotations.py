"""What an annotation says of a value."""

from __future__ import annotations

from collections.abc import Mapping

from devlint.flow.bodies.classes import is_named_for_data
from devlint.flow.conditions import unions
from devlint.flow.domain.derivation import Sort, Step
from devlint.flow.domain.lattice import CPU, UNKNOWN, Symbol, collection_of
from devlint.flow.domain.paths import Path, given_tensor, path_value, place_of_path
from devlint.flow.domain.state import Object, State
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import NOTHING, Kind, Origin, Value, as_loaded, as_tensor
from devlint.flow.facts import Role
from devlint.flow.frames import fields
from devlint.flow.frames.files import ClassInfo
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.library import dotted, followed, is_tensor_class
from devlint.flow.modules.constructed import typed
from devlint.flow.modules.holdings import holds_something
from devlint.flow.syntax.walk import is_static
from devlint.model import ir
from devlint.model.trees import last_name, one_or_several
from devlint.policy import means

_TENSORS = frozenset(
    ("torch.FloatTensor", "torch.LongTensor", "torch.nn.Parameter",
     "torch.BoolTensor", "torch.IntTensor", "torch.DoubleTensor", "torch.HalfTensor")
)  # fmt: skip


def _is_tensor(name: str) -> bool:
    """Whether an annotation of that name says that something is a tensor."""
    return name in _TENSORS or is_tensor_class(name)


def annotated(frame: Frame, node: ir.Expr, value: Value) -> Value:
    """A value that isn't known, with what its annotation proves."""
    types = _types(frame, node)
    bare = types[0] if len(types) == 1 else node
    name = dotted(frame, bare)
    text = value.data.text if isinstance(value.data, Path) else ""
    if (
        means("a-device", text, "parameter")
        and name.startswith("torch.")
        and name != "torch.device"
    ):
        return value  # one of the two is a slip, and the name is what the body goes by
    if _is_tensor(name):
        if value.trait is Trait.PERHAPS:
            return as_tensor(value)
        loaded = as_loaded(value)
        return given_tensor(value.data, Sort.ANNOTATION, node) if loaded is value else loaded
    if name == "torch.device":
        return Value(Kind.DEVICE, Symbol(text, text) if text else UNKNOWN, trait=Trait.ANNOTATED)
    if name == "builtins.str":
        return Value(Kind.STRING, Symbol(text, text) if text else UNKNOWN, trait=Trait.ANNOTATED)
    if name in _PLAIN_LISTS:
        return Value(Kind.LIST, trait=Trait.ANNOTATED)
    if name in ("builtins.int", "builtins.float"):
        return Value(Kind.NUMBER, trait=Trait.ANNOTATED)
    if name == "torch.dtype":
        return Value(Kind.DTYPE)
    if types and all(_is_module_class(frame, each) for each in types):
        return _module(frame, node, value)
    parts = [placed_inside(annotated(frame, p, _item_of(frame, value))) for p in _fixed(bare)]
    kinds = {part.kind for part in parts}
    if Kind.TENSOR in kinds or (len(kinds) > 1 and kinds & {Kind.LOADER, Kind.MODULE}):
        ref = frame.allocate(node, Object(items=tuple(parts)))
        return Value(Kind.TUPLE, data=ref, trait=Trait.ANNOTATED)
    inner = _element(bare)
    if inner is not None:
        element = annotated(frame, inner, _item_of(frame, value))
        if element.kind is Kind.MODULE:
            return _of_modules(frame, inner, _outer(bare), element)
        if element.kind is Kind.TENSOR or frame.object(element) is not None:
            ref = frame.allocate(bare, Object(element=placed_inside(element)))
            return Value(_CONTAINERS[_outer(bare)], data=ref, trait=Trait.ANNOTATED)
        plain = element.kind in (Kind.NUMBER, Kind.STRING)
        return Value(Kind.LIST, trait=Trait.ANNOTATED) if plain else value
    if name == "numpy.ndarray":
        return Value(Kind.NDARRAY, scalar=False, trait=Trait.ANNOTATED)  # who has a number says so
    if name == "torch.utils.data.DataLoader":
        return loader(frame, node, text)
    infos = [_class_in_sight(frame, each) for each in types]
    for info in infos:
        if info is not None and info.tensors is None:
            info.tensors = _tensors(frame, info)
    return typed(unions.marked(frame, node, value), infos)


def _tensors(frame: Frame, info: ClassInfo) -> frozenset[str]:
    """The fields of a dataclass, or of a named tuple, that are tensors by their annotations."""
    if not fields.is_written(info):
        return frozenset()
    its_own = Frame(frame.world, info.file, State(), recording=False)
    return frozenset(
        name
        for name, said in fields.declared(info)
        if _is_tensor(dotted(its_own, _only(its_own, said)))
    )


def _of_modules(frame: Frame, inner: ir.Expr, name: str, element: Value) -> Value:
    """A container of modules. What is called a `Sequence` may be an `nn.ModuleList`, and what is of
    a class that holds nothing needs none."""
    info = _class_in_sight(frame, _only(frame, inner))
    plain = name in _PLAIN and (info is None or holds_something(frame, Object(source=info)))
    ref = frame.allocate(inner, Object(element=element))
    trait = None if plain else Trait.ANNOTATED
    return Value(_CONTAINERS[name], data=ref, origin=Origin.INPUT, trait=trait)


def _item_of(frame: Frame, value: Value) -> Value:
    """What a container holds that isn't known: it came in with the container.

    A model gets its inputs by its methods. Any other function may put together what isn't placed
    yet: rows of samples, what a tokenizer made.
    """
    if (
        isinstance(value.data, Path)
        and value.data.given
        and not value.trait
        and _is_of_model(frame)
    ):
        return path_value(f"{value.data.text}[i]", given=True)
    return Value(Kind.UNKNOWN)


def _is_of_model(frame: Frame) -> bool:
    """Whether a method of a model runs, and of none that by its name changes samples."""
    if frame.owner is None or frame.role not in (Role.MODULE, Role.MANAGED):
        return False
    static = frame.function is not None and is_static(frame.function)
    return not static and not is_named_for_data(frame.owner)


def placed_inside(element: Value) -> Value:
    """An item, with words for its place instead of an expression that can't be evaluated."""
    place = element.device
    if element.kind is not Kind.TENSOR or not isinstance(place, Symbol) or not place.is_spelled:
        return element
    words = f"where the items of `{collection_of(place)}` are"
    return element.but(device=Symbol(place.key, words, described=True))


def _fixed(node: ir.Expr) -> tuple[ir.Expr, ...]:
    """The types of `Tuple[A, B]`, one by one; none where its length isn't told."""
    if not isinstance(node, ir.Subscript) or _CONTAINERS.get(_outer(node)) is not Kind.TUPLE:
        return ()
    items = one_or_several(node.index)
    open_end = any(isinstance(each, ir.Constant) and each.value is ... for each in items)
    return () if open_end else items


def _module(frame: Frame, node: ir.Node, value: Value) -> Value:
    """A module that somebody else made and placed."""
    if value.trait is Trait.IF_MODULE:
        return value
    place = place_of_path(value.data) if isinstance(value.data, Path) else UNKNOWN
    ref = frame.allocate(node, Object(device=place, trace=Step(Sort.ANNOTATION, node)))
    return Value(Kind.MODULE, data=ref, origin=Origin.INPUT)


def _is_module_class(frame: Frame, node: ir.Expr) -> bool:
    """Whether a type is a class of modules."""
    name = dotted(frame, node)
    row = frame.world.table.get(name)
    if name == "torch.nn.Module" or (row is not None and row.kind == "module"):
        return True
    info = _class_in_sight(frame, node)
    return info is not None and info.is_module


def _class_in_sight(frame: Frame, node: ir.Expr) -> ClassInfo | None:
    """The class of this project that a name stands for."""
    value = frame.look_up(node.id) if isinstance(node, ir.Name) else None
    found = NOTHING if value is None else followed(frame, value, node)
    return found.data if isinstance(found.data, ClassInfo) else None


_PLAIN_LISTS = ("builtins.list", "typing.List")
_PLAIN: Mapping[str, Kind] = {
    "List": Kind.LIST, "list": Kind.LIST, "Tuple": Kind.TUPLE, "tuple": Kind.TUPLE,
    "Dict": Kind.DICT, "dict": Kind.DICT,
}  # fmt: skip
_CONTAINERS: Mapping[str, Kind] = {
    **_PLAIN, "Sequence": Kind.LIST, "Iterable": Kind.LIST, "Collection": Kind.LIST,
    "Mapping": Kind.DICT, "MutableMapping": Kind.DICT, "OrderedDict": Kind.DICT,
}  # fmt: skip
"""By what stands before the brackets of an annotation; the plain ones are just what they say."""


def _outer(node: ir.Expr) -> str:
    """The last word of what stands before the brackets: `List` of `typing.List[nn.Module]`."""
    return last_name(node.value) if isinstance(node, ir.Subscript) else ""


def _element(node: ir.Expr) -> ir.Expr | None:
    """`X` of `List[X]`, `Dict[str, X]` and the like."""
    kind = _CONTAINERS.get(_outer(node))
    match node:
        case ir.Subscript(index=ir.Display(items=(*_, last))) if kind is Kind.DICT:
            return last
        case ir.Subscript(index=index) if kind in (Kind.LIST, Kind.TUPLE):
            return next(iter(one_or_several(index)), None)
    return None


def loader(frame: Frame, node: ir.Node, label: str, row: str = "") -> Value:
    """A loader that isn't made in this file: like every loader it yields host tensors, unless a
    library at hand places them. `row` is the one of policy by which it is one."""
    device = UNKNOWN if frame.file.places_batches else CPU
    before = Step(Sort.HYPOTHESIS, node, name=row) if row else None
    told = Step(Sort.HOST_LOADER, node, before)
    made = Object(device=device, source=f"DataLoader {label}".rstrip(), trace=told)
    ref = frame.allocate(node, made)
    return Value(Kind.LOADER, data=ref)


def _types(frame: Frame, node: ir.Expr) -> list[ir.Expr]:
    """The types that an annotation allows, without None, and without what describes them:
    `Annotated[X, ...]`, `Float[X, "n 3"]`."""
    found: list[ir.Expr] = []
    for each in unions.members(node):
        match each:
            case ir.Subscript(value=outer, index=ir.Display(items=(first, *_))) if (
                name := dotted(frame, outer)
            ) in _DESCRIBING or name.startswith("jaxtyping."):
                found += _types(frame, first)
            case _:
                found.append(each)
    return found


def _only(frame: Frame, node: ir.Expr) -> ir.Expr:
    """The one type that an annotation allows beside None; itself where that are several."""
    types = _types(frame, node)
    return types[0] if len(types) == 1 else node


_DESCRIBING = ("typing.Annotated", "typing_extensions.Annotated")
