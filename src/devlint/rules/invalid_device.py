"""DEV304: a string or a number that names no device."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator

from devlint.flow.facts import ApiCall, DeviceUse, Kind, Misspelling, Operand
from devlint.model import ir
from devlint.model.findings import Safety
from devlint.model.reports import Change, Report, replace
from devlint.rules import rule

_TYPES = ("cpu", "cuda", "mps", "xpu", "xla", "hpu", "mtia", "meta", "hip", "maia", "vulkan")
"""The types that somebody may have meant."""

_OTHER_NAMES = {"gpu": "cuda", "nvidia": "cuda", "rocm": "cuda", "metal": "mps"}
_NEVER_A_TYPE = ("auto", "none", "None", "accelerator")

_FILE = re.compile(r"/|\.(pt|pth|pkl|bin|ckpt|tar)$")
_SHAPE = re.compile(r"([a-z]+)(?::+|[ _.-])?0*?([0-9]{0,3})")


@rule("invalid-device", on=DeviceUse)
def invalid_device(use: DeviceUse) -> Iterator[Report]:
    if use.problem is None or use.via == "default":
        return
    written = use.operand.constant
    nearest, safety = _nearest(written) if isinstance(written, str) else ("", None)
    if not nearest and use.problem.unknown_type and written not in _NEVER_A_TYPE:
        return  # a backend package may add it
    literal = isinstance(use.node, ir.Constant) and use.node.value == written
    if use.via == "map_location" and isinstance(written, str) and _FILE.search(written):
        yield Report(
            at=use.node,
            message=f"{_shown(use.operand)} is passed as `map_location`, but isn't a device",
            because=use.operand.trace,
            help="the file is the first argument: `module.load_state_dict(torch.load(file))`",
        )
        return
    if use.operand.kind is not Kind.STRING and written is None:
        yield Report(
            at=use.node,
            message=use.problem.message,
            help=_choice(use.node.id) if isinstance(use.node, ir.Name) else "",
        )
        return
    fix = None
    if safety is not None and literal:
        fix = Change(f"Write `{nearest}`", (replace(use.node, f'"{nearest}"'),), safety)
    yield Report(
        at=use.node,
        message=f"{_shown(use.operand)} names no device: {_in_short(use.problem)}",
        because=use.operand.trace,
        fix=fix,
        help=f'did you mean `"{nearest}"`?' if nearest else "",
    )


def _choice(name: str) -> str:
    return f'choose one: `torch.device({name} if {name} is not None else "cpu")`'


@rule("invalid-device", on=ApiCall)
def index_given_twice(call: ApiCall) -> Iterator[Report]:
    if call.name != "torch.device" or call.unpacked:
        return
    name = _argument(call, 0, "type")
    index = _argument(call, 1, "index")
    if name is None or index is None:
        return
    if isinstance(name.constant, str) and ":" in name.constant:
        yield Report(
            at=call.node,
            message=f"the index is given twice: {name} has one, and {index} is another",
            help="leave one of them out",
        )
    elif index.kind is Kind.STRING:
        yield Report(
            at=call.node,
            message=f"the index of a device must be an int, and {index} is a str",
            help=f"write `int({index})`",
        )


def _argument(call: ApiCall, position: int, keyword: str) -> Operand | None:
    if position < len(call.positional):
        return call.positional[position]
    return call.keyword(keyword)


def _nearest(text: str) -> tuple[str, Safety | None]:
    """The device that was most likely meant, and how safe it is to write it instead."""
    shape = _SHAPE.fullmatch(text.strip().lower())
    if shape is None:
        return ("cuda:0", None) if text.startswith("cuda:0") else ("", None)
    name, index = shape.groups()
    meant = _OTHER_NAMES.get(name, name)
    safety: Safety | None = Safety.SAFE if meant == name else Safety.UNSAFE
    if meant not in _TYPES:
        meant = next(iter(difflib.get_close_matches(name, _TYPES, n=1, cutoff=0.7)), "")
        safety = None
    device = f"{meant}:{int(index)}" if meant and index else meant
    return device, safety if device else None


def _shown(operand: Operand) -> str:
    """The string, and the name it goes by."""
    spelled = f'"{operand.constant}"' if isinstance(operand.constant, str) else ""
    if isinstance(operand.node, ir.Constant) and spelled:
        return spelled
    return f"`{operand}` is {spelled}, which" if spelled else f"`{operand}`"


def _in_short(problem: Misspelling) -> str:
    """Torch's message, with its long list of types left out."""
    if problem.unknown_type is None:
        return problem.message
    return f"expected a device type at start of device string: {problem.unknown_type}"
