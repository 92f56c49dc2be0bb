"""What one look over a function finds."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, fields

from devlint.model import ir

ANY = ""
"""Stands for all keys of what is changed where nobody knows which."""


@dataclass(slots=True)
class Scan:
    """What a function does, without order. `self_*` are attributes of its first parameter."""

    assigned: Counter[str] = field(default_factory=Counter)
    tensors: set[str] = field(default_factory=set)
    used: set[str] = field(default_factory=set)
    """Names with an attribute that tensors alone have, or given to a function of tensors."""
    modules: set[str] = field(default_factory=set)
    """Names with an attribute that modules have and tensors have not."""
    passed: set[str] = field(default_factory=set)
    """Names given to a function of tensors."""
    sliced: set[str] = field(default_factory=set)
    """Names indexed in several dimensions (`x[:, 0]`): tensors or arrays, and no lists."""
    parts: dict[str, list[str]] = field(default_factory=dict)
    """Of the names that are bound to items of others (`row = x[mask]`): of which, each time."""
    data: set[str] = field(default_factory=set)
    """Names of which tensors are made (`torch.tensor(rows)`), or taken (`x, sizes = x`): they are
    none yet."""
    columns: set[str] = field(default_factory=set)
    """Names of which columns are moved where they are wanted (`rows[:, 0].cuda()`): the whole is on
    the host, most likely."""
    moved: set[str] = field(default_factory=set)
    called: set[str] = field(default_factory=set)
    given: set[str] = field(default_factory=set)
    """Names given to calls: functions may be among them, to be called from there."""
    self_stores: set[str] = field(default_factory=set)
    self_items: set[str] = field(default_factory=set)
    """Attributes into which an item is put (`self.table[key] = row`)."""
    self_fills: set[str] = field(default_factory=set)
    """Lists to which something is added (`self.rows.append(row)`)."""
    changes: set[tuple[str, str]] = field(default_factory=set)
    """The names of what it changes, with the attribute or the key that it stores into:
    `config.device = d`, `options["device"] = d`; `ANY` of `stack.pop()`."""
    self_moves: set[str] = field(default_factory=set)
    self_calls: set[str] = field(default_factory=set)
    applied: set[str] = field(default_factory=set)
    """Methods given to `apply`, which calls them at once (`self.apply(self.reset)`)."""
    methods: set[str] = field(default_factory=set)
    """Methods that are called, of whatever."""
    of_samples: set[str] = field(default_factory=set)
    """What makes batches and changes samples: `samples.py`."""
    self_inputs: set[tuple[str, str]] = field(default_factory=set)
    """(attribute, name): `self.attribute(name)`."""
    wrapped: set[str] = field(default_factory=set)
    """Attributes of self given to a call, starred or not (`nn.Sequential(*self.layers)`)."""
    size: int = 0
    """Statements."""
    followed: set[str] = field(default_factory=set)
    """Names to whose device something is moved (`weight.to(x.device)`)."""
    answers: bool = False
    """It returns something, or changes an object that it is given or sees."""
    returned: list[ir.Expr | None] = field(default_factory=list)
    made: set[str] = field(default_factory=set)
    """Names that are bound to what a call makes, or gives."""
    makes: bool = False
    """It stores something that it makes, or that a function gave it, on its first parameter."""
    reads_back: bool = False
    """It brings something to the host (`.cpu()`, `.numpy()`)."""
    draws: bool = False
    """It draws numbers with Python's `random`."""
    hands_out: bool = False
    """It gives its first parameter or a part of it to an exporter or a tracer
    (`torch.onnx.export(self, example, path)`)."""
    traced: set[str] = field(default_factory=set)
    """Names for what `torch.jit.trace` made."""
    registers: bool = False
    """It registers parameters or buffers on its first parameter: that is an nn.Module."""
    dynamic: bool = False
    """It writes attributes by names that aren't spelled out (`self.__dict__.update(...)`)."""
    yields: bool = False

    @property
    def exports(self) -> bool:
        """Whether it exports its first parameter, and traces nothing to run it faster here."""
        return self.hands_out and not self.traced & self.called

    def end(self) -> None:
        """Let all that has found nothing share one empty set: thousands of looks are kept."""
        for name in _SETS:
            if not getattr(self, name):
                setattr(self, name, _NONE)


_SETS = tuple(each.name for each in fields(Scan) if each.default_factory is set)
_NONE: frozenset[str] = frozenset()
