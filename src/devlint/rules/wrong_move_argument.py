"""DEV306: something else stands where a device is meant, or a device where none is taken."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.facts import (
    ApiCall,
    Kind,
    Known,
    Move,
    Operand,
    Trait,
    is_misspelled_flag,
)
from devlint.model import ir
from devlint.model.findings import Safety
from devlint.model.reports import (
    Change,
    Report,
    insert_after,
    insert_before,
    replace,
    replace_tail,
)
from devlint.model.trees import dotted_name, written
from devlint.rules import rule
from devlint.rules._moving import move_behind, without

_TORCH_OBJECTS = frozenset({Kind.TENSOR, Kind.MODULE, Kind.PLACED, Kind.BATCH})
_NO_DEVICE = {
    Kind.BOOL: "a bool",
    Kind.DTYPE: "a dtype",
    Kind.MODULE: "a module",
    Kind.TENSOR: "a tensor",
    Kind.LIST: "a list",
    Kind.TUPLE: "a tuple",
    Kind.SET: "a set",
    Kind.DICT: "a dict",
    Kind.OPTIMIZER: "an optimizer",
    Kind.LOADER: "a loader",
    Kind.NDARRAY: "an array",
}
"""What stands for no device, wherever one is meant."""

_FITS_TO = frozenset({Kind.DTYPE, Kind.TENSOR, Kind.BOOL})
"""What `.to()` takes as its first argument besides a device. A bool is read as a dtype there."""

_KEYWORDS = frozenset(
    {"device", "dtype", "non_blocking", "copy", "memory_format", "tensor", "other"}
)

_KEYWORDS_OF_CUDA = frozenset({"device", "non_blocking", "memory_format"})


@rule("wrong-move-argument", on=Move)
def wrong_argument_of_to(move: Move) -> Iterator[Report]:
    """`.to(model)`, `.to(dtype, device)`, `.to(device, True)`, `.to(devices=...)`."""
    if move.method != "to" or not (_is_sound(move) or move.receiver.kind is Kind.UNKNOWN):
        return
    for position, (argument, operand) in enumerate(move.arguments):
        if move.receiver.kind is Kind.UNKNOWN and not _is_never_a_device(argument, operand):
            continue
        what = _not_a_device(operand)
        keyword = argument.keyword
        first = keyword is None and position == 0
        if what and ((first and operand.kind not in _FITS_TO) or keyword == "device"):
            yield _no_device(argument, operand, what)
        elif first and operand.kind is Kind.DTYPE and _is_device(move, 1):
            yield _wrong_order(move)
        elif (
            keyword is None and position == 1 and operand.kind is Kind.BOOL and _is_device(move, 0)
        ):
            yield Report(
                at=argument,
                message=f"the second argument of `.to(device, ...)` is the dtype, not {operand}",
                fix=_name_it(argument, "non_blocking"),
                help=f"write `non_blocking={operand}`",
            )
        elif keyword == "devices" or (
            keyword not in (None, *_KEYWORDS) and move.receiver.kind is Kind.TENSOR
        ):
            yield Report(at=argument, message=f"`.to()` has no parameter `{keyword}`")


@rule("wrong-move-argument", on=Move)
def wrong_argument_of_cuda(move: Move) -> Iterator[Report]:
    """`.cuda(True)`, `.cuda("cpu")`, `.cuda(torch.float16)`, `.cpu(0)`."""
    if move.method not in ("cuda", "xpu", "cpu") or not _is_sound(move) or not move.arguments:
        return
    argument, operand = move.arguments[0]
    method = move.method
    if method == "cpu":
        if argument.keyword in (None, "device", "non_blocking"):
            yield Report(
                at=argument,
                message=f"`.cpu()` takes no device and no flag: `{ir.render(argument)}`",
                help='`.to("cpu", ...)` does',
            )
        return
    unknown = next((arg for arg, _ in move.arguments if not _takes(move, arg.keyword)), None)
    if unknown is not None:
        yield Report(at=unknown, message=f"`.{method}()` has no parameter `{unknown.keyword}`")
    if argument.keyword not in (None, "device"):
        return
    what = _not_a_device(operand)
    named = operand.device if operand.kind in (Kind.DEVICE, Kind.STRING) else None
    if what:
        tensor = move.receiver.kind is Kind.TENSOR and argument.keyword is None
        flag = tensor and isinstance(operand.constant, bool) and len(move.arguments) == 1
        yield _no_device(argument, operand, what, _name_it(argument, "non_blocking", flag))
    elif isinstance(named, Known) and named.type != method:
        yield Report(
            at=argument,
            message=f"`.{method}()` takes {method} devices only, and {operand} is on {named.type}",
            because=operand.trace,
            fix=_use_to(move.node),
            help=f"write `.to({operand})`",
        )


@rule("wrong-move-argument", on=Move)
def misspelled_flag(move: Move) -> Iterator[Report]:
    """`x.to(device, nonblocking=True)`, whatever `x` is: only PyTorch has such a flag."""
    if move.receiver.kind is not Kind.UNKNOWN:
        return
    for argument, _ in move.arguments:
        if is_misspelled_flag(argument.keyword):
            yield Report(
                at=argument,
                message=f"`.{move.method}()` has no parameter `{argument.keyword}`",
                help="the flag is called `non_blocking`",
            )


@rule("wrong-move-argument", on=ApiCall)
def device_of_a_call(call: ApiCall) -> Iterator[Report]:
    """A `device=` that the function doesn't have, or that is none."""
    given = call.keyword("device")
    if given is None or not call.name.startswith("torch."):
        return
    argument = next((arg for arg in call.node.args if arg.keyword == "device"), None)
    if argument is None:
        return  # something unpacks it
    what = _not_a_device(given)
    short = call.name.rpartition(".")[2]
    if call.name == "torch.from_numpy":
        yield Report(
            at=argument,
            message="`torch.from_numpy` takes no `device`: it shares the array's memory",
            fix=_move_afterwards(call.node, argument),
            help=f"move the result: `.to({given})`",
        )
    elif call.name in _LEGACY_CONSTRUCTORS:
        if given.device != Known("cpu") and given.kind is not Kind.NONE:
            yield Report(
                at=argument,
                message=f"`{call.name}` makes CPU tensors only: another `device` is refused",
                because=given.trace,
                help="`torch.tensor(data, dtype=..., device=...)` takes every device",
            )
    elif call.name.startswith("torch.nn.") and short in _WITHOUT_DEVICE:
        yield Report(
            at=argument,
            message=f"`{short}` has no parameter `device`",
            help="it has no parameters of its own: move what is inside, or the whole, by `.to()`",
        )
    elif what and not call.name.startswith("torch.nn.modules."):
        yield _no_device(argument, given, what)


@rule("wrong-move-argument", on=ApiCall)
def device_of_autocast(call: ApiCall) -> Iterator[Report]:
    """`torch.autocast(x.device)`: it wants the type, a string."""
    if call.name not in (
        "torch.autocast",
        "torch.amp.autocast",
        "torch.amp.autocast_mode.autocast",
    ):
        return
    given = call.positional[0] if call.positional else call.keyword("device_type")
    if given is not None and given.kind is Kind.DEVICE:
        yield Report(
            at=given.node,
            message=f"`autocast` takes a device type, a string, and `{given}` is a torch.device",
            because=given.trace,
            fix=Change("Pass its type", (insert_after(given.node, ".type"),), Safety.SAFE),
        )


@rule("wrong-move-argument", on=ApiCall)
def bare_device_context(call: ApiCall) -> Iterator[Report]:
    """`torch.cuda.device(1)` as a statement: it is made for `with`."""
    if call.name == "torch.cuda.device" and call.discarded:
        yield Report(
            at=call.node,
            message="`torch.cuda.device` is a context manager: as a statement it does nothing",
            help="write `with torch.cuda.device(...):`, or `torch.cuda.set_device(...)`",
        )


def _takes(move: Move, keyword: str | None) -> bool:
    """Whether `.cuda()` has a parameter of this name: that of a module has only one."""
    if move.receiver.kind is Kind.MODULE:
        return keyword in (None, "device")
    return keyword in (None, *_KEYWORDS_OF_CUDA) or move.receiver.kind is not Kind.TENSOR


def _is_sound(move: Move) -> bool:
    """A tensor or a module is moved, and every argument is in sight."""
    return move.receiver.kind in _TORCH_OBJECTS and not any(arg.star for arg, _ in move.arguments)


def _is_never_a_device(argument: ir.Argument, operand: Operand) -> bool:
    """Whether no `.to()` takes it, whatever is moved."""
    if argument.keyword == "device":
        return operand.kind is Kind.DTYPE
    return argument.keyword is None and operand.value.trait is Trait.DEVICE_CONTEXT


def _not_a_device(operand: Operand) -> str:
    if operand.value.trait is Trait.DEVICE_CONTEXT:
        return "a context manager"
    if operand.kind is Kind.NUMBER and isinstance(operand.constant, (float, complex)):
        return "not an integer"
    if operand.kind is Kind.BOOL and not _is_flag(operand):
        return ""
    return _NO_DEVICE.get(operand.kind, "")


def _is_flag(operand: Operand) -> bool:
    """A bool in place. What a comparison or an `and` gives may be a tensor, or a device."""
    return operand.kind is Kind.BOOL and isinstance(operand.node, (ir.Constant, ir.Call))


def _is_device(move: Move, position: int) -> bool:
    if position >= len(move.arguments):
        return False
    argument, operand = move.arguments[position]
    return argument.keyword is None and operand.kind in (Kind.DEVICE, Kind.STRING)


def _no_device(at: ir.Argument, operand: Operand, what: str, fix: Change | None = None) -> Report:
    remedy = ""
    if operand.kind is Kind.MODULE:
        remedy = f"its parameters have one: `next({operand}.parameters()).device`"
        fix = Change(
            "Use the device of the first parameter",
            (
                insert_before(operand.node, "next("),
                insert_after(operand.node, ".parameters()).device"),
            ),
            Safety.UNSAFE,  # a module without parameters raises StopIteration
        )
    elif operand.kind is Kind.TENSOR:
        remedy = f"write `{operand}.device`"
        fix = Change("Pass its device", (insert_after(operand.node, ".device"),), Safety.SAFE)
    elif operand.kind is Kind.DTYPE and isinstance(operand.node, ir.Attribute):
        owner = ir.render(operand.node.value)
        remedy = f"write `{owner}.device`" if operand.node.attr == "dtype" else ""
        tail = replace_tail(operand.node.value, operand.node, ".device")
        fix = Change("Pass the device instead", (tail,), Safety.UNSAFE) if remedy else None
    elif operand.value.trait is Trait.DEVICE_CONTEXT:
        fix = _device_of(operand.node)
        remedy = '`torch.device("cuda", index)` is one'
    return Report(
        at=at,
        message=f"`{operand}` is {what}, but a device is expected here",
        because=operand.trace,
        fix=fix,
        help=remedy,
    )


def _device_of(context: ir.Expr) -> Change | None:
    """`torch.cuda.device(i)` -> `torch.device("cuda", i)`."""
    match context:
        case ir.Call(func=func, args=(index,)) if dotted_name(func) == "torch.cuda.device":
            named = (replace(func, "torch.device"), insert_before(index, '"cuda", '))
            return Change("Make a device", named, Safety.UNSAFE)
    return None


def _wrong_order(move: Move) -> Report:
    (dtype, dtype_value), (device, device_value) = move.arguments[:2]
    rewrites = (insert_before(dtype, "dtype="), insert_before(device, "device="))
    return Report(
        at=move.node,
        message="`.to()` takes the device first and the dtype second",
        fix=Change("Name the arguments", rewrites, Safety.SAFE)
        if len(move.arguments) == 2
        else None,
        help=f"write `.to({device_value}, {dtype_value})`",
    )


def _name_it(argument: ir.Argument, keyword: str, useful: bool = True) -> Change | None:
    if not useful:
        return None
    return Change(f"Name it `{keyword}`", (insert_before(argument, f"{keyword}="),), Safety.SAFE)


def _use_to(call: ir.Call) -> Change | None:
    if not isinstance(call.func, ir.Attribute):
        return None
    tail = replace_tail(call.func.value, call.func, ".to")
    return Change("Use `.to()`", (tail,), Safety.UNSAFE)


def _move_afterwards(call: ir.Call, device: ir.Argument) -> Change | None:
    """`f(a, device=d)` becomes `f(a).to(d)`."""
    text = written(device.value)
    if len(call.args) != 2 or call.args[1] is not device or call.args[0].keyword is not None:
        return None
    rewrites = (*without(call, device), *move_behind(call, text))
    return Change("Move the result", rewrites, Safety.SAFE) if text else None


_LEGACY_CONSTRUCTORS = frozenset(
    f"torch.{name}"
    for name in (
        "Tensor", "FloatTensor", "DoubleTensor", "HalfTensor", "BFloat16Tensor", "LongTensor",
        "IntTensor", "ShortTensor", "CharTensor", "ByteTensor", "BoolTensor",
    )
)  # fmt: skip

_WITHOUT_DEVICE = frozenset({
    "Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict", "DataParallel",
    "TransformerEncoder", "TransformerDecoder", "Flatten", "Unflatten", "Fold", "Unfold",
    "Upsample", "PixelShuffle", "CosineSimilarity", "PairwiseDistance", "ReLU", "LeakyReLU", "ELU",
    "SELU", "CELU", "GELU", "SiLU", "Mish", "GLU", "Hardtanh", "Hardswish", "Softplus", "Softmax",
    "LogSoftmax", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "MaxPool1d",
    "MaxPool2d", "MaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d", "ZeroPad2d",
    "ReflectionPad2d", "ReplicationPad2d", "CrossEntropyLoss", "NLLLoss", "MSELoss", "L1Loss",
    "SmoothL1Loss", "HuberLoss", "BCELoss", "BCEWithLogitsLoss", "KLDivLoss", "CTCLoss",
    "TripletMarginLoss", "CosineEmbeddingLoss", "MarginRankingLoss", "GaussianNLLLoss",
})  # fmt: skip
"""Classes of torch.nn whose constructors take no device."""
