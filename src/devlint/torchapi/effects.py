"""The closed list of effects that a call can have, and the row that claims one for a name.

Rows stand in the TOML files beside this module and in users' `[tool.devlint.torchapi]`. A key
is a dotted name: `torch.zeros`, `torch.Tensor.to`, `torch.nn.Linear`, `torchvision.models.*`
(a trailing `*` stands for one name). What is said of `torch.Tensor.x` holds for methods of
every tensor, what is said of `torch.nn.Module.x` for every module.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

Arg = int | str
"""An argument: its position (0 is the first after `self`) or its keyword; "self" is the receiver.

`[0, "device"]` names one parameter that may be given either way. A tuple of `Arg` is such a list.
"""


class Effect(str, Enum):
    """What a call does, as far as devices go."""

    CREATE = "create"
    """Makes a tensor on the device of `device`, else on the default device; `data` may decide."""
    CREATE_LIKE = "create-like"
    """Makes a tensor where the argument `like` is, unless `device` says otherwise."""
    MOVE = "move"
    """The result is the receiver (or `of`) on `device`, or where `like` is, or on `to`."""
    MOVE_IN_PLACE = "move-in-place"
    """As `move`, and the receiver itself has moved (modules, encodings)."""
    KEEP = "keep"
    """The result is where the receiver (or the argument `of`) is; nothing meets."""
    JOIN = "join"
    """The tensors of `operands` must be on one device; the result is there too."""
    INDEX = "index"
    """As `join`, but `operands` after the first may be on the CPU (`index_put_`)."""
    READ_ON_HOST = "read-on-host"
    """Raises unless the receiver is on the CPU."""
    READ = "read"
    """Copies to the host whatever the device; the result is a plain Python value (`.item()`)."""
    HOST_ONLY = "host-only"
    """Another library's function: its arguments (`operands`) must be on the CPU."""
    REGISTER = "register"
    """Registers a tensor (argument 1) or a module under a name (argument 0) on a module."""
    CONSTRUCT = "construct"
    """Makes an object of the kind `kind`: a module, an optimizer, a loader, a generator ..."""
    OPAQUE = "opaque"
    """Known, and nothing is known of what it returns: silences guesses about the name."""
    OVERLAY = "overlay"
    """What can't be a row: the function `overlay` of `flow.effects.overlays` decides."""


class Dims(str, Enum):
    """How many dimensions the result has: what decides whether it may meet any device."""

    UNKNOWN = ""
    NONE = "none"
    """Always 0-dimensional."""
    SOME = "some"
    """Never 0-dimensional."""
    STACK = "stack"
    """Never 0-dimensional: one more than each of the operands."""
    SHAPE = "shape"
    """0-dimensional only if the size given (the first argument, or `size`) is empty."""
    DRAWN = "drawn"
    """0-dimensional unless a `size` is given."""
    DATA = "data"
    """As the data: 0-dimensional for a number, not for a list with something in it."""
    REDUCE = "reduce"
    """0-dimensional when no `dim` is given."""
    SAME = "same"
    """As the receiver, or as the broadcast of the operands."""
    SQUEEZE = "squeeze"
    """As the receiver; 0-dimensional if that has one element only."""
    LOSS = "loss"
    """0-dimensional, unless a `reduction` is given that may be none."""


@dataclass(frozen=True, slots=True)
class Row:
    """One claim about one name. Fields that an effect doesn't use are left at their defaults."""

    name: str
    effect: Effect
    device: tuple[Arg, ...] = ()
    """The parameter that names a device."""
    like: tuple[Arg, ...] = ()
    """The parameter whose device the result takes; join: others than those that meet."""
    data: tuple[Arg, ...] = ()
    """create: the parameter with the data; a tensor there keeps its device (`torch.tensor(t)`)."""
    of: tuple[Arg, ...] = ("self",)
    """move, keep, read: whose device or value it is about; [0, "input"] for functions."""
    operands: tuple[tuple[Arg, ...], ...] = ()
    """join, index, host-only: the parameters that meet; ["*"] are all positional ones. A list of
    tensors is flattened. Numbers, None and what isn't known are left out."""
    cpu_only: tuple[tuple[Arg, ...], ...] = ()
    """Parameters that must be on the CPU (`lengths` of pack_padded_sequence)."""
    tensors: bool = False
    """With `cpu-only`: they take tensors, and no lists or numbers in their place. construct of a
    data set: all that it is given are tensors, whose rows it gives where they are."""
    to: str = ""
    """move, create: the fixed device type ("cuda", "cpu"), whatever the default device is.
    construct of a module: "accelerator" for one that is on CUDA where that is available."""
    kind: str = "tensor"
    """The kind of the result, in the words of `flow.domain.values.Kind`, lower case."""
    trait: str = ""
    """What else is known of the result, in the words of `flow.domain.traits.Trait`."""
    parts: bool = False
    """The result is a tuple of such tensors (`split`, `topk`, an RNN's output)."""
    parts_with: tuple[str, ...] = ()
    """It is such a tuple where one of these keywords is true (`nonzero(as_tuple=True)`)."""
    parts_without: tuple[Arg, ...] = ()
    """It is such a tuple, each with dimensions, where this is left out (`where(mask)`)."""
    dims: Dims = Dims.UNKNOWN
    dim: tuple[Arg, ...] = (0, "dim", "axis")
    """The parameter with the dimensions that go, for `dims = "reduce"`."""
    size: tuple[Arg, ...] = (0, "size")
    """The parameter with the size, for `dims = "shape"`; -1 is the last positional one."""
    free_scalars: bool = True
    """join: a 0-dimensional CPU tensor may meet any device (`add`: yes; `cat`, `matmul`: no)."""
    or_numbers: bool = False
    """join without `free-scalars`: where one operand is a number, so is a 0-dimensional tensor
    (`clamp(x, 0, limit)`)."""
    generator: tuple[Arg, ...] = ()
    """The parameter with the generator that random numbers come from: it has to be where they are.
    What makes no tensor draws on the default device (a loader's order, `random_split`)."""
    own_generator: bool = False
    """Without one it takes a generator of the CPU, whatever the default device is."""
    inplace: bool = False
    """It writes into the receiver and returns it (`add_`)."""
    grad: bool = False
    """construct, create: the result requires a gradient (`nn.Parameter`)."""
    parameters: bool = True
    """construct of a module: it has parameters or buffers of its own, so it lives on a device."""
    beside: tuple[str, ...] = ()
    """construct of a module: the functions of libraries that come with it, in a tuple."""
    calls: bool = False
    """A method of a library's module takes what a call of the module takes (`generate`)."""
    reduces: bool = False
    """construct of a module: a loss, which gives one number unless `reduction` says otherwise."""
    weights: tuple[tuple[Arg, ...], ...] = ()
    """With `parameters = false`: it does hold a tensor where one of these is given, which has
    dimensions where `dims` says so (a weight for each class). Of any other module: it holds none
    where all of these are False (`LayerNorm(3, elementwise_affine=False)`)."""
    state: str = ""
    """construct of an optimizer: "built" where it makes its state when it is built; else the first
    step makes it. With `parameters = false` it keeps none, unless one of `weights` is given."""
    has_device: bool = False
    """construct of a module: it has a `device` attribute, which a plain `nn.Module` lacks."""
    submodules: tuple[str, ...] = ()
    """construct of a module: attributes that are modules (`resnet18().layer1`)."""
    managed: bool = False
    """construct, move: a framework places what is made or passed through (`Accelerator.prepare`,
    `DataParallel`): nothing is said of where it is, or of what it is called with."""
    batches: tuple[str, ...] = ()
    """construct of a module: its methods whose first argument is a batch that the framework has
    brought to where the module is (`training_step`)."""
    model_and_batch: tuple[str, ...] = ()
    """opaque, of a trainer: its methods whose first two arguments are a model and a batch that it
    has brought to where the model is (`compute_loss`)."""
    metrics: bool = False
    """construct of a module: its framework places the metrics that it keeps, in plain containers,
    too."""
    cuda: bool = False
    """It needs CUDA at run time and raises without it (`torch.cuda.synchronize`)."""
    inside: str = ""
    """host-only: "only" what lists hold is read ("numpy.mean" asks a tensor for its own `mean`), or
    the "entries" of a dict, beside the argument itself (a list of tensors is kept as it is)."""
    wraps: bool = False
    """host-only: what it is given decides about the result, an array for arrays and a tensor for a
    tensor, as numpy's universal functions do (`np.sqrt(tensor)`)."""
    host: str = ""
    """read-on-host: how the rule calls it ("numpy")."""
    overlay: str = ""
    torch: str = ""
    """The releases it holds for, such as ">=2.4"; "" for all."""
