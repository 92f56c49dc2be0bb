"""Attributes that are read, written or compared, and names of libraries."""

from __future__ import annotations

from dataclasses import dataclass

from devlint.flow.facts.base import Fact, Operand
from devlint.model import ir


@dataclass(frozen=True, slots=True)
class AttributeRead(Fact):
    """`receiver.attr` for attributes about devices: device, is_cuda, get_device; and the gradient
    of a tensor that was moved since it was asked for.

    `called`: it is called (`x.device()`), and `node` is then the call. `defined`: the
    receiver's class (or a base that isn't known) may define the attribute. `stateless`: it is a
    module without parameters. `call` is the one that gives the function its receiver, where that
    decides what it is.
    """

    receiver: Operand
    attr: str
    called: bool = False
    defined: bool = True
    stateless: bool = False
    call: ir.Call | None = None


@dataclass(frozen=True, slots=True)
class MissingOperand(Fact):
    """A name that nothing binds, or one branch alone, or an attribute that an object of the class
    `owner` hasn't, is moved or asked where it is, by `attr`; or it stands where a device is meant
    (`attr` is "").

    `node` is the name or the attribute.
    """

    node: ir.Name | ir.Attribute
    attr: str
    owner: str = ""
    partly: ir.If | None = None
    """The name is bound in the branch of this `if` alone."""


@dataclass(frozen=True, slots=True)
class AttributeWrite(Fact):
    """`receiver.attr = value`. `self_module`: the receiver is `self` of an nn.Module class;
    `anew`: a method that runs again puts it in the place of a parameter or a buffer.

    `node` is the statement.
    """

    receiver: Operand
    attr: str
    value: Operand
    self_module: bool = False
    anew: bool = False


@dataclass(frozen=True, slots=True)
class BareReference(Fact):
    """`model.cuda` as a statement, or `x = x.cuda`: the method is named and not called."""

    node: ir.Attribute
    receiver: Operand
    attr: str


@dataclass(frozen=True, slots=True)
class TypeQuestion(Fact):
    """`isinstance(x, torch.LongTensor)`: only a tensor of the CPU is one. `names` are the types."""

    node: ir.Call
    subject: Operand
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UncalledQuestion(Fact):
    """`if torch.cuda.is_available:`; the function is named and not called."""

    node: ir.Expr


@dataclass(frozen=True, slots=True)
class BuiltQuestion(Fact):
    """`torch.backends.cuda.is_built()` decides that the device is CUDA. `whole`: it is written with
    its full name, beginning with `torch`."""

    node: ir.Call
    whole: bool


@dataclass(frozen=True, slots=True)
class Comparison(Fact):
    """`left op right` where one side has to do with devices: a DEVICE or its `.type`, `str()` of a
    tensor's, or a parameter that may be a DEVICE as well as a string.

    `op` is "==", "!=", "in", "not in", "is", "is not"; or "startswith" and other string methods
    of a DEVICE (`right` is then its argument).
    """

    op: str
    left: Operand
    right: Operand
    of_type: bool = False
    """The left side is `device.type`, a string without an index."""


@dataclass(frozen=True, slots=True)
class ApiCall(Fact):
    """A call of a library's function or class, by its full dotted name (`torch.load`)."""

    node: ir.Call
    name: str
    positional: tuple[Operand, ...] = ()
    keywords: tuple[tuple[str, Operand], ...] = ()
    unpacked: bool = False
    """Some arguments come from `*args` or `**kwargs`: what is missing isn't known."""
    discarded: bool = False
    needs_cuda: bool = False
    """It raises where CUDA is absent (the `cuda` field of its row)."""
    default_of: str = ""
    """The parameter whose default it is: it runs once, where the function is defined."""
    too_early: ir.Assign | None = None
    """It is such a default, and this says only later which devices CUDA may see."""

    def keyword(self, name: str) -> Operand | None:
        """The operand given for a keyword, or None."""
        return next((operand for key, operand in self.keywords if key == name), None)


@dataclass(frozen=True, slots=True)
class ApiRead(Fact):
    """A library's name is read but not called (`torch.cuda.FloatTensor` as an argument)."""

    name: str
