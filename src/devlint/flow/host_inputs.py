"""Inputs of which a module takes numbers only: indices, bounds of slices, `.item()`.

Such a tensor may be on the CPU wherever the module is, so that nothing is said of where it is.
"""

from __future__ import annotations

from devlint import ir
from devlint.flow.frame import ClassInfo
from devlint.flow.scan import descendants

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


class _Look:
    """One look over a method: which names stand for the parameter or a part of it, and whether
    any of them goes where a tensor meets others."""

    def __init__(self, info: ClassInfo, function: ir.Function, name: str, depth: int) -> None:
        self.info, self.function, self.depth = info, function, depth
        self.names = {name}
        self.escapes = False

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
        if self._names(node):
            self.escapes = True
        return False

    def _index(self, node: ir.Expr) -> None:
        """What stands in an index is read by the host, or may be on the CPU."""
        for part in node.items if isinstance(node, ir.Display) else (node,):
            if not isinstance(part, (ir.Slice, *_NUMBERS)):
                self._is_of_it(part)

    def _call(self, node: ir.Call) -> bool:
        func = node.func
        name = func.id if isinstance(func, ir.Name) else getattr(func, "attr", "")
        of_it = isinstance(func, ir.Attribute) and self._is_of_it(func.value)
        given = [argument for argument in node.args if self._is_of_it(argument.value)]
        if name in _GIVE_NUMBERS:
            return False
        if isinstance(func, ir.Name) and name in _GIVE_PARTS:
            return bool(given)
        if given and not all(self._takes_numbers(node, argument) for argument in given):
            self.escapes = True
        return of_it and not given

    def _takes_numbers(self, node: ir.Call, argument: ir.Argument) -> bool:
        """Whether a method of the same object takes numbers only of an argument."""
        func, this = node.func, self.function.params[0].name
        if not isinstance(func, ir.Attribute) or ir.render(func.value) != this:
            return False
        method = self.info.method(func.attr)
        if method is None or argument.star or self.depth == _DEEPEST:
            return False
        names = [parameter.name for parameter in method[1].params[1:]]
        position = node.args.index(argument)
        at = names[position] if position < len(names) else ""
        name = argument.keyword or at
        return name in names and gives_numbers_only(method[0], method[1], name, self.depth + 1)
