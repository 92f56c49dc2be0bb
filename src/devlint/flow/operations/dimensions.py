"""Whether the result of a call is 0-dimensional: such a tensor on the CPU may meet any device.

And tensors without elements, which may hold the place of one to come, or be grown from nothing:
`self.mean = torch.empty(0)` is there to be replaced, so nothing is said of where it is. A local
`found = torch.tensor([])` to which results are joined, whether it is empty or not, has to be where
they are.
"""

from __future__ import annotations

from devlint.flow.domain.derivation import first
from devlint.flow.domain.keys import HAS_LENGTH
from devlint.flow.domain.lattice import UNKNOWN
from devlint.flow.domain.mixtures import Empty
from devlint.flow.domain.paths import Path
from devlint.flow.domain.settled import Conditions
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import MADE, Kind, Origin, Value
from devlint.flow.frames.arguments import Arguments, Given
from devlint.flow.frames.frame import Frame
from devlint.model import ir
from devlint.model.trees import integer
from devlint.torchapi.effects import Dims, Effect, Row


def dimensions(
    args: Arguments, row: Row, of: Value | None = None, known: Conditions | None = None
) -> bool | None:
    """True: certainly 0-dimensional; False: certainly not; None: not known. `known` are the
    conditions that are settled."""
    match row.dims:
        case Dims.NONE:
            return True
        case Dims.SOME | Dims.STACK:
            return False
        case Dims.SHAPE:
            return _by_shape(args, row, of)
        case Dims.DRAWN:
            return _by_size(args, row)
        case Dims.DATA:
            return _by_data(args, row, known)
        case Dims.REDUCE:
            return _by_reduction(args, row, of)
        case Dims.SAME:
            return None if of is None else of.scalar
        case Dims.SQUEEZE:
            return None if of is None or _has_one_element(of) else of.scalar
        case Dims.LOSS:
            return of_loss(args)
    return None


def note_length(frame: Frame, value: Value) -> None:
    """An argument is asked for its length, or gone over: it has one from here on."""
    if value.kind is Kind.UNKNOWN and isinstance(value.data, Path) and frame.takes(value.data.text):
        frame.state.known[value.data.text + HAS_LENGTH] = True


_REDUCED = ("mean", "sum", "batchmean")


def of_loss(args: Arguments) -> bool | None:
    """Whether a loss is one number: the mean, unless it is asked for otherwise."""
    given = args.keyword("reduction")
    asked = [] if given is None else [given[1]]
    asked += [value for _, value in args.all if value.kind in (Kind.STRING, Kind.BOOL)]
    return None if args.unpacked or any(value.data not in _REDUCED for value in asked) else True


def _has_one_element(value: Value) -> bool:
    """Whether a tensor is computed from one that was made with a single element: as likely as not,
    it has one itself."""
    made = first(value.trace) if value.origin in MADE else None
    if not isinstance(made, ir.Call):
        return False
    given = [argument.value for argument in made.args if not argument.keyword]
    sizes = next((each.items for each in given if isinstance(each, ir.Display)), given)
    return bool(sizes) and all(isinstance(e, ir.Constant) and e.value == 1 for e in sizes)


def has_rows(args: Arguments, row: Row) -> bool:
    """Whether a size is spelled out that has two dimensions or more."""
    size = args.find(row.size) if row.dims is Dims.SHAPE else None
    if size is None:
        return False
    if isinstance(size[0], ir.Display):
        return sum(not isinstance(item, ir.Starred) for item in size[0].items) > 1
    return row.name.rpartition(".")[2] in _TAKES_SIZES and len(args.positional()) > 1


_TAKES_SIZES = frozenset(("empty", "ones", "rand", "randn", "zeros"))
"""They take the sizes one by one as well."""


def is_placeholder(args: Arguments, row: Row) -> bool:
    """Whether the tensor is spelled out to have no element: it stands in for one to come."""
    if not args.all and row.effect is Effect.CREATE:
        return True
    given = args.find(row.data or row.size)
    if given is None or row.dims not in (Dims.SHAPE, Dims.DATA, Dims.SOME):
        return False
    node = given[0]
    if row.dims is Dims.SOME and args.count == 1 and isinstance(node, ir.Constant):
        return node.value == 0  # `torch.Tensor(0)`: a size
    if row.dims is not Dims.SHAPE:  # `torch.zeros([])` is a number
        return isinstance(node, ir.Display) and not node.items
    sizes = node.items if isinstance(node, ir.Display) else tuple(n for n, _ in args.positional())
    return any(isinstance(size, ir.Constant) and size.value == 0 for size in sizes)


def placeholder(frame: Frame, made: Value) -> Value:
    """A tensor without elements, of which nothing is said until it is grown."""
    empty = Empty(made, frame.function, frame.arm)
    return Value(Kind.TENSOR, UNKNOWN, data=empty, scalar=False)


def asked(frame: Frame, node: ir.Name, value: Value) -> Value:
    """A name that a condition asks about: whoever looks whether it is empty may replace it."""
    if not isinstance(value.data, Empty):
        return value
    frame.state.bind(node.id, Value(Kind.TENSOR, UNKNOWN, scalar=False))
    return frame.state.env[node.id]


def grown(frame: Frame, arguments: list[Given]) -> list[Given]:
    """The operands of an operation; of a local tensor without elements it is known where it was
    made, unless an `if` since then may have found that it is empty."""
    if not any(isinstance(value.data, Empty) for _, value in arguments):
        return arguments
    return [(node, _made(frame, node, value)) for node, value in arguments]


def _made(frame: Frame, node: ir.Expr, value: Value) -> Value:
    empty = value.data
    if not isinstance(empty, Empty) or value.origin is not Origin.NONE:
        return value
    here = empty.function is frame.function and empty.arm is frame.arm
    named = isinstance(node, ir.Name) and frame.function is not None
    return empty.made if here and named else value


def _by_shape(args: Arguments, row: Row, of: Value | None) -> bool | None:
    """Only a size that is spelled out as empty makes a 0-dimensional tensor; `x.view(dtype)` has
    the size of `x`."""
    if of is not None and any(value.kind is Kind.DTYPE for _, value in args.all):
        return of.scalar
    size = args.find(row.size)
    if size is None and -1 in row.size and args.positional():
        size = args.positional()[-1]
    if size is None:
        return None if args.count == 0 else False
    return isinstance(size[0], ir.Display) and not size[0].items


def _by_size(args: Arguments, row: Row) -> bool | None:
    given = args.find(row.size)
    if given is None or given[1].kind is Kind.NONE:
        return None if args.unpacked else True
    return _by_shape(args, row, None)


def _by_data(args: Arguments, row: Row, known: Conditions | None) -> bool | None:
    given = args.find(row.data or (0, "data"))
    if given is None:
        return None
    node, value = given
    if isinstance(node, (ir.Display, ir.Comprehension)) or value.kind.is_container:
        return False
    if value.kind in (Kind.NUMBER, Kind.BOOL):
        return True
    if known and isinstance(value.data, Path) and known.get(value.data.text + HAS_LENGTH):
        return False
    return value.scalar if value.kind is Kind.NDARRAY else None


def _by_reduction(args: Arguments, row: Row, of: Value | None) -> bool | None:
    given = args.find(row.dim)
    if given is None or given[1].kind is Kind.NONE:
        return None if args.unpacked else True
    node = given[0]
    dims = [integer(each) for each in (node.items if isinstance(node, ir.Display) else (node,))]
    least = max((dim + 1 if dim >= 0 else -dim for dim in dims if dim is not None), default=0)
    if of is not None and of.trait is Trait.ROWS and dims:
        least = max(least, 2)
    return False if least > len(dims) else None  # there are more than go
