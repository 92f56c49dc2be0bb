"""Every syntax of Python, lowered."""

import ast
import sys

import pytest

from devlint.model import ir
from devlint.source import lower_expressions, lower_statements
from devlint.source.errors import SourceError
from devlint.source.lower import lower


def shown(node: object) -> str:
    """A node in short: names and constants as in the source, empty fields left out."""
    if isinstance(node, tuple):
        return f"[{', '.join(map(shown, node))}]"
    if isinstance(node, ir.Evaluate):
        return shown(node.value)
    if isinstance(node, ir.Name):
        return node.id
    if isinstance(node, ir.Constant):
        return repr(node.value)
    if not isinstance(node, ir.Node):
        return "-" if node is None else str(node)
    fields = [getattr(node, field) for field in node.__slots__ if field != "origin"]
    full = [shown(field) for field in fields if field not in ((), False, "")]
    return f"{type(node).__name__}({', '.join(full)})"


def lowered(code: str) -> str:
    return "; ".join(map(shown, lower(code, "x.py").body))


def newer(version: tuple[int, int], *values: object) -> object:
    """What only a Python from that version on can parse."""
    old = sys.version_info < version
    return pytest.param(*values, marks=pytest.mark.skipif(old, reason=f"needs {version}"))


def value_of(code: str) -> ir.Expr:
    (statement,) = lower(code, "x.py").body
    assert isinstance(statement, ir.Evaluate)
    return statement.value


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("1", 1), ("0x_ff", 255), ("0b1_0", 2), ("0o17", 15), ("00", 0), ("1_000", 1000),
        ("1e3", 1000.0), (".5", 0.5), ("1_0.5_0", 10.5), ("2j", 2j), ("1e1J", 10j),
        ("True", True), ("False", False), ("None", None), ("...", ...),
        ("'a'", "a"), ('"""a\nb"""', "a\nb"), ("r'\\n'", "\\n"), ("'\\n'", "\n"), ("u'a'", "a"),
        ("''", ""), ('""""""', ""), ("b'a'", b"a"), ("Rb'\\x'", b"\\x"), ("'\\''", "'"),
        ("'a' 'b' r'\\c'", "ab\\c"), ("b'a' b'b'", b"ab"), ("('a'\n 'b'\n 'c')", "abc"),
        ("'\\d'", "\\d"), ('"\'"', "'"), ("'''a''b'''", "a''b"),
    ],
)  # fmt: skip
def test_constants(code: str, value: object) -> None:
    constant = value_of(code)
    assert isinstance(constant, ir.Constant)
    assert constant.value == value
    assert type(constant.value) is type(value)


def test_a_string_in_a_file_with_other_line_breaks_has_plain_ones() -> None:
    constant = value_of("'''a\r\nb'''")
    assert isinstance(constant, ir.Constant)
    assert constant.value == "a\nb"


@pytest.mark.parametrize(
    "code",
    [
        "a", "a.b.c", "a[0]", "a[0, 1]", "a[b:c]", "a[:, None]", "a[::2]", "a[1:]",
        "f()", "f(a, *b, c=1, **d)", "a + b", "a @ b", "a // b", "a ** b", "a << b",
        "-a", "+a", "~a", "not a", "a and b", "a or b", "a < b", "a not in b", "a is not b",
        "a != b", "b if a else c", "[a, b]", "[]", "(a, b)", "(a,)", "()", "{a, b}", "{}",
        "{a: b, **c}", "[a for b in c if d if e]", "{a for b in c}", "{a: b for c in d}",
        "(a for b in c for d in e)", "lambda a, b: c", "(a := b)", "await a", "[*a, *b]",
        "(a + b) * c", "f(a)(b)[c].d", "(a + b).c", "(-a).b()", "(a < b)[c]", "(b if a else c)(d)",
        "(await a).b", "-a.b",
    ],
)  # fmt: skip
def test_an_expression_renders_as_it_is_written(code: str) -> None:
    (function,) = lower(f"async def f():\n    {code}\n", "x.py").body
    assert isinstance(function, ir.Function)
    (statement,) = function.body
    assert isinstance(statement, ir.Evaluate)
    assert ir.render(statement.value) == code


def test_operators_of_one_rank_group_to_the_left() -> None:
    assert lowered("a - b - c") == "Binary(-, Binary(-, a, b), c)"
    assert ir.render(value_of("a - (b - c)")) == "a - (b - c)"
    assert ir.render(value_of("a and b and c or d")) == "(a and b and c) or d"
    assert ir.render(value_of("a + b + c - d")) == "(a + b + c) - d"
    assert ir.render(value_of("(a ** b) ** c ** d")) == "(a ** b) ** (c ** d)"


def test_a_chained_comparison_shares_its_middle() -> None:
    whole = value_of("a < b <= c")
    assert isinstance(whole, ir.Boolean)
    first, second = whole.left, whole.right
    assert isinstance(first, ir.Compare)
    assert isinstance(second, ir.Compare)
    assert (whole.op, first.op, second.op) == ("and", "<", "<=")
    assert first.right is second.left


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        newer((3, 11), "a[*b]", "Subscript(a, Display(tuple, [Starred(b)]))"),
        ("a[b,]", "Subscript(a, Display(tuple, [b]))"),
        ("f'a{b!r:>{c}}' 'd'", "Text(['a', b, '>', c, 'd'])"),
        newer((3, 14), "t'{a}b'", "Text([a, 'b'])"),
        (
            "f(a for a in b)",
            "Call(f, [Argument(Comprehension(generator, a, [Clause(a, b)], -), -)])",
        ),
    ],
)
def test_expressions_in_full(code: str, expected: str) -> None:
    assert lowered(code) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("pass", ""),
        ("a = b = c", "Assign([a, b], c, -)"),
        ("a: T = b", "Assign([a], b, T)"),
        ("a: T", "Assign([a], -, T)"),
        ("a @= b", "Augment(a, @, b)"),
        ("a >>= b; a **= c", "Augment(a, >>, b); Augment(a, **, c)"),
        newer((3, 12), "type A[T] = b", "Assign([A], b, -)"),
        ("del a, b", "Delete([a, b])"),
        ("del (a)", "Delete([a])"),
        ("raise a from b", "Raise(a)"),
        ("assert a, b", "Assert(a, b)"),
        ("global a, b", "Scope(global, [a, b])"),
        ("nonlocal a", "Scope(nonlocal, [a])"),
        ("import a.b as c, d", "Import([Alias(a.b, c), Alias(d, -)])"),
        ("from ..a.b import (c as d, e,)", "ImportFrom(a.b, [Alias(c, d), Alias(e, -)], 2)"),
        ("from . import *", "ImportFrom([Alias(*, -)], 1)"),
        ("if a: b\nelif c: d\nelse: e", "If(a, [b], [If(c, [d], [e])])"),
        ("if True:\n    if a: b\n    if 1: pass\n    c", "If(a, [b]); c"),
        ("if True: a\nelse: b", "If(True, [a], [b])"),
        ("if 0: a", "If(0, [a])"),
        ("while a:\n  break\nelse:\n  b", "While(a, [Break()], [b])"),
        ("for a in b:\n  continue\nelse:\n  c", "For(a, b, [Continue()], [c])"),
        ("with (a as b, c): d", "With([[a, b], [c, -]], [d])"),
        (
            "try:\n a\nexcept B as c:\n d\nelse:\n e\nfinally:\n f",
            "Try([a], [Handler(B, c, [d])], [e], [f])",
        ),
        newer((3, 11), "try:\n a\nexcept* B:\n d", "Try([a], [Handler(B, -, [d])])"),
        (
            "@a\nclass B(C, *d, m=E, **f): g",
            "Class(B, [Argument(C, -), Argument(d, -, *), Argument(E, m), Argument(f, -, "
            "**)], [g], [a])",
        ),
        (
            "@a\nasync def f(b, /, c: D = e, *g, h, **i) -> J: return",
            "Function(f, [Parameter(b, positional, -, -), Parameter(c, positional, e, D), "
            "Parameter(g, *, -, -), Parameter(h, keyword, -, -), Parameter(i, **, -, -)], "
            "[Return(-)], [a], J, True)",
        ),
        (
            "def f(*, a=1): yield from a",
            "Function(f, [Parameter(a, keyword, 1, -)], [Yield(a, True)], -)",
        ),
        (
            "async def f():\n async for a in b: yield\n async with c: return d",
            "Function(f, [For(a, b, [Yield(-)]), With([[c, -]], [Return(d)])], -, True)",
        ),
    ],
)
def test_statements(code: str, expected: str) -> None:
    assert lowered(code) == expected


@pytest.mark.parametrize(
    ("pattern", "values", "binds", "irrefutable"),
    [
        ("'a' | 'b'", "'a' 'b'", "", False),
        ("None", "None", "", False),
        ("-1", "Unary(-, 1)", "", False),
        ("a.B", "Attribute(a, B)", "", False),
        ("_", "", "", True),
        ("x", "", "x", True),
        ("str() as x", "str", "x", False),
        ("1 | _", "1", "", True),
        ("Point(x, y=0, z=w)", "Point", "x w", False),
        ("[1, a, *rest]", "", "a rest", False),
        ("(a, (b, _))", "", "a b", False),
        ("{'k': v, **others}", "", "v others", False),
        ("x if x > 1", "", "x", False),
    ],
)
def test_patterns(pattern: str, values: str, binds: str, irrefutable: bool) -> None:
    code = f"match subject:\n    case {pattern}:\n        a\n"
    (statement,) = lower(code, "x.py").body
    assert isinstance(statement, ir.Match)
    (case,) = statement.cases
    assert " ".join(map(shown, case.values)) == values
    assert " ".join(case.binds) == binds
    assert case.irrefutable is irrefutable
    assert (case.guard is not None) == (" if " in pattern)
    assert len(case.body) == 1


def test_every_kind_of_node_that_this_python_has_is_lowered() -> None:
    handled = {*lower_expressions._EXPRESSIONS, *lower_statements._STATEMENTS, ast.Pass}
    parts = {"FormattedValue", "Interpolation"}  # within the text that they are part of
    old = {"Num", "Str", "Bytes", "NameConstant", "Ellipsis", "AugLoad", "AugStore", "Param",
           "Suite"}  # fmt: skip
    kinds = {kind for kind in vars(ast).values() if isinstance(kind, type)}
    wanted = {kind for kind in kinds if issubclass(kind, (ast.expr, ast.stmt))}
    missing = {kind.__name__ for kind in wanted - handled - {ast.expr, ast.stmt}}
    assert missing <= parts | old
    for base in (ast.operator, ast.unaryop, ast.boolop, ast.cmpop):
        assert set(base.__subclasses__()) <= set(lower_expressions.OPERATORS)


def test_a_kind_of_node_that_is_not_known_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    known = dict(lower_statements._STATEMENTS)
    del known[ast.Global]
    monkeypatch.setattr(lower_statements, "_STATEMENTS", known)
    with pytest.raises(SourceError, match=r"syntax that this devlint doesn't know \(Global\)"):
        lower("global a", "x.py")
    assert lower("nonlocal a", "x.py").body


def test_the_linted_file_warns_nobody(recwarn: pytest.WarningsRecorder) -> None:
    assert lower("x = '\\d' is 1\nassert (a, 'b')\n", "x.py").body
    assert not recwarn.list
