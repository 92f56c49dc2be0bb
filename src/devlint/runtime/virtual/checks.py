"""The device rule of an operator: may these tensors meet, and where is the result?

A rule is called when the operands of an operator are not all on one device; it raises what a
kernel of the accelerator would raise, or says where the result is. Here is what most operators
do, as the operator table says of each; `kernels` has those that decide for themselves.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import torch
from torch import Tensor

from devlint.runtime.virtual import texts
from devlint.runtime.virtual.errors import Operand, device_error
from devlint.runtime.virtual.machine import Machine
from devlint.runtime.virtual.tags import CPU, NEUTRAL
from devlint.torchapi import aten
from devlint.torchapi.aten import Operator

Place = Any
"""Where the result is: a device, a list of them, or None for an operator that is made of others."""


@dataclass(frozen=True, slots=True)
class Signature:
    """What a rule needs to know of an overload of an operator."""

    name: str
    """As in `add.Tensor`."""
    base: str
    positions: Mapping[str, int]
    """Of the arguments, by name."""
    tensors: tuple[str, ...]
    """The arguments that can be tensors or lists of them."""
    renamed: Mapping[str, str]
    """What an accelerator calls them, where it differs."""
    row: Operator | None
    """What the operator table says; nothing for operators that it doesn't know."""
    rule: Rule
    shared: torch._C.DispatchKey | None = None
    """Where its code stands if it is made of other operators, for all kinds of devices alike."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of an operator, with all that a rule may ask."""

    signature: Signature
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    machine: Machine

    def argument(self, name: str, default: Any = None) -> Any:
        index = self.signature.positions.get(name, len(self.args))
        return self.args[index] if index < len(self.args) else self.kwargs.get(name, default)

    def operands(self) -> list[Operand]:
        """The tensors among the arguments, in order, with their places."""
        found = []
        for name in self.signature.tensors:
            value = self.argument(name)
            name = self.signature.renamed.get(name, name)
            if isinstance(value, Tensor):
                found.append(self.operand(name, value))
            elif isinstance(value, (list, tuple)):
                found += [self.operand(name, v) for v in value if isinstance(v, Tensor)]
        return found

    def operand(self, name: str, tensor: Tensor | None = None) -> Operand:
        """A tensor where it is, as far as that is known; the argument of that name unless given."""
        tensor = self.argument(name) if tensor is None else tensor
        return Operand(name, tensor, self.machine.known_place(tensor))

    def accelerator(self, operands: Iterable[Operand]) -> torch.device:
        """The first one that operands are on; the CPU, where they are on none."""
        return next((o.device for o in operands if self.machine.owns(o.device)), CPU)

    def fail(self, text: str, operands: Iterable[Operand]) -> NoReturn:
        raise device_error(RuntimeError, text, list(operands), self.signature.base)


Rule = Callable[[Call], Place]


def common(operands: Iterable[Operand]) -> tuple[torch.device, bool]:
    """The one device of all operands, and whether there is one."""
    found: torch.device | None = None
    for operand in operands:
        device = operand.device
        if device is NEUTRAL or device.type == "meta":
            continue
        if found is None:
            found = device
        elif device != found:
            return found, False
    return (NEUTRAL if found is None else found), True


def where_they_differ(rule: Callable[[Call, list[Operand]], Place]) -> Rule:
    """A rule that is asked only where not all operands are on one device, and is given them."""

    @functools.wraps(rule)
    def settled(call: Call) -> Place:
        operands = call.operands()
        device, agreed = common(operands)
        if agreed:
            return device
        if call.machine.thread.lenient:  # the function moves its operands itself
            return next((o.device for o in operands if call.machine.owns(o.device)), device)
        return rule(call, operands)

    return settled


@where_they_differ
def same(call: Call, operands: list[Operand]) -> Place:
    """The wrapper of the kernel compares all its tensors, in the order of the schema."""
    return compare(call, operands)


def compare(call: Call, operands: list[Operand], name: str = "", kernel: str = "") -> Place:
    """Raise at the first tensor that isn't where those before it are.

    Args:
        name: of the operator whose kernel compares, if it isn't the one that was called.
        kernel: as the message names it, if the table doesn't know.
    """
    kind = call.machine.kind
    if not kind.checked_kernels:
        call.fail(f"Placeholder storage has not been allocated on {kind.title} device!", operands)
    row = aten.load().operator(name) if name else call.signature.row
    ordered = in_order(operands, row.arguments) if row is not None and not kernel else operands
    kernel = kernel or (row.kernel if row is not None else f"wrapper_CUDA_{call.signature.base}")
    first: torch.device | None = None
    for operand in ordered:
        if operand.device is NEUTRAL:
            continue
        if first is None:
            first = operand.device
        elif operand.device != first:
            text = texts.same_device(operand.name, operand.device, first, kernel, kind.title)
            call.fail(text, operands)
    return NEUTRAL if first is None else first


def in_order(operands: list[Operand], names: tuple[str, ...]) -> list[Operand]:
    """Those that are compared, in the order in which they are."""
    if not names:
        return operands
    rank = {name: index for index, name in enumerate(names)}
    compared = [operand for operand in operands if operand.name in rank]
    return sorted(compared, key=lambda operand: rank[operand.name])


@where_they_differ
def element_wise(call: Call, operands: list[Operand]) -> Place:
    """TensorIterator: a 0-dimensional CPU tensor may come along where the operator allows it."""
    row = call.signature.row
    if row is None:
        return None
    return iterate(call, in_order(operands, row.arguments), row.scalars, row.most)


@where_they_differ
def element_wise_or_free(call: Call, operands: list[Operand]) -> Place:
    """Of an operator that nobody knows: as an element-wise one that takes any number of scalars."""
    return iterate(call, operands, {operand.name for operand in operands}, len(operands))


@where_they_differ
def composite(call: Call, operands: list[Operand]) -> Place:
    """Made of other operators: where its operands differ, those are asked."""
    return None


@where_they_differ
def composite_in_inference(call: Call, operands: list[Operand]) -> Place:
    """As `composite`, of what comes here whole in inference mode alone."""
    if torch.is_inference_mode_enabled():
        return None
    return iterate(call, operands, {operand.name for operand in operands}, len(operands))


@where_they_differ
def into(call: Call, operands: list[Operand]) -> Place:
    """The output has to be where the input is."""
    *outs, given = in_order(operands, call.signature.row.arguments if call.signature.row else ())
    found = next((out.device for out in outs if out.device != given.device), given.device)
    call.fail(
        f"Expected out tensor to have device {given.device}, but got {found} instead", operands
    )


def iterate(call: Call, operands: list[Operand], scalars: Collection[str], most: int) -> Place:
    """What TensorIterator does with operands of several devices.

    Args:
        scalars: names of those that may be 0-dimensional and on the CPU.
        most: how many of them may be.
    """
    shared = call.accelerator(operands)
    used = 0
    for operand in operands:
        device = operand.device
        if device is NEUTRAL or device.type == "meta":
            continue
        free = device is CPU and operand.tensor.dim() == 0 and operand.name in scalars
        if shared is not CPU and free:
            used += 1
            if used > most:
                call.fail("Trying to pass too many CPU scalars to non-CPU kernel!", operands)
        elif device != shared:
            call.fail(texts.two_devices(shared, device), operands)
    return shared


def as_first(call: Call) -> Place:
    """Only the first tensor says where the result is."""
    name = call.signature.tensors[0]
    value = call.argument(name)
    if isinstance(value, (list, tuple)):
        value = next((item for item in value if isinstance(item, Tensor)), None)
    return NEUTRAL if value is None else call.operand(name, value).device
