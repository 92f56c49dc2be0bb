"""Every syntax of Python, lowered."""

import libcst as cst
import pytest

from devlint import ir
from devlint.source import lower_expressions, lower_statements
from devlint.source.document import read_document
from devlint.source.lower_expressions import string_value


def shape(node: object) -> object:
    """A node as nested tuples of names and values, without origins and empty fields."""
    if isinstance(node, tuple):
        return tuple(shape(item) for item in node)
    if not isinstance(node, ir.Node):
        return node
    fields = [field for field in node.__slots__ if field != "origin"]
    values = [(field, shape(getattr(node, field))) for field in fields]
    full = [(field, value) for field, value in values if value not in ((), None, False, "")]
    return (type(node).__name__, *(f"{field}={_text(value)}" for field, value in full))


def _text(value: object) -> str:
    if isinstance(value, tuple) and value and isinstance(value[0], str) and value[0][:1].isupper():
        return f"{value[0]}({', '.join(map(str, value[1:]))})"
    if isinstance(value, tuple):
        return "[" + ", ".join(_text(item) for item in value) + "]"
    return str(value) if isinstance(value, str) else repr(value)


def lowered(code: str) -> str:
    module = read_document(code.encode(), "x.py").module
    return "; ".join(_text(shape(statement)) for statement in module.body)


def value_of(code: str) -> ir.Expr:
    (statement,) = read_document(code.encode(), "x.py").module.body
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


def test_a_literal_that_python_refuses_keeps_its_text() -> None:
    assert string_value('"\\N{no such name}"') == '"\\N{no such name}"'
    huge = value_of("9" * 5000)
    assert isinstance(huge, ir.Constant)
    assert huge.value == float("inf")


@pytest.mark.parametrize(
    "code",
    [
        "a", "a.b.c", "a[0]", "a[0, 1]", "a[b:c]", "a[:, None]", "a[::2]", "a[1:]",
        "f()", "f(a, *b, c=1, **d)", "a + b", "a @ b", "a // b", "a ** b", "a << b",
        "-a", "+a", "~a", "not a", "a and b", "a or b", "a < b", "a not in b", "a is not b",
        "a != b", "b if a else c", "[a, b]", "[]", "(a, b)", "(a,)", "()", "{a, b}", "{}",
        "{a: b, **c}", "[a for b in c if d if e]", "{a for b in c}", "{a: b for c in d}",
        "(a for b in c for d in e)", "lambda a, b: c", "(a := b)", "await a", "[*a, *b]",
        "(a + b) * c", "f(a)(b)[c].d",
    ],
)  # fmt: skip
def test_an_expression_renders_as_it_is_written(code: str) -> None:
    (function,) = read_document(f"async def f():\n    {code}\n".encode(), "x.py").module.body
    assert isinstance(function, ir.Function)
    (statement,) = function.body
    assert isinstance(statement, ir.Evaluate)
    assert ir.render(statement.value) == code


def test_operators_of_one_rank_group_to_the_left() -> None:
    expected = (
        "Binary(op=-, left=Binary(op=-, left=Name(id=a), right=Name(id=b)), right=Name(id=c))"
    )
    assert lowered("a - b - c") == f"Evaluate(value={expected})"
    assert ir.render(value_of("a - (b - c)")) == "a - (b - c)"
    assert ir.render(value_of("a and b and c or d")) == "((a and b) and c) or d"


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
        ("a[*b]", "Subscript(value=Name(id=a), index=Display(kind=tuple, items=[Starred(value=Name(id=b))]))"),
        ("a[b,]", "Subscript(value=Name(id=a), index=Display(kind=tuple, items=[Name(id=b)]))"),
        ("f'a{b!r:>{c}}' 'd'", "Text(parts=[Constant(value=a), Name(id=b), Constant(value=>), Name(id=c), Constant(value=d)])"),
        ("t'{a}b'", "Text(parts=[Name(id=a), Constant(value=b)])"),
        ("f(a for a in b)", "Call(func=Name(id=f), args=[Argument(value=Comprehension(kind=generator, element=Name(id=a), clauses=[Clause(target=Name(id=a), iter=Name(id=b))]))])"),
    ],
)  # fmt: skip
def test_expressions_in_full(code: str, expected: str) -> None:
    assert lowered(code) == f"Evaluate(value={expected})"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("pass", ""),
        ("a = b = c", "Assign(targets=[Name(id=a), Name(id=b)], value=Name(id=c))"),
        ("a: T = b", "Assign(targets=[Name(id=a)], value=Name(id=b), annotation=Name(id=T))"),
        ("a: T", "Assign(targets=[Name(id=a)], annotation=Name(id=T))"),
        ("a @= b", "Augment(target=Name(id=a), op=@, value=Name(id=b))"),
        ("a >>= b; a **= c", "Augment(target=Name(id=a), op=>>, value=Name(id=b)); Augment(target=Name(id=a), op=**, value=Name(id=c))"),
        ("type A[T] = b", "Assign(targets=[Name(id=A)], value=Name(id=b))"),
        ("del a, b", "Delete(targets=[Name(id=a), Name(id=b)])"),
        ("del (a)", "Delete(targets=[Name(id=a)])"),
        ("raise a from b", "Raise(value=Name(id=a))"),
        ("assert a, b", "Assert(test=Name(id=a), message=Name(id=b))"),
        ("global a, b", "Scope(kind=global, names=[a, b])"),
        ("nonlocal a", "Scope(kind=nonlocal, names=[a])"),
        ("import a.b as c, d", "Import(names=[Alias(name=a.b, asname=c), Alias(name=d)])"),
        ("from ..a.b import (c as d, e,)", "ImportFrom(module=a.b, names=[Alias(name=c, asname=d), Alias(name=e)], level=2)"),
        ("from . import *", "ImportFrom(names=[Alias(name=*)], level=1)"),
        ("if a: b\nelif c: d\nelse: e", "If(test=Name(id=a), body=[Evaluate(value=Name(id=b))], orelse=[If(test=Name(id=c), body=[Evaluate(value=Name(id=d))], orelse=[Evaluate(value=Name(id=e))])])"),
        ("while a:\n  break\nelse:\n  b", "While(test=Name(id=a), body=[Break()], orelse=[Evaluate(value=Name(id=b))])"),
        ("for a in b:\n  continue\nelse:\n  c", "For(target=Name(id=a), iter=Name(id=b), body=[Continue()], orelse=[Evaluate(value=Name(id=c))])"),
        ("with (a as b, c): d", "With(items=[[Name(id=a), Name(id=b)], [Name(id=c), None]], body=[Evaluate(value=Name(id=d))])"),
        ("try:\n a\nexcept B as c:\n d\nelse:\n e\nfinally:\n f", "Try(body=[Evaluate(value=Name(id=a))], handlers=[Handler(type=Name(id=B), name=c, body=[Evaluate(value=Name(id=d))])], orelse=[Evaluate(value=Name(id=e))], final=[Evaluate(value=Name(id=f))])"),
        ("try:\n a\nexcept* B:\n d", "Try(body=[Evaluate(value=Name(id=a))], handlers=[Handler(type=Name(id=B), body=[Evaluate(value=Name(id=d))])])"),
        ("@a\nclass B[T](C, *d, m=E, **f): g", "Class(name=B, bases=[Argument(value=Name(id=C)), Argument(value=Name(id=d), star=*), Argument(value=Name(id=E), keyword=m), Argument(value=Name(id=f), star=**)], body=[Evaluate(value=Name(id=g))], decorators=[Name(id=a)])"),
        ("@a\nasync def f[T](b, /, c: D = e, *g, h, **i) -> J: return", "Function(name=f, params=[Parameter(name=b, kind=positional), Parameter(name=c, kind=positional, default=Name(id=e), annotation=Name(id=D)), Parameter(name=g, kind=*), Parameter(name=h, kind=keyword), Parameter(name=i, kind=**)], body=[Return()], decorators=[Name(id=a)], returns=Name(id=J), is_async=True)"),
        ("def f(*, a=1): yield from a", "Function(name=f, params=[Parameter(name=a, kind=keyword, default=Constant(value=1))], body=[Evaluate(value=Yield(value=Name(id=a), delegate=True))])"),
        ("async def f():\n async for a in b: yield\n async with c: return d", "Function(name=f, body=[For(target=Name(id=a), iter=Name(id=b), body=[Evaluate(value=Yield())]), With(items=[[Name(id=c), None]], body=[Return(value=Name(id=d))])], is_async=True)"),
    ],
)  # fmt: skip
def test_statements(code: str, expected: str) -> None:
    assert lowered(code) == expected


@pytest.mark.parametrize(
    ("pattern", "values", "binds", "irrefutable"),
    [
        ("'a' | 'b'", "'a' 'b'", "", False),
        ("None", "None", "", False),
        ("-1", "-1", "", False),
        ("a.B", "a.B", "", False),
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
    (statement,) = read_document(code.encode(), "x.py").module.body
    assert isinstance(statement, ir.Match)
    (case,) = statement.cases
    assert " ".join(map(ir.render, case.values)) == values
    assert " ".join(case.binds) == binds
    assert case.irrefutable is irrefutable
    assert (case.guard is not None) == (" if " in pattern)
    assert len(case.body) == 1


def concrete(base: type) -> set[type]:
    kinds = {kind for kind in vars(cst).values() if isinstance(kind, type)}
    return {
        each for each in kinds if issubclass(each, base) and not each.__name__.startswith("Base")
    }


def test_every_kind_of_node_that_libcst_has_is_lowered() -> None:
    expressions = set(lower_expressions._EXPRESSIONS)
    assert concrete(cst.BaseExpression) <= expressions
    statements = set(lower_statements._STATEMENTS) | {cst.Pass, cst.SimpleStatementLine}
    assert concrete(cst.BaseSmallStatement) <= statements
    assert concrete(cst.BaseStatement) <= statements
    operators = set(lower_expressions.OPERATORS)
    for base in (
        cst.BaseBinaryOp,
        cst.BaseUnaryOp,
        cst.BaseBooleanOp,
        cst.BaseCompOp,
        cst.BaseAugOp,
    ):
        assert concrete(base) <= operators
