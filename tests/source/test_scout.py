"""The scout reads what LibCST reads."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from literate import Case, as_parameters, file_cases, page_cases
from source.sameness import difference, differing

import devlint
from devlint import ir
from devlint.flow.syntax.walk import descendants
from devlint.rulebook import pages
from devlint.source import scout_expressions, scout_statements
from devlint.source.errors import SourceError
from devlint.source.reading import read_document
from devlint.source.scout import scout_module
from devlint.source.spots import File, path_of, span_of

EXPRESSIONS = [
    "1", "0x_ff", "1_0.5_0", "2j", "True", "None", "...", "__debug__", "a", "a.b.c", "ﬁt.ﬁt",
    "'a'", "'''a\nb'''", "r'\\n'", "'\\n\\x41\\N{EM DASH}'", "u'a'", "b'a' b'\\x00'",
    "'a' \"b\" r'\\c'",
    "''", "('a'\n 'b')", "f''", "f'a'", "f'a{b}c{{d}}'", "f'{b!r:>{c}.{d}f}e'", "f'a' 'b' f'{c}'",
    "'' f'{a}' '{b}'", "f'{a:x}' 'b'", "f'\\n{a}\\t\"'", "rf'\\n{a}\\d'", "f'{a=}'", "f'{ a = !r}'",
    "f'{a + b = :>{c}}'", "f'''a\n\"{b}\"\\\n'''", "f'{a:%H:%M}'", "f\"{'a'}\"",
    "F'\\N{EM DASH}{a}'",
    "a[0]", "a[0, 1]", "a[(0, 1)]", "a[0,]", "a[b:c]", "a[:, None, ...]", "a[::2]", "a[:]", "a[()]",
    "f()", "f(a, *b, c=1, **d)", "f(a=1, *b)", "f(**a, b=1)", "f(a for a in b)", "f((yield))",
    "f(*a, b, c=1, *d, **e)", "a + b - c * d @ e", "a - (b - c)", "a ** -b ** c", "(a ** b) ** c",
    "a // b % c << d >> e & f | g ^ h", "-a", "+a", "~a", "not a", "--a", "-1", "a and b and c",
    "a and (b and c)", "(a and b) and c or d and not e", "a < b", "a < b <= c != d", "(a < b) < c",
    "a in b", "a not in b", "a is b", "a is not b", "a == b", "a > b >= c", "b if a else c",
    "a if b else c if d else e", "[]", "[a, *b]", "()", "(a,)", "a, *b", "{a, b}", "{*a}", "{}",
    "{a: b, **c, 'd': e}", "[a for b in c if d if e for f in g]", "{a for b, c in d}",
    "{a: b for c in d if e}", "(a for a in b)", "[a async for a in b if await c]", "lambda: a",
    "lambda a, /, b=1, *c, d, e=2, **f: a", "lambda *, a: a", "(a := b)", "[a := 1, b]", "await a",
    "a[(b := 1)]", "(yield)", "(yield a)", "(yield a, *b)", "(yield from a)", "((a))",
    "a if(b)else c",
]  # fmt: skip

STATEMENTS = [
    "pass", "a; b; pass", "'text'", "a = b = c", "a, *b = c = d", "a = yield", "[a, (b, c)] = d",
    "a.b[c] = d", "a: T = b", "a: T", "a.b: 'T' = yield b", "a += b", "a @= b; a //= c",
    "a **= b; a >>= c; a <<= d; a |= e; a &= f; a ^= g; a %= h; a -= i; a *= j; a /= k",
    "del a", "del a, b[0]", "del (a)", "del (a, b)", "del (a,), [b, (c, d)]", "del a,",
    "return", "return a, *b", "raise", "raise a from b", "assert a", "assert a, b", "global a, b",
    "nonlocal a", "import a.b as c, d, e.f", "from ..a.b import (c as d, e,)", "from . import a",
    "from a import *", "from .... import a", "if a: b", "if a: b\nelse: c",
    "if a: b\nelif c: d\nelif e: f\nelse: g", "if a: b\nelse:\n  if c: d\n  else: e",
    "if a: b\nelse:\n  if c: d\n  e", "while a: break\nelse: b", "for a in b: continue\nelse: c",
    "for a, b in c, d: pass", "for a, in b: pass", "async for a in b: c", "with a: b",
    "with a as b, c as (d, e): f", "with (a as b, c): d", "with (a, b): c", "with (a, b) as c: d",
    "with (a): b", "with (yield a): b", "async with a as b.c: d", "try: a\nfinally: b",
    "try: a\nexcept: b", "try: a\nexcept B as c: d\nexcept (E, F): g\nelse: h\nfinally: i",
    "class A: pass", "class A(): 'text'", "@a\n@b.c(d)\nclass A(B, *c, m=D, **e): x = 1",
    "class A(metaclass=M, **k): pass", "def f(): pass", "def f(a, b: T, c=1, d: T = 2): return a",
    "def f(a, /, b, *c: T, d, e: T = 1, **g: T) -> R: 'text'; a", "def f(*, a): yield",
    "@a\n@b\nasync def f(a) -> 'R':\n  await a\n  return b", "def f(a=(1, 2), /): pass",
    "def f(*a): yield from a", "def é(ﬁ, *, ﬂ=1): global ﬁ; import ﬁ.ﬂ as ﬃ",
    "if a:\n\tb\n\x0c\n\tc", "a = (b # comment\n  + c)", "a = b \\\n + c", "", "# only a comment",
]  # fmt: skip

PATTERNS = [
    "1", "-1", "1 + 2j", "'a' 'b'", "None", "True", "a.b", "_", "x", "(x)", "_ as x", "1 | 2 | a.b",
    "(1 | _) as x", "[a, b, *c]", "(a, *_)", "a, b", "[]", "{}", "{'k': v, a.b: [w], **rest}",
    "{1: _}", "P()", "P(x, 1, y=z, w=Q(v))", "a.P(x) as y", "str() | int() as x", "x if x > 1",
    "[P(a=b) as c, _] if d", "*a, b",
]  # fmt: skip

NEWER = [  # the Python that can parse it, and a piece
    ((3, 11), "a[*b]"), ((3, 11), "a[b, *c]"), ((3, 11), "def f(*a: *T): pass"),
    ((3, 11), "try: a\nexcept* B as c: d"), ((3, 12), "type A[T] = b"),
    ((3, 12), "class A[T: int](B): pass"), ((3, 12), "def f[**P](a: T): pass"),
    ((3, 12), "f'{'a' + f'{'b'}'}'"), ((3, 12), "f'{a['b']:{'c'}}'"),
    ((3, 13), "type A[T = b] = c"),
    ((3, 14), "t'a{b!r:c{d}}' t'e'"), ((3, 14), "t'{a=}'"), ((3, 14), "try: a\nexcept B, C: d"),
]  # fmt: skip


@pytest.mark.parametrize("code", [*EXPRESSIONS, *STATEMENTS])
def test_a_piece_of_syntax(code: str) -> None:
    assert scout_module(code.encode(), "x.py") is not None
    assert differing(code.encode(), "x.py") == ""


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern(pattern: str) -> None:
    code = f"match a, *b:\n    case {pattern}: c\n    case _: pass\n"
    assert scout_module(code.encode(), "x.py") is not None
    assert differing(code.encode(), "x.py") == ""


@pytest.mark.parametrize(("version", "code"), NEWER)
def test_newer_syntax_is_read_by_a_python_that_knows_it(
    version: tuple[int, int], code: str
) -> None:
    assert (scout_module(code.encode(), "x.py") is not None) is (sys.version_info >= version)
    assert differing(code.encode(), "x.py") == ""


# --- whole files ---------------------------------------------------------------------------

TESTS = Path(__file__).parent.parent
BLOCKS = [case for path in sorted((TESTS / "cases").glob("*.md")) for case in file_cases(path)]
BLOCKS += [case for page in pages().values() for case in page_cases(page)]


@pytest.mark.parametrize("case", as_parameters(BLOCKS))
def test_a_case(case: Case) -> None:
    try:
        assert differing(case.source.encode(), "x.py") == ""
    except SourceError:
        assert scout_module(case.source.encode(), "x.py") is None


def own_files() -> Iterator[Path]:
    room = Path(devlint.__file__).parent
    for folder in ("flow", "source", "rules"):
        yield from sorted((room / folder).glob("*.py"))


def installed_files() -> Iterator[Path]:
    """A sample of torch."""
    spec = find_spec("torch")
    assert spec is not None
    assert spec.submodule_search_locations
    room = Path(spec.submodule_search_locations[0])
    for folder in ("nn", "optim", "utils", "distributed"):
        small = [p for p in sorted((room / folder).rglob("*.py")) if p.stat().st_size < 20_000]
        yield from small[::6]


@pytest.mark.parametrize("files", [own_files, installed_files])
def test_files_of_real_projects(files: object) -> None:
    assert callable(files)
    paths = list(files())
    assert len(paths) > 60
    for path in paths:
        data = path.read_bytes()
        assert scout_module(data, path.name) is not None, path
        assert not (found := differing(data, path.name)), f"{path}: {found}"


def test_a_difference_is_named() -> None:
    one, other = (read_document(code, "x.py").module for code in (b"a\nb + c", b"a\nb + d"))
    assert difference(one, other) == "module.body[1].value.right.id: 'c' is not 'd'"
    third = read_document(b"a\nb.c", "x.py").module
    assert difference(one, third) == "module.body[1].value: Binary 'b + c' is not Attribute 'b.c'"
    fourth = read_document(b"a", "x.py").module
    assert difference(one, fourth).startswith("module.body: 2 parts are not 1: ")


def test_every_kind_of_node_that_this_python_has_is_lowered() -> None:
    handled = {*scout_expressions._EXPRESSIONS, *scout_statements._STATEMENTS, ast.Pass}
    parts = {"FormattedValue", "Interpolation"}  # within the text that they are part of
    old = {
        "Num",
        "Str",
        "Bytes",
        "NameConstant",
        "Ellipsis",
        "AugLoad",
        "AugStore",
        "Param",
        "Suite",
    }
    kinds = {kind for kind in vars(ast).values() if isinstance(kind, type)}
    wanted = {kind for kind in kinds if issubclass(kind, (ast.expr, ast.stmt))}
    missing = {kind.__name__ for kind in wanted - handled - {ast.expr, ast.stmt}}
    assert missing <= parts | old
    for base in (ast.operator, ast.unaryop, ast.boolop, ast.cmpop):
        assert set(base.__subclasses__()) <= set(scout_expressions.OPERATORS)


# --- what it can't read, and where things are ----------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        b"def f(:\n",
        b"print 'a'\n",
        b"x = '\0'\n",
        b"x = '\xe9'\n",
        b"# coding: nonsense\n",
        b"\xef\xbb\xbf\xef\xbb\xbfx = 1\n",
        "x = 1\n".encode("utf-16"),
        b"x = " + b"(" * 250 + b")" * 250,
        b"x = " + b"+".join([b"a"] * 4000),
        b"x = a" + b".b" * 2900,
        b"x = " + b"9" * 5000,
        b"if a: b\n" + b"elif c: d\n" * 9000,
    ],
)
def test_what_python_cannot_parse_is_left_to_libcst(data: bytes) -> None:
    assert scout_module(data, "x.py") is None


def test_a_kind_of_node_that_is_not_known_is_left_to_libcst(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = dict(scout_statements._STATEMENTS)
    del known[ast.Global]
    monkeypatch.setattr(scout_statements, "_STATEMENTS", known)
    assert scout_module(b"global a", "x.py") is None
    assert scout_module(b"nonlocal a", "x.py") is not None


def test_the_linted_file_warns_nobody(recwarn: pytest.WarningsRecorder) -> None:
    assert scout_module(b"x = '\\d' is 1\nassert (a, 'b')\n", "x.py") is not None
    assert not recwarn.list


@pytest.mark.parametrize(
    "data",
    [
        "é = a['漢'].é\r\nb = (é + a.b)\r\n".encode(),
        b"\xef\xbb\xbfa = b.c\rd = e(f)\r",
        "# coding: latin-1\nx = f('é', a - é)\n".encode("latin-1"),
        b"if a and (b or c):\n\tx = -y < z\n\x0c\n\tw = [a, (b, c)]\n",
        "a = '\u2028'; b = {'\x0b': c}\nd\n".encode(),
        b"class Aa: pass\nimport a.b as c\nx: T = lambda: y\ndel x, y\nawait_ = not x",
    ],
)
def test_nodes_are_where_libcst_has_them(data: bytes) -> None:
    document = read_document(data, "x.py")
    scouted = scout_module(data, "folder/x.py")
    assert scouted is not None
    file = scouted.origin
    assert isinstance(file, File)
    pairs = zip(descendants(scouted), descendants(document.module), strict=True)
    for one, other in pairs:
        if not isinstance(one, (ir.Module, ir.If)):
            assert span_of(one.origin, file) == document.locate(other.origin), ir.render(one)
            assert path_of(one.origin) == "folder/x.py"


HEADERS = [
    ("if a: b", "if a"),
    ("while a: b", "while a"),
    ("for a in b: c", "for a in b"),
    ("with a as b: c", "with a as b"),
    ("try: a\nfinally: b", "try"),
    ("match a:\n case b: c", "match a"),
    ("@d\ndef f(): a", "def f()"),
    ("def f(a, b=1): a", "def f(a, b=1)"),
    ("@d\nasync def f(): a", "async def f()"),
    ("@d\nclass A(B): a", "A"),
]


@pytest.mark.parametrize(("code", "header"), HEADERS)
def test_a_compound_statement_is_at_its_header(code: str, header: str) -> None:
    module = scout_module(code.encode(), "x.py")
    assert module is not None
    assert isinstance(module.origin, File)
    span = span_of(module.body[0].origin, module.origin)
    assert span is not None
    assert code[span.start : span.end] == header


def test_other_origins_have_no_spot() -> None:
    module = read_document(b"a", "x.py").module
    assert span_of(module.body[0].origin, File("x.py", "a")) is None
    assert path_of(module.body[0].origin) is None
    scouted = scout_module(b"a", "x.py")
    assert scouted is not None
    assert isinstance(scouted.origin, File)
