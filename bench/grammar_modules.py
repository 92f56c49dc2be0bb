"""The definitions of generated programs: functions of a tensor, and classes of modules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from grammar import WIDTH, Chance, Program, Rows
from grammar_bodies import Attribute, Body, write_body

HEAD = (
    "import argparse",
    "import copy",
    "from dataclasses import dataclass",
    "import numpy as np",
    "import torch",
    "import torch.nn.functional as F",
    "from torch import nn",
    "from torch.utils.data import DataLoader, Dataset, TensorDataset",
)


@dataclass
class File:
    """A file of a program: what it imports, its definitions, and what runs."""

    name: str
    imports: list[tuple[str, str]] = field(default_factory=list)
    definitions: list[tuple[str, str]] = field(default_factory=list)
    main: Rows = field(default_factory=Rows)

    def rows(self) -> list[tuple[str, str]]:
        """All of it, of the head only what is used."""
        body = [*self.definitions, *self.main.rows]
        text = "\n".join(row for row, _ in body)
        head = [(row, "import") for row in HEAD if _bound(row, text)]
        return [*head, *self.imports, ("", ""), *body]


def _bound(row: str, text: str) -> bool:
    names = row.partition(" as ")[2] or row.rpartition("import ")[2]
    return row == "import torch" or any(f"{name.strip()}" in text for name in names.split(","))


@dataclass
class Scope:
    """A program while it is written."""

    chance: Chance
    main: File
    others: list[File] = field(default_factory=list)
    functions: list[tuple[File, str, bool]] = field(default_factory=list)
    """Those that there are, and whether they take a device."""
    depth: int = 0

    def program(self) -> Program:
        """The files as they are run."""
        texts, productions = dict[str, str](), dict[tuple[str, int], str]()
        for file in (*(each for each in self.others if each.definitions), self.main):
            rows = file.rows()
            texts[file.name] = "".join(f"{row}\n" for row, _ in rows)
            productions |= {(file.name, n): each for n, (_, each) in enumerate(rows, 1)}
        return Program(texts, productions)

    def some_file(self) -> File:
        """A file to define something in: the main one, or one below it."""
        return self.chance.dice.choice([self.main, *self.others])

    def named(self, file: File, name: str, user: File) -> str:
        """What a file calls a thing of another one."""
        if file is user:
            return name
        module = file.name.removesuffix(".py")
        if f"from {module} import {name}" in [row for row, _ in user.imports]:
            return name
        if (f"import {module}", "import") in user.imports or self.chance.one_in(2):
            if (f"import {module}", "import") not in user.imports:
                user.imports.append((f"import {module}", "import"))
            return f"{module}.{name}"
        user.imports.append((f"from {module} import {name}", "import"))
        return name

    def caller(self, user: File) -> CallerOf:
        """What makes functions for a file."""
        return CallerOf(self, user)


@dataclass
class CallerOf:
    """Calls functions, and makes them, for the bodies of a file."""

    scope: Scope
    user: File

    def __call__(self, body: Body) -> str:
        scope, chance = self.scope, self.scope.chance
        known = [each for each in scope.functions if self._sees(each[0])]
        if known and chance.one_in(2):
            file, name, takes = chance.dice.choice(known)
        else:
            file = self._file()
            name, takes = make_function(scope, file)
            scope.functions.append((file, name, takes))
        called = scope.named(file, name, self.user)
        if not takes:
            return f"{called}({body.x})"
        right = [f"{body.x}.device", *body.devices]
        device = chance.pick(right if chance.is_right() else ["'cpu'", "None", "'cuda'"])
        return f"{called}({body.x}, {chance.pick(['', 'device='])}{device})"

    def _file(self) -> File:
        files = [each for each in (self.scope.main, *self.scope.others) if self._sees(each)]
        return self.scope.chance.dice.choice(files)

    def _sees(self, file: File) -> bool:
        """Files import those that come behind them, so that there is no circle."""
        files = [self.scope.main, *self.scope.others]
        at = next(n for n, each in enumerate(files) if each is file)
        return at >= next(n for n, each in enumerate(files) if each is self.user)


def make_function(scope: Scope, file: File) -> tuple[str, bool]:
    """A function of a tensor, and perhaps of a device."""
    chance = scope.chance
    name, x = chance.names.new("function"), chance.names.new("tensor")
    takes = chance.one_in(3)
    rows = Rows()
    scope.depth += 1
    given = f"{x}, device{chance.pick(['', '=None'])}" if takes else x
    with rows.under(f"def {name}({given}):", "function"):
        if takes and "=None" in given:
            with rows.under("if device is None:", "function"):
                rows.add(f"device = {x}.device", "function")
        devices = ["device"] if takes else []
        call = scope.caller(file) if scope.depth < 3 else None
        body = Body(chance, rows, x, devices, call=call)
        write_body(body, chance.dice.randint(1, 3))
        rows.add(f"return {body.x}", "function")
    scope.depth -= 1
    file.definitions += [*rows.rows, ("", "")]
    return name, takes


@dataclass(frozen=True)
class ModuleClass:
    """A class of modules, and how it is made."""

    file: File
    name: str
    takes_device: bool


_TENSORS = {
    "vector": [f"torch.ones({WIDTH}{{}})", f"torch.randn({WIDTH}{{}})",
               "torch.tensor([0.1, 0.2, 0.3, 0.4]{})"],
    "mask": [f"torch.ones({WIDTH}, dtype=torch.bool{{}})", f"torch.arange({WIDTH}{{}}) < 2"],
    "index": [f"torch.randperm({WIDTH}{{}})", f"torch.arange({WIDTH}{{}})"],
    "matrix": [f"torch.randn({WIDTH}, {WIDTH}{{}})", f"torch.eye({WIDTH}{{}})"],
    "moving": [f"torch.zeros({WIDTH}{{}})"],
}  # fmt: skip
_LAYERS = [
    f"nn.Linear({WIDTH}, {WIDTH})",
    f"nn.LayerNorm({WIDTH})",
    f"nn.Sequential(nn.Linear({WIDTH}, {WIDTH}), nn.ReLU())",
    f"nn.Sequential(nn.LayerNorm({WIDTH}), nn.Linear({WIDTH}, {WIDTH}), nn.Tanh())",
]


def make_class(scope: Scope, file: File, depth: int = 0) -> ModuleClass:
    """A class of modules that take a tensor and give one."""
    chance = scope.chance
    name = chance.names.new("class")
    takes = chance.one_in(4)
    made, built = list[tuple[str, str]](), list[tuple[str, str]]()
    attributes = [Attribute(chance.names.new("module"), "module")]
    made.append((f"self.{attributes[0].name} = {chance.pick(_LAYERS)}", "layer"))
    sorts = ["vector", "vector", "mask", "index", "matrix", "module", "module", "embedding",
             "modules", "dict", "moving", "lazy", "recurrent"]  # fmt: skip
    for _ in range(chance.dice.randint(0, 3)):
        attribute = Attribute(chance.names.new("attribute"), chance.pick(sorts))
        attributes.append(attribute)
        into = built if attribute.sort in _TENSORS and chance.one_in(5) else made
        into.append(_attribute(scope, file, attribute, takes, depth))
    rows = Rows()
    method, other = chance.names.new("function"), chance.names.new("function")
    has_method = chance.one_in(4)
    base = _base(scope, file) if not takes and chance.one_in(6) else ""
    with rows.under(f"class {name}({base or 'nn.Module'}):", "class"):
        given = "self, device" if takes else "self"
        with rows.under(f"def __init__({given}):", "class"):
            rows.add("super().__init__()", "class")
            if takes:
                rows.add("self.device = device", "class")
            for row, production in made:
                rows.add(row, production)
            if built:
                rows.add(f"self.{method}({'device' if takes else ''})", "class")
        rows.add("", "")
        if built:
            with rows.under(f"def {method}({given}):", "class"):
                for row, production in built:
                    rows.add(row, production)
            rows.add("", "")
        devices = ["self.device"] if takes else []
        devices.append(f"self.{attributes[0].name}.weight.device")
        if "Sequential" in made[0][0]:
            devices[-1] = "next(self.parameters()).device"
        if has_method:
            _method(scope, file, rows, other, attributes, devices)
        x = chance.names.new("tensor")
        with rows.under(f"def forward(self, {x}):", "class"):
            body = Body(chance, rows, x, devices, attributes, scope.caller(file))
            if base:
                body.flows_on(f"super().forward({x})", "super")
            write_body(body, chance.dice.randint(1, 4))
            if has_method:
                body.flows_on(f"self.{other}({body.x})", "method-called")
            rows.add(f"return self.{attributes[0].name}({body.x})", "layer-called")
    file.definitions += [*rows.rows, ("", "")]
    return ModuleClass(file, name, takes)


def _base(scope: Scope, file: File) -> str:
    """A class that another one extends."""
    made = make_class(scope, file, 2)
    while made.takes_device:
        made = make_class(scope, file, 2)
    return made.name


def _method(
    scope: Scope,
    file: File,
    rows: Rows,
    name: str,
    attributes: Sequence[Attribute],
    devices: Sequence[str],
) -> None:
    x = scope.chance.names.new("tensor")
    with rows.under(f"def {name}(self, {x}):", "method"):
        body = Body(scope.chance, rows, x, devices, attributes, scope.caller(file))
        write_body(body, scope.chance.dice.randint(1, 2))
        rows.add(f"return {body.x}", "method")
    rows.add("", "")


def _attribute(
    scope: Scope, file: File, attribute: Attribute, takes_device: bool, depth: int
) -> tuple[str, str]:
    """The row that makes an attribute, registered or not."""
    chance, name, sort = scope.chance, attribute.name, attribute.sort
    right = chance.is_right()
    if sort == "lazy":
        return f"self.{name} = None", "lazy-attribute"
    if sort == "recurrent":
        return f"self.{name} = nn.GRUCell({WIDTH}, {WIDTH})", "recurrent-attribute"
    if sort == "embedding":
        return f"self.{name} = nn.Embedding({WIDTH}, {WIDTH})", "embedding"
    if sort in ("module", "modules", "dict"):
        parts = [_layer(scope, file, depth, takes_device) for _ in range(2)]
        listed, keyed = f"[{', '.join(parts)}]", f"{{'a': {parts[0]}, 'b': {parts[1]}}}"
        forms = {
            "module": (parts[0], parts[0]),
            "modules": (f"nn.ModuleList({listed})", listed),
            "dict": (f"nn.ModuleDict({keyed})", keyed),
        }
        return f"self.{name} = {forms[sort][0 if right else 1]}", (
            f"{sort}-attribute" if right or sort == "module" else f"{sort}-unregistered"
        )
    makers = _TENSORS[sort]
    maker = chance.pick(makers)
    if right:
        given = chance.pick(["", ", device=device"]) if takes_device else ""
        ways = [f'self.register_buffer("{name}", {maker.format(given)})']
        if sort in ("vector", "matrix"):
            ways.append(f"self.{name} = nn.Parameter({maker.format(given)})")
        if takes_device:
            ways.append(f"self.{name} = {maker.format(', device=device')}")
        way = chance.pick(ways)
        return way, "buffer" if "buffer" in way else "parameter" if "Para" in way else "plain-given"
    place = chance.dice.choice(["", "", ', device="cuda"', ', device="cpu"'])
    return f"self.{name} = {maker.format(place)}", "plain-host" if "cuda" not in place else (
        "plain-cuda"
    )


def _layer(scope: Scope, file: File, depth: int, takes_device: bool) -> str:
    chance = scope.chance
    if depth < 2 and chance.one_in(3):
        made = make_class(scope, file, depth + 1)
        if not made.takes_device:
            return f"{made.name}()"
        right = takes_device and chance.is_right()
        return f"{made.name}({'device' if right else chance.pick(['None', repr('cuda')])})"
    return chance.pick(_LAYERS)
