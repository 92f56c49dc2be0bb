"""DEV305: a torch.device is compared with a string, by identity, or with and without an index."""

from __future__ import annotations

import re
from collections.abc import Iterator

from devlint.flow.facts import CPU, Comparison, Kind, Known, Operand, Symbol, Trait
from devlint.model import ir
from devlint.model.findings import Level, Safety
from devlint.model.reports import (
    Anchor,
    Change,
    Report,
    Rewrite,
    insert_after,
    insert_before,
    replace,
)
from devlint.model.trees import key
from devlint.rules import rule

_EQUALITY = frozenset({"==", "!="})
_MEMBERSHIP = frozenset({"in", "not in"})
_UNSETTLED = (Trait.BUILT, Trait.CHOICE, Trait.EITHER_CHOICE)
"""Of devices that may have an index which isn't known: of a text that was put together
(`f"cuda:{rank}"`), or one of several."""
_NAMES = re.compile(r"(cpu|cuda|mps|xpu|hpu|npu)(:\d+)?")
_WITH_INDEX = ("cuda", "mps", "xpu", "hpu", "npu")
"""The types of which a tensor's device always has an index."""
_WORDS = ("cpu", "gpu", "meta", *_WITH_INDEX)
_IDENTITY = {"is": "==", "is not": "!="}


@rule("device-compared-with-string", on=Comparison)
def device_compared_with_string(fact: Comparison) -> Iterator[Report]:
    """A device and a string, in either order: `==`, `in`, `is`, and methods of strings."""
    if fact.of_type:
        return
    device, other = _device_first(fact)
    if device.kind is not Kind.DEVICE or device.value.trait is Trait.DEVICE_OR_STRING:
        return
    strings = _strings(other)
    if fact.op in _EQUALITY | _MEMBERSHIP | set(_IDENTITY):
        if not strings or _takes_strings(device, strings):
            return
        if fact.op in _MEMBERSHIP and (device is fact.right or other.kind is Kind.STRING):
            verdict = "raises TypeError"
        else:
            verdict = f"is always {fact.op in ('!=', 'not in', 'is not')}"
        message = f"`{device}` is a torch.device, not a string: `{fact.op}` {verdict} here"
    elif device is fact.left and hasattr(str, fact.op):
        message = f"`{device}` is a torch.device, which has no `.{fact.op}()`"
    else:
        return
    yield Report(
        at=fact.node,
        message=message,
        because=device.trace,
        fix=_comparable(fact, device, strings),
        help=_remedy(device),
    )


@rule("device-compared-with-string", on=Comparison)
def type_compared_with_index(fact: Comparison) -> Iterator[Report]:
    """`device.type` and a string that no type is."""
    if not fact.of_type or fact.op not in _EQUALITY | _MEMBERSHIP or _holds(fact):
        return
    wrong = next((text for text in _strings(fact.right) if _is_no_type(text)), None)
    if wrong is None:
        return
    name = wrong.partition(":")[0].lower()
    fix = None
    if isinstance(fact.right.node, ir.Constant):
        rewrite = replace(fact.right.node, f'"{name}"')
        fix = Change(f'Compare with "{name}"', (rewrite,), Safety.UNSAFE)
    yield Report(
        at=fact.node,
        message=f'`{fact.left}` is a bare type such as "{name}": it is never "{wrong}"',
        because=fact.left.trace,
        fix=fix,
        help="compare the index separately (`device.index == 0`), or compare whole devices"
        if ":" in wrong
        else f'device types are lower case: compare with "{name}"',
    )


@rule("device-compared-with-string", on=Comparison)
def devices_never_equal(fact: Comparison) -> Iterator[Report]:
    """Two devices: one with an index and one without, or a new object by `is`."""
    left, right = fact.left, fact.right
    if fact.of_type or left.kind is not Kind.DEVICE or right.kind is not Kind.DEVICE:
        return
    if fact.op in _IDENTITY:
        if not (_is_new(left, right) or _is_new(right, left)):
            return
        op = _IDENTITY[fact.op]
        rewrite = Rewrite(Anchor(left.node, "end"), Anchor(right.node, "start"), f" {op} ")
        yield Report(
            at=fact.node,
            message=f"each torch.device is an object of its own: `{fact.op}` is always "
            f"{fact.op == 'is not'} here",
            fix=Change(f"Compare with `{op}`", (rewrite,), Safety.UNSAFE),
            help=f"compare with `{op}`",
        )
    elif fact.op in _EQUALITY and _one_lacks_an_index(left, right):
        bare, whole = (left, right) if _has_index(right) else (right, left)
        yield Report(
            at=fact.node,
            message=f"`{bare}` has no index and `{whole}` has one: they are never equal",
            because=(*left.trace, *right.trace),
            help="compare their `.type`, or give both an index",
        )


@rule("device-compared-with-string", on=Comparison)
def text_without_index(fact: Comparison) -> Iterator[Report]:
    """`str(x.device) == "cuda"`: the text of a tensor's device has an index."""
    text, other = _first_of(fact, Trait.TEXT_OF_DEVICE)
    strings = _strings(other)
    equal = fact.op in _EQUALITY or (fact.op in _MEMBERSHIP and text is fact.left)
    if text.value.trait is not Trait.TEXT_OF_DEVICE or not equal or not strings:
        return
    if other.kind is Kind.STRING and fact.op in _MEMBERSHIP:
        return  # a part of a text
    if not all(each in _WITH_INDEX for each in strings):
        return
    yield Report(
        at=fact.node,
        message=f'`{text}` has an index, as in "{strings[0]}:0": `{fact.op}` is always '
        f"{fact.op in ('!=', 'not in')} here",
        help="compare the device's `.type`, which has none",
    )


@rule("device-compared-with-string", on=Comparison)
def either_compared(fact: Comparison) -> Iterator[Report]:
    """A parameter that may be a device or a string, compared as if it were always a string."""
    given, other = _first_of(fact, Trait.DEVICE_OR_STRING)
    strings = _strings(other)
    if (
        given.value.trait is not Trait.DEVICE_OR_STRING
        or not strings
        or fact.op not in _EQUALITY | _MEMBERSHIP
    ):
        return
    if fact.op in _MEMBERSHIP and (given is fact.right or other.kind is Kind.STRING):
        return
    if not all(_NAMES.fullmatch(text) for text in strings):
        return  # another string is no device: "auto"
    wrong = fact.op in ("!=", "not in")
    rewrites = (insert_before(given.node, "str("), insert_after(given.node, ")"))
    yield Report(
        at=fact.node,
        message=f"`{given}` may be a torch.device, and no device equals a string: `{fact.op}` is "
        f"then always {wrong}",
        fix=Change("Compare the device as a string", rewrites, Safety.SAFE),
        help=f"compare `torch.device({given}).type`, or make it a device first",
        level=Level.WARNING,
    )


def _first_of(fact: Comparison, trait: Trait) -> tuple[Operand, Operand]:
    """Both sides, that of the trait first if one has it."""
    left, right = fact.left, fact.right
    return (left, right) if left.value.trait is trait else (right, left)


def _device_first(fact: Comparison) -> tuple[Operand, Operand]:
    if fact.left.kind is Kind.DEVICE:
        return fact.left, fact.right
    return fact.right, fact.left


def _takes_strings(device: Operand, strings: tuple[str, ...]) -> bool:
    """Whether what is only said to be a device, of a parameter, is compared with a word for
    something else (`device == "pinned"`): then it is given strings, too."""
    if not isinstance(device.node, ir.Name) or not isinstance(device.device, Symbol):
        return False
    return any(text and text.lower().partition(":")[0] not in _WORDS for text in strings)


def _holds(fact: Comparison) -> bool:
    """Whether the type is looked for among several strings, one of which it may be."""
    return any(not _is_no_type(text) for text in _strings(fact.right))


def _strings(operand: Operand) -> tuple[str, ...]:
    """The strings that a device is compared with: one, or those of a display in place."""
    if operand.kind is Kind.STRING:
        return (operand.constant,) if isinstance(operand.constant, str) else ("",)
    if isinstance(operand.node, ir.Display):
        values = [item.value for item in operand.node.items if isinstance(item, ir.Constant)]
        texts = tuple(value for value in values if isinstance(value, str))
        return texts if len(texts) == len(operand.node.items) else ()
    return ()


def _is_no_type(text: str) -> bool:
    """An index follows, or it is "CUDA": types are lower case."""
    return ":" in text or text in ("CUDA", "CPU", "MPS")


def _comparable(fact: Comparison, device: Operand, strings: tuple[str, ...]) -> Change | None:
    """`.type` after the device; where the strings have indices, `str()` around it."""
    if fact.op in _IDENTITY:
        if device is not fact.left or any(map(_is_no_type, strings)):
            return None
        operator = f".type {_IDENTITY[fact.op]} "
        start, end = Anchor(device.node, "end"), Anchor(fact.right.node, "start")
        rewrites: tuple[Rewrite, ...] = (Rewrite(start, end, operator),)
        help = _remedy(device)
    elif all(text and not _is_no_type(text) for text in strings) and strings:
        rewrites, help = (insert_after(device.node, ".type"),), _remedy(device)
    else:
        rewrites = (insert_before(device.node, "str("), insert_after(device.node, ")"))
        help = f"compare `str({device})`"
    return Change("Compare the device as a string", rewrites, Safety.SAFE, help=help)


def _remedy(device: Operand) -> str:
    return f"compare `{device}.type`, which is a string without an index"


def _is_new(operand: Operand, other: Operand) -> bool:
    """The device is made by this expression: nothing else can be the same object. A call that is
    given the other one may hand it back."""
    if isinstance(operand.node, ir.Call):
        return all(key(each.value) != key(other.node) for each in operand.node.args)
    return operand.value.trait is Trait.DEVICE_OF_TENSOR


def _has_index(operand: Operand) -> bool | None:
    """Whether the device has an index; None where it isn't known.

    The device of a tensor or a module has one on every accelerator, whatever the tensor was asked
    for, and none on the CPU and on `meta`; other libraries' objects keep what they are asked for.
    """
    device, of_tensor = operand.device, operand.value.trait is Trait.DEVICE_OF_TENSOR
    if operand.value.trait in _UNSETTLED and getattr(device, "index", None) is None:
        return None
    if isinstance(device, Known) and (not of_tensor or device.type in ("cpu", "meta")):
        return None if of_tensor and device.index is not None else device.index is not None
    return True if of_tensor else None


def _one_lacks_an_index(left: Operand, right: Operand) -> bool:
    if {_has_index(left), _has_index(right)} != {True, False}:
        return False
    bare, whole = (left, right) if _has_index(right) else (right, left)
    if not isinstance(whole.device, Known):
        return bare.device not in (CPU, Known("meta"))
    return isinstance(bare.device, Known) and bare.device.type == whole.device.type
