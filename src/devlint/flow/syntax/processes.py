"""What a file says of the processes in which it runs: how many a machine has, and which of them has
which device."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

from devlint.flow.syntax.imports import brought, spelled
from devlint.flow.syntax.walk import nodes_of
from devlint.model import ir
from devlint.model.trees import key, last_name
from devlint.policy import means

VISIBLE = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
"""The variables by which a process is shown some of the devices only."""
LOCAL_RANK = "LOCAL_RANK"
"""The variable that launchers set."""
GLOBAL_RANKS = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK")
"""The variables that they set to the number of a process among those of all machines."""
SETTERS = ("set_device", "set_device_index", "set_device_idx", "set_default_device")
"""How torch calls what chooses the current device of a process, for each kind of device."""
_LENDERS = ("torch.cuda.device", "torch.accelerator.device_index")
_FRAMEWORKS = frozenset((
    "accelerate", "catalyst", "colossalai", "composer", "deepspeed", "detectron2", "determined",
    "fairscale", "fairseq", "fastai", "fastreid", "horovod", "ignite", "lightning",
    "lightning_fabric", "megatron", "mmcv", "mmengine", "oneflow", "pytorch_lightning", "ray",
    "smdistributed", "tensorflow", "torch_xla", "torchpack", "torchtitan", "torchtune", "vllm",
))  # fmt: skip
"""Libraries that start processes, or set them up, and give each its device."""
_SPAWNS = ("torch.multiprocessing.spawn", "torch.multiprocessing.start_processes")
_STARTS = ("torch.multiprocessing.Process", "multiprocessing.Process")
_OBJECTS = (
    "broadcast_object_list", "all_gather_object", "gather_object", "scatter_object_list",
)  # fmt: skip
STREAM = "Stream"
_ON_CURRENT = (*(f"torch.distributed.{name}" for name in _OBJECTS), f"torch.cuda.{STREAM}")


def chooses(body: ir.Body, names: Mapping[str, str]) -> bool:
    """Whether a file chooses the device of a process, leaves that to a library, or may do so: what
    devices are visible is no choice where it is a list of several, the same in each process."""
    lists = {each for each, devices in _stored_texts(body) if "," in devices}
    shown: list[ir.Node] = []
    for node in nodes_of(body):
        match node:
            case ir.Constant(value=str(name)) if name in VISIBLE:
                shown.append(node)
            case ir.Import() | ir.ImportFrom():
                if any(name.partition(".")[0] in _FRAMEWORKS for name in brought(node)):
                    return True
            case ir.Call(func=func):
                if last_name(func) in SETTERS or spelled(func, names.get) in _LENDERS:
                    return True
    return any(each not in lists for each in shown)


def is_of_one(group: ir.Call, body: ir.Body) -> bool:
    """Whether a group has one process only, as far as the file spells it out."""
    for argument in group.args:
        match argument:
            case (
                ir.Argument(keyword="world_size", value=ir.Constant(value=1))
                | ir.Argument(keyword="rank", value=ir.Constant(value=int()))
            ):
                return True
    return any(each.value == "WORLD_SIZE" and text == "1" for each, text in _stored_texts(body))


def is_on_one_machine(body: ir.Body, names: Mapping[str, str]) -> bool:
    """Whether a file says that all processes run on one machine: it starts them itself, they meet
    on that itself, or it counts devices, and tells a group how many processes there are, which no
    launcher has set."""
    if spawned(body, names):
        return True
    texts = _stored_texts(body)
    if any(each.value == "MASTER_ADDR" and text.endswith(_OWN_ADDRESSES) for each, text in texts):
        return True
    counts = tells = False
    for node in nodes_of(body):
        match node:
            case ir.Constant(value="WORLD_SIZE"):
                return False
            case ir.Call(func=func, args=args):
                counts = counts or last_name(func) == "device_count"
                if last_name(func) == "init_process_group":
                    tells = tells or any(each.keyword == "world_size" for each in args)
    return counts and tells


_OWN_ADDRESSES = ("localhost", "127.0.0.1")


def _stored_texts(body: ir.Body) -> Iterator[tuple[ir.Constant, str]]:
    """The texts that a file stores under names of variables: `os.environ["WORLD_SIZE"] = "1"`."""
    for node in nodes_of(body):
        match node:
            case ir.Assign(
                targets=(ir.Subscript(index=ir.Constant() as variable),),
                value=ir.Constant(value=str(text)),
            ):
                yield variable, text


def by_launcher(group: ir.Call) -> bool:
    """Whether a group takes all that it has to know from a launcher's environment."""
    for argument in group.args:
        if argument.star or argument.keyword in ("rank", "world_size", "store"):
            return False
        if argument.keyword == "init_method":
            if not isinstance(argument.value, ir.Constant) or argument.value.value != "env://":
                return False
    return sum(not argument.keyword for argument in group.args) <= 1


def spawned(body: ir.Body, names: Mapping[str, str]) -> dict[str, bool]:
    """The functions, by name, that a file starts processes for; and whether each is given the
    number of its process."""
    found: dict[str, bool] = {}
    for node in nodes_of(body):
        if not isinstance(node, ir.Call):
            continue
        name = spelled(node.func, names.get)
        if name in _SPAWNS or name in _STARTS:
            for argument in node.args:
                wanted = ("fn", None) if name in _SPAWNS else ("target",)
                if argument.keyword in wanted and isinstance(argument.value, ir.Name):
                    found.setdefault(argument.value.id, name in _SPAWNS)
    return found


def counts_locally(body: ir.Body) -> bool:
    """Whether a file knows of a process which one of its machine it is."""
    for node in nodes_of(body):
        match node:
            case ir.Constant(value=str(text)):
                if text == LOCAL_RANK or means("local-rank", text.lstrip("-"), "variable"):
                    return True
            case ir.Name(id=name) | ir.Attribute(attr=name) | ir.Parameter(name=name):
                if means("local-rank", name, "variable"):
                    return True
    return False


def indexes(node: ir.Node) -> bool:
    """Whether an expression names one of several GPUs: `x.cuda(rank)`, `f"cuda:{rank}"`,
    `torch.device("cuda", rank)`, `device_ids=[rank]`."""
    match node:
        case ir.Call(
            func=ir.Attribute(attr="cuda"), args=(ir.Argument(keyword=None, value=given),)
        ):
            return not isinstance(given, ir.Constant)
        case ir.Call(
            func=ir.Attribute(attr="device"),
            args=(ir.Argument(value=ir.Constant(value="cuda")), ir.Argument(value=index)),
        ):
            return not isinstance(index, ir.Constant)
        case ir.Text(parts=(ir.Constant(value="cuda:"), *_)):
            return True
        case ir.Argument(keyword="device_ids", value=ir.Display(items=(only,))):
            return not isinstance(only, ir.Constant)
    return False


def takes_current(node: ir.Node, names: Mapping[str, str]) -> str:
    """The last word of the function that a call is of, where that works on the current GPU and is
    told no other; else ""."""
    if not isinstance(node, ir.Call) or any(each.star for each in node.args):
        return ""
    name = spelled(node.func, names.get)
    if name not in _ON_CURRENT or any(each.keyword == "device" for each in node.args):
        return ""
    last = name.rpartition(".")[2]
    return "" if last == STREAM and node.args else last


Stored = Mapping[Hashable, Sequence[ir.Expr]]
"""What is stored under names and attributes, these of whatever object."""


def possible(
    node: ir.Expr, around: ir.Function | None, stored: Callable[[ir.Function | None], Stored]
) -> Iterator[str | None]:
    """The texts that an expression may be, or that it makes a device of, as far as the function
    around it or the file spells them out; None for what they don't. `stored` gives what a function
    stores, or the whole file."""
    seen = set[tuple[Hashable, ir.Function | None]]()
    waiting = [(node, around)]
    while waiting:
        node, function = waiting.pop()
        match node:
            case ir.Constant(value=str(text)):
                yield text
            case ir.Conditional(body=one, orelse=other):
                waiting += (one, function), (other, function)
            case ir.Attribute(value=owner, attr=attr) if last_name(owner) == "Backend":
                yield attr
            case ir.Call(func=ir.Attribute(attr="device"), args=(ir.Argument(value=only),)):
                waiting.append((only, function))
            case ir.Name() | ir.Attribute():
                named = key(node)
                if (named, function) in seen:
                    continue
                seen.add((named, function))
                own = stored(function).get(named, ()) if isinstance(node, ir.Name) else ()
                found = own or stored(None).get(named, ())
                waiting += ((each, function if own else None) for each in found)
                if not found:
                    yield None
                yield from _given(node, function)
            case _:
                yield None


def _given(node: ir.Expr, around: ir.Function | None) -> Iterator[str | None]:
    """What a parameter may be: its default, or what nobody knows."""
    for parameter in () if around is None else around.params:
        if isinstance(node, ir.Name) and parameter.name == node.id:
            yield None
            if parameter.default is not None:
                yield from possible(parameter.default, None, lambda _: {})


def stored(body: ir.Body) -> Stored:
    """What the statements of a body store."""
    found: dict[Hashable, list[ir.Expr]] = {}
    for each in nodes_of(body):
        if isinstance(each, ir.Assign) and each.value is not None:
            for target in each.targets:
                found.setdefault(key(target), []).append(each.value)
    return found
