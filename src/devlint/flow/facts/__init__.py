"""Facts: what the interpreter saw, which rules read.

A fact is written in the last pass over a piece of code, when loops have settled. It holds
nodes (to point at) and operands (what is known of a value there). Rules import this package
and `devlint.model`, and nothing else of the interpreter:

* `base`: the node and the code around it, operands;
* `devices`: moves, devices that are named, ignored, lost or shared by processes;
* `meetings`: tensors, modules and generators that come together;
* `host`: what the host reads, waits for and pins;
* `names`: attributes and names of libraries;
* `modules`: what modules keep, what wraps them, optimizers;
* `files`: the file itself.
"""

from __future__ import annotations

from devlint.flow.domain.derivation import MOVES, Sort, Step
from devlint.flow.domain.devicestring import Misspelling
from devlint.flow.domain.differences import chosen_apart, device_at, difference
from devlint.flow.domain.keys import (
    CUDA_AVAILABLE,
    IS_NONE,
    ON_HOST,
    asks_type,
    chooses_host,
    stands_in,
    worded,
)
from devlint.flow.domain.lattice import (
    CPU,
    CUDA,
    THE_MODULE,
    UNKNOWN,
    Device,
    Guarded,
    Known,
    Symbol,
    conditions,
    is_chosen,
    leaves,
    left_out,
    may_be_accelerator,
    may_be_host,
    off_host,
    only_host,
)
from devlint.flow.domain.paths import identity
from devlint.flow.domain.traits import NO_LEAVES, Fixed, Fixing, Trait
from devlint.flow.domain.values import TENSORS, Kind, Origin
from devlint.flow.facts.base import Context, Elsewhere, Fact, Guard, Operand, Role
from devlint.flow.facts.devices import (
    DeviceUse,
    Ignored,
    IgnoredDevice,
    LeftOut,
    Loss,
    LossyDefault,
    MixedPrecision,
    Move,
    OwnIndex,
    SentToCuda,
    SharedDevice,
    Sharing,
    is_misspelled_flag,
)
from devlint.flow.facts.files import IdleSuppression, Revealed, Unparsable, Unreadable
from devlint.flow.facts.host import EarlyClock, EarlyRead, HostRead, LoopRead, Pinning, WorkerUse
from devlint.flow.facts.meetings import Collective, Draw, Indexing, Join, ModuleCall, StrayPart
from devlint.flow.facts.modules import (
    CachedTensor,
    KeptDevice,
    KeptModules,
    KeptTensor,
    LeftState,
    Wrap,
)
from devlint.flow.facts.names import (
    ApiCall,
    ApiRead,
    AttributeRead,
    AttributeWrite,
    BareReference,
    BuiltQuestion,
    Comparison,
    MissingOperand,
    TypeQuestion,
    UncalledQuestion,
)
from devlint.torchapi.spellings import (
    dtype_of_type,
    is_type_of_cuda,
    names_submodule,
    place_of_type,
)

__all__ = [
    "CPU", "CUDA", "CUDA_AVAILABLE", "IS_NONE", "MOVES", "NO_LEAVES", "ON_HOST", "TENSORS",
    "THE_MODULE", "UNKNOWN",
    "ApiCall", "ApiRead", "AttributeRead", "AttributeWrite", "BareReference", "BuiltQuestion",
    "CachedTensor", "Collective", "Comparison", "Context", "Device", "DeviceUse", "Draw",
    "EarlyClock", "EarlyRead", "Elsewhere", "Fact", "Fixed", "Fixing", "Guard", "Guarded",
    "HostRead", "IdleSuppression", "Ignored", "IgnoredDevice", "Indexing", "Join",
    "KeptDevice", "KeptModules", "KeptTensor", "Kind", "Known", "LeftOut", "LeftState", "LoopRead",
    "Loss", "LossyDefault", "MissingOperand", "Misspelling", "MixedPrecision", "ModuleCall", "Move",
    "Operand", "Origin", "OwnIndex", "Pinning", "Revealed", "Role", "SentToCuda", "SharedDevice",
    "Sharing", "Sort", "Step", "StrayPart", "Symbol", "Trait",
    "TypeQuestion", "UncalledQuestion", "Unparsable", "Unreadable", "WorkerUse", "Wrap",
    "asks_type", "chooses_host", "chosen_apart", "conditions", "device_at", "difference",
    "dtype_of_type", "identity", "is_chosen", "is_misspelled_flag", "is_type_of_cuda", "leaves",
    "left_out", "may_be_accelerator", "may_be_host", "names_submodule", "off_host",
    "only_host", "place_of_type", "stands_in", "worded",
]  # fmt: skip
