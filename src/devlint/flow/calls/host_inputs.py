"""Inputs of which a module takes numbers only: indices, bounds of slices, `.item()`.

Such a tensor may be on the CPU wherever the module is, so that nothing is said of where it is.
"""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.calls.taking import holder_of
from devlint.flow.devices.named import last_name
from devlint.flow.domain.derivation import first
from devlint.flow.domain.values import MADE, Value
from devlint.flow.frames.files import ClassInfo
from devlint.flow.syntax.walk import descendants, self_attribute
from devlint.model import ir
from devlint.torchapi.spellings import is_integer

_GIVE_NUMBERS = frozenset(
    ("item", "tolist", "numpy", "size", "dim", "numel", "int", "float", "bool", "len", "range",
     "str", "print")
)  # fmt: skip
"""Methods and functions that give no tensor, and let the host read what they are given."""
_ABOUT_IT = ("shape", "device", "dtype", "ndim")
_GIVE_PARTS = frozenset(("reversed", "list", "tuple", "sorted"))
_NUMBERS = (ir.Constant, ir.Name, ir.Attribute, ir.Binary, ir.Unary, ir.Subscript)
_DEEPEST = 3


def gives_numbers_only(info: ClassInfo, function: ir.Function, name: str, depth: int = 0) -> bool:
    """Whether a parameter of a method, and all that is made of it, is an index or read by the
    host, and nothing else."""
    answers = info.file.scan(function).indexes
    if name not in answers:
        answers[name] = False  # what calls itself proves nothing
        answers[name] = _Look(info, function, name, depth).stays()
    return answers[name]


def is_of_integers(value: Value) -> bool:
    """Whether a tensor was made of integers or truth values: counts and flags that the host reads,
    as likely as indices."""
    made = first(value.trace) if value.origin in MADE else None
    if not isinstance(made, ir.Call):
        return False
    dtype = next((each.value for each in made.args if each.keyword == "dtype"), None)
    if dtype is not None:
        return is_integer(ir.render(dtype))
    name = last_name(made.func)
    if name in ("tensor", "as_tensor"):
        return bool(made.args) and _lists_integers(made.args[0].value)
    return name in _MAKE_INTEGERS


def _is_moved(node: ir.Call) -> bool:
    """Whether a tensor is moved to where another one is: `lengths.to(x.device)`."""
    given = (argument.value for argument in node.args)
    return any(isinstance(each, ir.Attribute) and each.attr == "device" for each in given)


def _are_lengths(name: str, node: ir.Call, given: list[ir.Argument]) -> bool:
    """Whether all that a call is given are the lengths that have to be on the CPU."""
    lengths = node.args[1:2] if name == "pack_padded_sequence" else ()
    return all(each in lengths or each.keyword == "lengths" for each in given) and bool(lengths)


def _lists_integers(node: ir.Expr) -> bool:
    """`[16] * n`, `[[1, 2]]`, `[False]` and `[len(x)]`."""
    match node:
        case ir.Constant(value=value):
            return type(value) in (int, bool)
        case ir.Call(func=ir.Name(id="len")):
            return True
        case ir.Display(items=items):
            return bool(items) and all(_lists_integers(item) for item in items)
        case ir.Binary(op="*", left=left, right=right):
            return any(isinstance(e, ir.Display) and _lists_integers(e) for e in (left, right))
    return False


_MAKE_INTEGERS = frozenset(("arange", "randint", "randperm", "LongTensor", "IntTensor"))


def is_a_bound(info: ClassInfo, function: ir.Function, name: str) -> bool:
    """Whether a method cuts others where a parameter says (`x[:, : lengths[i]]`), and does no more
    with it but hand it on: the modules that get it do so too."""
    scan = info.file.scan(function)
    if not scan.cuts:
        return False
    answers = scan.bounds
    if name not in answers:
        look = _Look(info, function, name, _DEEPEST, hands_on=True)
        answers[name] = look.stays() and look.bounds
    return answers[name]


def _imported(body: ir.Body) -> Iterator[str]:
    """The names of functions and modules that a file imports, but for torch's."""
    for statement in body:
        match statement:
            case ir.ImportFrom(module=module, names=names, level=level):
                if level or module.partition(".")[0] != "torch":
                    yield from (alias.asname or alias.name for alias in names)
            case ir.Import(names=names):
                for alias in names:
                    root = alias.name.partition(".")[0]
                    if root != "torch":
                        yield alias.asname or root


class _Look:
    """One look over a method: which names stand for the parameter or a part of it, and whether
    any of them goes where a tensor meets others. `bounds`: one of them is the bound of a slice."""

    def __init__(
        self, info: ClassInfo, function: ir.Function, name: str, depth: int, hands_on: bool = False
    ) -> None:
        self.info, self.function, self.depth, self.hands_on = info, function, depth, hands_on
        self.names = {name}
        self.escapes = self.bounds = False

    def stays(self) -> bool:
        """Whether it never meets anything."""
        nodes = [node for statement in self.function.body for node in descendants(statement)]
        statements = [node for node in nodes if isinstance(node, ir.Stmt)]
        before = 0
        while before < len(self.names) and not self.escapes:
            before = len(self.names)
            for statement in statements:
                self._statement(statement)
        return not self.escapes

    def _statement(self, node: ir.Stmt) -> None:
        match node:
            case ir.Assign(targets=targets, value=value) if value is not None:
                if self._is_of_it(value):
                    for target in targets:
                        self._bind(target)
            case ir.Augment(target=target, value=value):
                if self._is_of_it(value):
                    self._bind(target)
            case ir.For(target=target, iter=iter):
                self._iterate(target, iter)
            case ir.Return(value=value) if value is not None:
                self._leave(value)
            case ir.Evaluate(value=value) | ir.If(test=value) | ir.While(test=value):
                self._is_of_it(value)
            case ir.With(items=items):
                for entered, _ in items:
                    self._leave(entered)
            case ir.Match(subject=subject):
                self._leave(subject)

    def _leave(self, node: ir.Expr) -> None:
        if self._is_of_it(node):
            self.escapes = True

    def _iterate(self, target: ir.Expr, source: ir.Expr) -> None:
        """`for x in source`; of `enumerate` and `zip`, each target gets its own part."""
        targets = target.items if isinstance(target, ir.Display) else (target,)
        match source:
            case ir.Call(func=ir.Name(id="enumerate"), args=(first, *_)) if len(targets) == 2:
                self._iterate(targets[1], first.value)
            case ir.Call(func=ir.Name(id="zip"), args=args) if len(args) == len(targets):
                for part, argument in zip(targets, args, strict=True):
                    self._iterate(part, argument.value)
            case _ if self._is_of_it(source):
                self._bind(target)

    def _bind(self, target: ir.Expr) -> None:
        parts = target.items if isinstance(target, ir.Display) else (target,)
        for part in parts:
            if isinstance(part, ir.Name):
                self.names.add(part.id)
            else:
                self.escapes = True

    def _names(self, node: ir.Node) -> bool:
        return any(isinstance(n, ir.Name) and n.id in self.names for n in descendants(node))

    def _is_of_it(self, node: ir.Expr) -> bool:
        """Whether an expression is the parameter, or a tensor made of it."""
        match node:
            case ir.Name(id=name):
                return name in self.names
            case ir.Subscript(value=value, index=index):
                self._index(index)
                return self._is_of_it(value)
            case ir.Attribute(value=value, attr=attr):
                return self._is_of_it(value) and attr not in _ABOUT_IT
            case ir.Unary(operand=value):
                return self._is_of_it(value)
            case ir.Display(items=items):
                parts = [self._is_of_it(item) for item in items]
                return any(parts)
            case ir.Binary(op=op) | ir.Boolean(op=op) | ir.Compare(op=op):
                sides = self._is_of_it(node.left), self._is_of_it(node.right)
                return any(sides) and op not in ("is", "is not")
            case ir.Call():
                return self._call(node)
            case ir.Comprehension(element=element, clauses=clauses, key=None):
                for clause in clauses:
                    self._iterate(clause.target, clause.iter)
                    for test in clause.tests:
                        self._is_of_it(test)
                return self._is_of_it(element)
        if self._names(node):
            self.escapes = True
        return False

    def _index(self, node: ir.Expr) -> None:
        """What stands in an index is read by the host, or may be on the CPU."""
        for part in node.items if isinstance(node, ir.Display) else (node,):
            self.bounds |= isinstance(part, ir.Slice) and self._names(part)
            if not isinstance(part, (ir.Slice, *_NUMBERS)):
                self._is_of_it(part)

    def _call(self, node: ir.Call) -> bool:
        func = node.func
        name = func.id if isinstance(func, ir.Name) else getattr(func, "attr", "")
        of_it = isinstance(func, ir.Attribute) and self._is_of_it(func.value)
        given = [argument for argument in node.args if self._is_of_it(argument.value)]
        if name in _GIVE_NUMBERS or (given and _are_lengths(name, node, given)):
            return False
        if of_it and _is_moved(node):
            return False
        if isinstance(func, ir.Name) and name in _GIVE_PARTS:
            return bool(given)
        if self.hands_on:
            return of_it and not given
        if given and self._is_of_others(func):
            return node.args[0] in given
        if given and not all(self._takes_numbers(node, argument) for argument in given):
            self.escapes = True
        return of_it and not given

    def _is_of_others(self, func: ir.Expr) -> bool:
        """Whether a function comes from another file and isn't torch's: nobody here can tell where
        it needs its arguments. What it makes of its first one is like that."""
        while isinstance(func, ir.Attribute):
            func = func.value
        return isinstance(func, ir.Name) and func.id in _imported(self.info.file.body)

    def _takes_numbers(self, node: ir.Call, argument: ir.Argument) -> bool:
        """Whether what is called takes numbers only of an argument: a method of the same object, a
        part of it, or a function of the file."""
        called = self._called(node.func)
        if called is None or argument.star or self.depth == _DEEPEST:
            return False
        info, function, names = called
        position = node.args.index(argument)
        name = argument.keyword or (names[position] if position < len(names) else "")
        return name in names and gives_numbers_only(info, function, name, self.depth + 1)

    def _called(self, func: ir.Expr) -> tuple[ClassInfo, ir.Function, list[str]] | None:
        """What an expression calls, with the names of the parameters that its arguments go to."""
        this = self.function.params[0].name
        attr = self_attribute(holder_of(self.function, func), this)
        method = self.info.method(attr) or self._part(attr)
        if method is None and isinstance(func, ir.Attribute):
            method = self._part(self_attribute(func.value, this), func.attr)
        if method is not None:
            return *method, [parameter.name for parameter in method[1].params[1:]]
        named = func.id if isinstance(func, ir.Name) else ""
        for each in self.info.file.body:
            if isinstance(each, ir.Function) and each.name == named and each.params:
                return self.info, each, [parameter.name for parameter in each.params]
        return None

    def _part(self, attr: str, name: str = "forward") -> tuple[ClassInfo, ir.Function] | None:
        """A method of the part that the constructor keeps by that name, or of each part of a
        list, where all that it makes for it is of one class of the file."""
        found = self.info.method("__init__") if attr else None
        if found is None:
            return None
        owner, init = found
        made = {_class_name(node) for node in _kept(init, attr)}
        if len(made) != 1:
            return None
        classes = owner.file.classes.values()
        named = [each for each in classes if each.node.name in made]
        return named[0].method(name) if len(named) == 1 else None


def _kept(init: ir.Function, attr: str) -> Iterator[ir.Expr]:
    """What a constructor keeps under a name: the parts themselves, of `nn.ModuleList` too."""
    this = init.params[0].name
    for statement in init.body:
        for node in descendants(statement):
            match node:
                case ir.Assign(targets=targets, value=value) if value is not None:
                    if any(self_attribute(target, this) == attr for target in targets):
                        yield from _parts(value)
                case ir.Call(func=ir.Attribute(value=kept, attr="append"), args=(one,)):
                    if self_attribute(kept, this) == attr:
                        yield one.value


def _parts(node: ir.Expr) -> Iterator[ir.Expr]:
    match node:
        case ir.Call(func=func, args=args) if last_name(func) == "ModuleList":
            for argument in args:
                yield from _parts(argument.value)
        case ir.Display(items=items):
            yield from items
        case ir.Comprehension(element=element):
            yield element
        case _:
            yield node


def _class_name(node: ir.Expr) -> str:
    """`Layer` of `Layer(8)`."""
    match node:
        case ir.Call(func=ir.Name(id=name)):
            return name
    return ""
