"""Runs a function on the CPU and says where its operators would refuse tensors of two devices.

Each tensor has an emulated device. Every operator that the function comes down to is looked up in
the table of operators; one that isn't there is made of others, and those are looked up instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from devlint.torchapi import aten
from devlint.torchapi.aten import Check, Operator

TABLE = aten.load()
HERE, FAR = "cpu", "cuda"
ON_CPU = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)


class RefusalError(Exception):
    """What an operator would have raised on a GPU."""


class UndecidedError(Exception):
    """An operator got tensors of two devices whose kernel has code of its own for that."""


class Meeting(TorchDispatchMode):
    """Follows the places of tensors; those that C++ makes on its way fit anywhere."""

    def __init__(self, places: Sequence[tuple[Tensor, str]]) -> None:
        super().__init__()
        self.places: dict[int, str] = {}
        self.kept: list[Any] = []  # an identity is given again when its storage is gone
        self.compared = 0
        """How many operators had two tensors or more whose devices they compare."""
        for tensor, place in places:
            self.put(tensor, place)

    def put(self, tensor: Tensor, place: str) -> None:
        storage = tensor.untyped_storage()
        self.kept.append(storage)
        self.places[storage._cdata] = place

    def place(self, tensor: Tensor) -> str:
        return self.places.get(tensor.untyped_storage()._cdata, "")

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        operator = TABLE.operator(func._schema.name.partition("::")[2] + dotted(func._overloadname))
        given = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
        where = {self.place(tensor) for tensor in given} - {""}
        if operator is None and made_of_others(func.name()):
            with self:
                result = func.redispatch(ON_CPU, *args, **kwargs)
        else:
            if operator is not None:
                self.look(operator, {**named(func, args), **kwargs})
            result = func(*args, **kwargs)
        if func is torch.ops.aten.copy_.default:
            return result  # what is copied into stays where it is, wherever that is
        for made in tree_leaves(result):
            if isinstance(made, Tensor) and where and not self.place(made):
                self.put(made, FAR if FAR in where else HERE)
        return result

    def look(self, operator: Operator, given: dict[str, Any]) -> None:
        operands = [
            (name, tensor)
            for name in operator.arguments or given
            for tensor in tree_leaves(given.get(name))
            if isinstance(tensor, Tensor) and self.place(tensor)
        ]
        if operator.check is not Check.NONE and len(operands) > 1:
            self.compared += 1
        if len({self.place(tensor) for _, tensor in operands}) < 2:
            return
        if operator.check is Check.OWN:
            raise UndecidedError(operator.name)
        free = [name for name, tensor in operands if self.free(operator, name, tensor)]
        if len(free) > operator.most or any(
            self.place(tensor) == HERE and not self.free(operator, name, tensor)
            for name, tensor in operands
        ):
            raise RefusalError(operator.name)

    def free(self, operator: Operator, name: str, tensor: Tensor) -> bool:
        return name in operator.scalars and tensor.dim() == 0 and self.place(tensor) == HERE


def dotted(overload: str) -> str:
    return "" if overload == "default" else f".{overload}"


def made_of_others(name: str) -> bool:
    """Whether one kernel serves all devices, which is what can be gone into."""
    keys = ("ImplicitAutograd", "ExplicitAutograd", "ExplicitAutogradNonFunctional")
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    return any(has_kernel(name, f"Composite{key}") for key in keys)


def named(func: Any, args: tuple[Any, ...]) -> Iterator[tuple[str, Any]]:
    names = (argument.name for argument in func._schema.arguments)
    return dict(zip(names, args, strict=False))


def meet(call: Callable[[], object], places: Sequence[tuple[Tensor, str]]) -> Meeting:
    """The meeting of these tensors in this call.

    Raises:
        RefusalError: an operator would raise.
        UndecidedError: one has code of its own that would look.
    """
    with torch.no_grad(), Meeting(places) as meeting:
        call()
    return meeting
