"""The intermediate form: what the interpreter runs over.

`source.lower` makes it from the tree of Python's own parser. Sugar is removed: no parentheses,
blanks or commas; `a < b < c` is an `and` of two comparisons. Nodes are compared by identity. Each
keeps its `origin`, an opaque handle from which `source.document`, or `source.spots` where LibCST
hasn't read the file, computes the span when one is asked for.

Plain slotted classes rather than frozen ones: a frozen dataclass is three times as slow to
make, and a file has tens of thousands of nodes.
"""

from __future__ import annotations

from dataclasses import dataclass


class Node:
    """A statement, an expression or a part of one."""

    __slots__ = ()
    origin: object


class Expr(Node):
    """An expression."""

    __slots__ = ()


class Stmt(Node):
    """A statement."""

    __slots__ = ()


Body = tuple[Stmt, ...]

# --- expressions ---------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Constant(Expr):
    """`value` is a str, bytes, int, float, complex, bool, None or Ellipsis."""

    value: object
    origin: object = None


@dataclass(slots=True, eq=False)
class Name(Expr):
    id: str
    origin: object = None


@dataclass(slots=True, eq=False)
class Attribute(Expr):
    value: Expr
    attr: str
    origin: object = None


@dataclass(slots=True, eq=False)
class Subscript(Expr):
    """`value[index]`; `x[a, b]` has a tuple `Display` as index, `x[a:b]` a `Slice`."""

    value: Expr
    index: Expr
    origin: object = None


@dataclass(slots=True, eq=False)
class Slice(Expr):
    lower: Expr | None
    upper: Expr | None
    step: Expr | None
    origin: object = None


@dataclass(slots=True, eq=False)
class Argument(Node):
    """One argument of a call. `star` is "", "*" or "**"; `keyword` is None for positional ones.

    Its span is the whole argument, the keyword and the equals sign included.
    """

    value: Expr
    keyword: str | None = None
    star: str = ""
    origin: object = None


@dataclass(slots=True, eq=False)
class Call(Expr):
    func: Expr
    args: tuple[Argument, ...]
    origin: object = None


@dataclass(slots=True, eq=False)
class Binary(Expr):
    """`left op right` with `op` as written: "+", "@", "<<" ..."""

    op: str
    left: Expr
    right: Expr
    origin: object = None


@dataclass(slots=True, eq=False)
class Unary(Expr):
    """`op` is "-", "+", "~" or "not"."""

    op: str
    operand: Expr
    origin: object = None


@dataclass(slots=True, eq=False)
class Boolean(Expr):
    """`left and right` or `left or right`."""

    op: str
    left: Expr
    right: Expr
    origin: object = None


@dataclass(slots=True, eq=False)
class Compare(Expr):
    """`op` is "==", "!=", "<", "<=", ">", ">=", "in", "not in", "is" or "is not"."""

    op: str
    left: Expr
    right: Expr
    origin: object = None


@dataclass(slots=True, eq=False)
class Conditional(Expr):
    """`body if test else orelse`. `grouped`: the body is an `and` or an `or` in parentheses."""

    test: Expr
    body: Expr
    orelse: Expr
    origin: object = None
    grouped: bool = False


@dataclass(slots=True, eq=False)
class Display(Expr):
    """A list, tuple or set display; `kind` is "list", "tuple" or "set". Items may be `Starred`."""

    kind: str
    items: tuple[Expr, ...]
    origin: object = None


@dataclass(slots=True, eq=False)
class Mapping(Expr):
    """A dict display; the key is None for `**value`."""

    items: tuple[tuple[Expr | None, Expr], ...]
    origin: object = None


@dataclass(slots=True, eq=False)
class Clause(Node):
    """`for target in iter if tests` of a comprehension."""

    target: Expr
    iter: Expr
    tests: tuple[Expr, ...]
    origin: object = None


@dataclass(slots=True, eq=False)
class Comprehension(Expr):
    """`kind` is "list", "set", "generator" or "dict"; `key` is set for a dict only."""

    kind: str
    element: Expr
    clauses: tuple[Clause, ...]
    key: Expr | None = None
    origin: object = None


@dataclass(slots=True, eq=False)
class Parameter(Node):
    """`kind` is "positional" (also positional-or-keyword), "keyword", "*" or "**"."""

    name: str
    kind: str
    default: Expr | None = None
    annotation: Expr | None = None
    origin: object = None


@dataclass(slots=True, eq=False)
class Lambda(Expr):
    params: tuple[Parameter, ...]
    body: Expr
    origin: object = None


@dataclass(slots=True, eq=False)
class Walrus(Expr):
    target: Name
    value: Expr
    origin: object = None


@dataclass(slots=True, eq=False)
class Starred(Expr):
    value: Expr
    origin: object = None


@dataclass(slots=True, eq=False)
class Unpacked(Expr):
    """One of the values that an argument with a star gives: it stands where the argument does.
    None is in a tree."""

    argument: Argument

    @property
    def origin(self) -> object:  # type: ignore[override]
        return self.argument.origin


@dataclass(slots=True, eq=False)
class Await(Expr):
    value: Expr
    origin: object = None


@dataclass(slots=True, eq=False)
class Yield(Expr):
    """`yield value`, or `yield from value` with `delegate`."""

    value: Expr | None
    delegate: bool = False
    origin: object = None


@dataclass(slots=True, eq=False)
class Text(Expr):
    """An f-string or a template string: the expressions inside; `parts` also holds its literal
    pieces as `Constant`."""

    parts: tuple[Expr, ...]
    origin: object = None


# --- statements ----------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Evaluate(Stmt):
    """An expression as a statement."""

    value: Expr
    origin: object = None


@dataclass(slots=True, eq=False)
class Assign(Stmt):
    """`a = b = value`; `annotation` for `a: T = value`; `value` is None for a bare `a: T`."""

    targets: tuple[Expr, ...]
    value: Expr | None
    annotation: Expr | None = None
    origin: object = None


@dataclass(slots=True, eq=False)
class Augment(Stmt):
    """`target op= value`; `op` without the equals sign."""

    target: Expr
    op: str
    value: Expr
    origin: object = None


@dataclass(slots=True, eq=False)
class Delete(Stmt):
    targets: tuple[Expr, ...]
    origin: object = None


@dataclass(slots=True, eq=False)
class Return(Stmt):
    value: Expr | None
    origin: object = None


@dataclass(slots=True, eq=False)
class Raise(Stmt):
    value: Expr | None
    origin: object = None


@dataclass(slots=True, eq=False)
class Break(Stmt):
    origin: object = None


@dataclass(slots=True, eq=False)
class Continue(Stmt):
    origin: object = None


@dataclass(slots=True, eq=False)
class Assert(Stmt):
    test: Expr
    message: Expr | None = None
    origin: object = None


@dataclass(slots=True, eq=False)
class If(Stmt):
    test: Expr
    body: Body
    orelse: Body
    origin: object = None


@dataclass(slots=True, eq=False)
class While(Stmt):
    test: Expr
    body: Body
    orelse: Body
    origin: object = None


@dataclass(slots=True, eq=False)
class For(Stmt):
    target: Expr
    iter: Expr
    body: Body
    orelse: Body
    origin: object = None


@dataclass(slots=True, eq=False)
class With(Stmt):
    """`items` are (context expression, target or None)."""

    items: tuple[tuple[Expr, Expr | None], ...]
    body: Body
    origin: object = None


@dataclass(slots=True, eq=False)
class Handler(Node):
    type: Expr | None
    name: str | None
    body: Body
    origin: object = None


@dataclass(slots=True, eq=False)
class Try(Stmt):
    body: Body
    handlers: tuple[Handler, ...]
    orelse: Body
    final: Body
    origin: object = None


@dataclass(slots=True, eq=False)
class Case(Node):
    """One `case`: the literal values and class names its pattern tests, the names it binds."""

    values: tuple[Expr, ...]
    binds: tuple[str, ...]
    guard: Expr | None
    body: Body
    irrefutable: bool = False
    origin: object = None


@dataclass(slots=True, eq=False)
class Match(Stmt):
    subject: Expr
    cases: tuple[Case, ...]
    origin: object = None


@dataclass(slots=True, eq=False)
class Function(Stmt):
    """`def`; its span is the header up to and including the parameters, not the body."""

    name: str
    params: tuple[Parameter, ...]
    body: Body
    decorators: tuple[Expr, ...] = ()
    returns: Expr | None = None
    is_async: bool = False
    origin: object = None
    type_params: tuple[str, ...] = ()
    is_method: bool = False
    """Whether it stands in the body of a class."""


@dataclass(slots=True, eq=False)
class Class(Stmt):
    """`class`; its span is its name."""

    name: str
    bases: tuple[Argument, ...]
    body: Body
    decorators: tuple[Expr, ...] = ()
    origin: object = None
    type_params: tuple[str, ...] = ()


@dataclass(slots=True, eq=False)
class Alias(Node):
    """`name as asname` of an import; `name` is dotted, or "*"."""

    name: str
    asname: str | None = None
    origin: object = None


@dataclass(slots=True, eq=False)
class Import(Stmt):
    names: tuple[Alias, ...]
    origin: object = None


@dataclass(slots=True, eq=False)
class ImportFrom(Stmt):
    """`from ..module import names`; `level` counts the leading dots."""

    module: str
    names: tuple[Alias, ...]
    level: int = 0
    origin: object = None


@dataclass(slots=True, eq=False)
class Scope(Stmt):
    """`global names` or `nonlocal names`; `kind` says which."""

    kind: str
    names: tuple[str, ...]
    origin: object = None


@dataclass(slots=True, eq=False)
class Module(Node):
    """A file; a part of a page, or a notebook, is not the `whole` of a program: its reader has the
    rest."""

    body: Body
    origin: object = None
    whole: bool = True


# --- rendering -----------------------------------------------------------------------------

_SHORT = 48


def render(node: Node, limit: int = _SHORT) -> str:
    """Source-like text of an expression, for messages; cut with "..." at `limit` characters."""
    text = _render(node)
    return text if len(text) <= limit else text[: limit - 3].rstrip() + "..."


def is_cut(node: Node) -> bool:
    """Whether its text is too long to be shown whole."""
    return len(_render(node)) > _SHORT


def _render(node: Node) -> str:
    match node:
        case Name(id=name):
            return name
        case Constant(value=value):
            return _constant(value)
        case Attribute(value=value, attr=attr):
            return f"{_base(value)}.{attr}"
        case Subscript(value=value, index=Display(kind="tuple", items=items)) if items:
            return f"{_base(value)}[{', '.join(map(_render, items))}]"
        case Subscript(value=value, index=index):
            return f"{_base(value)}[{_render(index)}]"
        case Slice(lower=lower, upper=upper, step=step):
            ends = ":".join("" if end is None else _render(end) for end in (lower, upper))
            return ends if step is None else f"{ends}:{_render(step)}"
        case Call(func=func, args=args):
            return f"{_base(func)}({', '.join(map(_render, args))})"
        case Argument(value=value, keyword=keyword, star=star):
            return f"{star}{_render(value)}" if keyword is None else f"{keyword}={_render(value)}"
        case Binary(op=op, left=left, right=right) | Boolean(op=op, left=left, right=right):
            # `a + b + c` is grouped like that anyway, `a ** b ** c` is not.
            chained = isinstance(left, type(node)) and left.op == op and op != "**"
            return f"{_render(left) if chained else _inner(left)} {op} {_inner(right)}"
        case Compare(op=op, left=left, right=right):
            return f"{_inner(left)} {op} {_inner(right)}"
        case Unary(op=op, operand=operand):
            return f"{op} {_inner(operand)}" if op == "not" else f"{op}{_inner(operand)}"
        case Conditional(test=test, body=body, orelse=orelse):
            return f"{_render(body)} if {_render(test)} else {_render(orelse)}"
        case Display(kind=kind, items=items):
            inside = ", ".join(map(_render, items))
            if kind == "tuple":
                return f"({inside},)" if len(items) == 1 else f"({inside})"
            return f"[{inside}]" if kind == "list" else f"{{{inside}}}"
        case Mapping(items=items):
            pairs = (
                f"**{_render(v)}" if k is None else f"{_render(k)}: {_render(v)}" for k, v in items
            )
            return f"{{{', '.join(pairs)}}}"
        case Comprehension():
            return _render_comprehension(node)
        case Starred(value=value):
            return f"*{_render(value)}"
        case Unpacked(argument=argument):
            return _render(argument)
        case Await(value=value):
            return f"await {_render(value)}"
        case Walrus(target=target, value=value):
            return f"({target.id} := {_render(value)})"
        case Lambda(params=params, body=body):
            return f"lambda {', '.join(p.name for p in params)}: {_render(body)}"
        case Text():
            return 'f"..."'
        case _:
            return "..."


def _constant(value: object) -> str:
    """As most code writes it: strings in double quotes."""
    if value is Ellipsis:
        return "..."
    plain = isinstance(value, str) and value.isprintable() and not set(value) & {'"', "\\"}
    return f'"{value}"' if plain else repr(value)


def _render_comprehension(node: Comprehension) -> str:
    head = _render(node.element)
    if node.key is not None:
        head = f"{_render(node.key)}: {head}"
    for clause in node.clauses:
        head += f" for {_render(clause.target)} in {_render(clause.iter)}"
        head += "".join(f" if {_render(test)}" for test in clause.tests)
    brackets = {"list": "[]", "generator": "()"}.get(node.kind, "{}")
    return f"{brackets[0]}{head}{brackets[1]}"


def _base(node: Expr) -> str:
    """What has an attribute, is indexed or called: `(-x).abs`, `(a + b)[0]`."""
    return f"({_render(node)})" if isinstance(node, (Unary, Await)) else _inner(node)


def _inner(node: Expr) -> str:
    """An operand, in parentheses where it is itself an operation."""
    text = _render(node)
    return (
        f"({text})" if isinstance(node, (Binary, Boolean, Compare, Conditional, Lambda)) else text
    )
