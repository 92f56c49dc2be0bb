"""What there is to know of each overload of an operator, put together when it is first met."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch

from devlint.runtime.virtual import kernels, texts
from devlint.runtime.virtual.checks import (
    Rule,
    Signature,
    as_first,
    composite,
    composite_in_inference,
    element_wise,
    element_wise_or_free,
    into,
    same,
)
from devlint.torchapi import aten
from devlint.torchapi.aten import Check, Operator

_BY_CHECK = {Check.EXACT: same, Check.ITERATOR: element_wise, Check.OUTPUT: into}

_COMPOSITE = (
    torch._C.DispatchKey.CompositeExplicitAutograd,
    torch._C.DispatchKey.CompositeExplicitAutogradNonFunctional,
)
_IMPLICIT = torch._C.DispatchKey.CompositeImplicitAutograd
"""Of operators that autograd takes apart, so that they come whole in inference mode alone."""


@dataclass(frozen=True, slots=True)
class _Twin:
    """The operator that an accelerator would run where the CPU runs another."""

    name: str
    renamed: Mapping[str, str]
    """Its names for the other's arguments, where they differ."""


_TWINS = {
    "stack": _Twin("cat", {}),
    "convolution": _Twin("cudnn_convolution", {"input": "self"}),
    "_native_batch_norm_legit": _Twin("native_batch_norm", {}),
    "_scaled_dot_product_flash_attention_for_cpu": _Twin(
        "_scaled_dot_product_efficient_attention", {"attn_mask": "attn_bias"}
    ),
}


_NO_SCALARS = {"scalars": frozenset(), "most": 0}

_BEFORE: Mapping[tuple[int, int], Mapping[str, Mapping[str, Any]]] = {
    (2, 6): {"lerp.Tensor": _NO_SCALARS, "lerp_.Tensor": _NO_SCALARS},
    (2, 7): {"addcmul": _NO_SCALARS, "addcmul_": _NO_SCALARS},
    (2, 8): {"mse_loss": {"scalars": frozenset({"self", "target"}), "most": 1}},
    (2, 10): {
        name: {**_NO_SCALARS, "check": Check.EXACT, "kernel": f"wrapper_CUDA_{name}"}
        for name in ("hypot", "hypot_")
    },
}
"""What the kernels did before a release, where the table says what they do since."""


def _row(name: str) -> Operator | None:
    """What the table says of an operator, as it is in the installed torch."""
    row = aten.load().operator(name)
    for release, changed in _BEFORE.items():
        if row is not None and name in changed and release > texts.RELEASE:
            row = replace(row, **changed[name])
    return row


def signature_of(overload: Any) -> Signature:
    """What there is to know of an overload, once."""
    schema = overload._schema
    namespace, _, base = schema.name.partition("::")
    name = f"{base}.{schema.overload_name}" if schema.overload_name else base
    twin = _TWINS.get(name, _Twin(name, {}))
    positions = {argument.name: index for index, argument in enumerate(schema.arguments)}
    tensors = tuple(each.name for each in schema.arguments if "Tensor" in str(each.type))
    row = _row(twin.name) if namespace == "aten" else None
    rule = _rule(namespace, base, name, row)
    shared = None
    if rule is composite:
        keys = (key for key in _COMPOSITE if overload.has_kernel_for_dispatch_key(key))
        shared = next(keys, None)
        if shared is None and overload.has_kernel_for_dispatch_key(_IMPLICIT):
            rule, shared = composite_in_inference, _IMPLICIT
        elif shared is None:
            rule = element_wise_or_free
    return Signature(name, base, positions, tensors, twin.renamed, row, rule, shared)


def _rule(namespace: str, base: str, name: str, row: Operator | None) -> Rule:
    if namespace != "aten":
        return as_first if namespace in ("profiler", "prim") else element_wise_or_free
    own = kernels.RULES.get(name) or kernels.RULES.get(base)
    if own is not None:
        return own
    if base.startswith("_foreach"):
        return kernels.foreach
    if row is not None and row.check in _BY_CHECK:
        return _BY_CHECK[row.check]
    if base.startswith("_nested"):
        return as_first
    return composite if row is None else element_wise_or_free
