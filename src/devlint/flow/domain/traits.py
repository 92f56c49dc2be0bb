"""What is known of a value besides its kind and its place: traits, of which a value has one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Trait(Enum):
    """One thing that is known of a value."""

    __hash__ = object.__hash__  # Enum's own is written in Python

    # --- a tensor, or what is as good as one
    PARAMETER = "parameter"
    BUFFER = "buffer"
    MOVED_PARAMETER = "moved parameter"
    """A copy of a parameter: what a move made of it."""
    LEAF = "leaf"
    """Of no module, and a gradient is asked for: it gets one."""
    MOVED_LEAF = "moved leaf"
    """What a move to an accelerator made of a leaf: the gradient goes past it."""
    ROWS = "rows"
    """New, and of two dimensions or more: what is taken out of it has one still."""
    ELEMENT = "element"
    """Taken out of another one: it may well be 0-dimensional."""
    FIRST = "first element"
    """`x.data[0]` where nobody knows whether `x` has dimensions: of a loss it was the number, long
    ago."""
    OF_DISTRIBUTION = "of a distribution"
    """What a distribution holds, where that is written: it can't be moved by itself."""
    GUARDED = "guarded"
    """It was placed under a condition."""
    PINNED = "pinned"
    PART = "part of an output"
    """Given by a module of which nothing is known: it may be no tensor."""
    BESIDE = "beside the first output"
    """What such a module gives beside its first result, or a part of that: lengths in a list, or a
    tensor."""
    UNPACKED = "unpacked"
    """One of several things that a batch or an output was unpacked into."""
    PERHAPS = "perhaps a tensor"
    """What an object keeps that is a tensor of the host on one path, and who knows what on another:
    where it is used as only tensors are, it is that."""
    TENSOR_OR = "tensor or else"
    """It may be a tensor, among other things that have a `.to`."""
    LOADED = "loaded"
    """What a file holds, or a part of that, where each tensor was brought to one place."""
    MOVED_IN_PART = "moved in part"

    # --- a module or another object
    SELF = "self"
    """The object whose method is running."""
    SUPER = "super"
    """`super()`: that object, as its base classes see it."""
    IF_MODULE = "if a module"
    """It was moved: if it is a module, it is there now."""
    SPREAD = "spread"
    """A wrapper of an unknown class that takes its inputs to several devices."""
    PLACER = "placer"
    """It places what it prepares: an `Accelerator`, and its `device`."""
    MANAGED = "managed"
    """A framework has placed it, or will."""
    MOVES_NOTHING = "moves nothing"
    """A transform that leaves graphs where they are."""
    DEVICE_CONTEXT = "device context"
    """`torch.cuda.device(0)`: a context manager, no device."""

    # --- a device, or what names one
    DEVICE_OF_TENSOR = "device of a tensor"
    """`x.device` of a tensor or a module: a new object at each read."""
    TEXT_OF_DEVICE = "text of a device"
    """`str(x.device)`."""
    TYPE_OF_DEVICE = "type of a device"
    INDEX_OF_DEVICE = "index of a device"
    ANSWER = "answer to what a place is"
    INDEX_OF_TENSOR = "index of a tensor's device"
    """What `x.get_device()` gives: -1 on the CPU."""
    CHOICE = "choice"
    """A device, or the name of one, that several paths bring along."""
    EITHER_CHOICE = "choice of a device or a string"
    DEVICE_OR_STRING = "device or string"
    """An argument whose annotation allows both, and `module.device` where nobody has seen the
    module's class."""
    BUILT = "built"
    """Named by a text that was put together: its index, if it has one, isn't known."""
    ONLY_DEVICE = "only device"
    """The single device of a wrapper, or the first one where nobody knows how many there are."""

    # --- a number, a text or a sequence
    PYTHON_NUMBER = "number"
    """A number of Python for sure."""
    DIGITS = "digits"
    """The text of a number."""
    DEVICE_COUNT = "number of devices"
    GLOBAL_RANK = "rank among the processes of all machines"
    DEVICE_INDICES = "indices of devices"
    CLOCK = "clock"
    EARLY_CLOCK = "clock after work"
    """A clock that was read while the accelerator may be at work still."""
    SHAPE = "shape"
    SLICE = "slice"
    LAZY = "lazy"
    """An iterator rather than a tuple."""

    # --- of any kind
    ANNOTATED = "annotated"
    """Of its kind by its annotation alone: it may be a tensor."""
    EXITS = "exits"
    """The result of a call that doesn't return."""
    REGISTERS_BUFFER = "registers a buffer"
    """The result of `register_buffer`: None."""


class Fixing(Enum):
    """What keeps a model where its library has placed it."""

    EIGHT_BIT = "an 8-bit"
    FOUR_BIT = "a 4-bit"
    DISPATCH = "a dispatched"


@dataclass(frozen=True, slots=True)
class Fixed:
    """The trait of a model that isn't to be moved, since its library has placed it; `condition` is
    the key of that under which it is so, None where it is always so."""

    by: Fixing
    condition: str | None = None


REGISTERED = frozenset((Trait.PARAMETER, Trait.BUFFER))
"""Of tensors that a module holds and takes along."""
NO_LEAVES = frozenset((Trait.MOVED_PARAMETER, Trait.MOVED_LEAF))
"""Of what a move made of something that gets a gradient."""
ELEMENTS = frozenset((Trait.ELEMENT, Trait.FIRST))
CHOICES = frozenset((Trait.CHOICE, Trait.EITHER_CHOICE))
