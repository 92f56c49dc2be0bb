"""Every node of the intermediate form is found in LibCST's tree of the same text."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from literate import Case, as_parameters, file_cases, page_cases

import devlint
from devlint.config.rulebook import pages
from devlint.flow.syntax.walk import descendants
from devlint.model import ir
from devlint.source.errors import SourceError
from devlint.source.exact import NotFoundError
from devlint.source.lower import lower
from devlint.source.newer import newer_syntax
from devlint.source.reading import read_document
from devlint.source.spots import offsets_of

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

NEWER = [  # the Python that can parse it, what it is called, and a piece
    ((3, 11), "`*` in an index", "a[*b]"), ((3, 11), "`*` in an index", "a[b, *c]"),
    ((3, 11), "`*` in an annotation", "def f(*a: *T): pass"),
    ((3, 11), "`except*`", "try: a\nexcept* B as c: d"),
    ((3, 12), "a `type` statement", "type A = b"),
    ((3, 12), "type parameters", "class A[T: int](B): pass"),
    ((3, 12), "type parameters", "def f[**P](a: T): pass"),
    ((3, 12), "quotes or a backslash", "f'{'a' + f'{'b'}'}'"),
    ((3, 12), "quotes or a backslash", "f'{a['b']:{'c'}}'"),
    ((3, 12), "quotes or a backslash", "x = (f'{a['b']}')"),
    ((3, 13), "a default of a type parameter", "type A[T = b] = c"),
    ((3, 14), "a template string", "t'a{b!r:c{d}}'"), ((3, 14), "a template string", "t'{a=}'"),
    ((3, 14), "`except` without parentheses", "try: a\nexcept B, C: d"),
    ((3, 15), "`*` in a comprehension", "[*a for a in b]"),
    ((3, 15), "`**` in a comprehension", "{**a for a in b}"),
    ((3, 15), "a `lazy` import", "lazy import a"),
]  # fmt: skip

APPROXIMATE = (
    ir.Alias, ir.Argument, ir.Case, ir.Class, ir.Clause, ir.Evaluate, ir.For, ir.Function,
    ir.Handler, ir.If, ir.Match, ir.Module, ir.Parameter, ir.Starred, ir.Try, ir.While, ir.With,
    ir.Boolean, ir.Compare,
)  # fmt: skip
"""What is underlined otherwise than Python's parser has it: headers, and what has parentheses
within."""


def lost(data: bytes) -> Iterator[str]:
    """The nodes of a file that aren't found in LibCST's tree, or not where they stand."""
    document = read_document(data, "x.py")
    module = lower(document.text, "x.py")
    within = {
        part
        for text in descendants(module)
        if isinstance(text, ir.Text)
        for part in descendants(text)
        if part is not text
    }
    for node in descendants(module):
        shown = f"{type(node).__name__} {ir.render(node)!r}"
        if node in within and sys.version_info < (3, 12):
            continue  # Python itself may be wrong there
        try:
            found = document.exact.range(node)
            outer = document.exact.outer(node)
        except NotFoundError as error:
            yield f"{shown}: {error}"
            continue
        if not outer[0] <= found[0] <= found[1] <= outer[1]:
            yield f"{shown}: {found} isn't in {outer}"
        generator = isinstance(node, ir.Comprehension) and node.kind == "generator"
        piece = isinstance(node, ir.Constant) and node in within
        if not isinstance(node, APPROXIMATE) and not generator and not piece:
            place = offsets_of(node.origin, document.index)
            if found != place:
                yield f"{shown}: {found} is not {place}"


@pytest.mark.parametrize("code", [*EXPRESSIONS, *STATEMENTS])
def test_a_piece_of_syntax(code: str) -> None:
    assert not list(lost(code.encode()))


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern(pattern: str) -> None:
    code = f"match a, *b:\n    case {pattern}: c\n    case _: pass\n"
    assert not list(lost(code.encode()))


@pytest.mark.parametrize(("version", "words", "code"), NEWER)
def test_newer_syntax_says_which_python_reads_it(
    version: tuple[int, int], words: str, code: str
) -> None:
    if sys.version_info >= version:
        assert not list(lost(code.encode()))
        return
    with pytest.raises(SourceError) as caught:
        lower(code, "x.py")
    needed = ".".join(map(str, version))
    assert caught.value.kind == "syntax"
    assert caught.value.reason.startswith(words)
    assert f"run devlint with Python {needed} or newer" in caught.value.reason


@pytest.mark.parametrize("code", ["print 'a'", "def f(:", "x = (", "f'{a['", "type A = = b", "a b"])
def test_what_no_python_reads_is_not_newer(code: str) -> None:
    assert newer_syntax(code) is None
    with pytest.raises(SourceError, match=r"^(?!.*Python)"):
        lower(code, "x.py")


# --- texts in texts --------------------------------------------------------------------------

IN_TEXTS = """\
x = f"{a.b()} {c}: {a.b(d)}"
y = f'''
{e.f()!r:>{g}} and
  {h[0]}''' "i" f"{j.k}{j.l}"
z = f"{f'{m.n()}'} {o}" + p
"""


@pytest.mark.parametrize(
    "code",
    ["a.b()", "c", "a.b(d)", "d", "e.f()", "g", "h[0]", "h", "j.k", "j.l", "m.n()", "o", "p"],
)
def test_an_expression_in_a_text_is_found(code: str) -> None:
    document = read_document(IN_TEXTS.encode(), "x.py")
    nodes = descendants(lower(IN_TEXTS, "x.py"))
    (node,) = (each for each in nodes if isinstance(each, ir.Expr) and ir.render(each) == code)
    start, end = document.exact.range(node)
    assert IN_TEXTS[start:end] == code


def test_a_literal_piece_of_a_text_is_in_that_text() -> None:
    document = read_document(IN_TEXTS.encode(), "x.py")
    texts = [node for node in descendants(lower(IN_TEXTS, "x.py")) if isinstance(node, ir.Text)]
    pieces = [(t, part) for t in texts for part in t.parts if isinstance(part, ir.Constant)]
    assert len(pieces) == 7
    for text, piece in pieces:
        whole, (start, end) = document.exact.range(text), document.exact.range(piece)
        assert whole[0] <= start < end <= whole[1]


@pytest.mark.parametrize(
    "code", ["x = a - b\ny = 1\n", "x = a + c\n", "x = aa + b\n", "y = a + b\n", "del x, a\n"]
)
def test_another_text_has_other_nodes(code: str) -> None:
    document = read_document(b"x = a + b\n", "x.py")
    nodes = list(descendants(lower(code, "x.py").body[-1]))
    with pytest.raises(NotFoundError):
        list(map(document.exact.range, nodes))


# --- whole files ---------------------------------------------------------------------------

TESTS = Path(__file__).parent.parent
BLOCKS = [case for path in sorted((TESTS / "cases").glob("*.md")) for case in file_cases(path)]
BLOCKS += [case for page in pages().values() for case in page_cases(page)]


@pytest.mark.parametrize("case", as_parameters(BLOCKS))
def test_a_case(case: Case) -> None:
    try:
        lower(case.source, "x.py")
        document = read_document(case.source.encode(), "x.py")
    except SourceError:
        return  # what such a case is about
    assert not list(lost(document.script.edited(())))


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


def library_files() -> Iterator[Path]:
    """A sample of Python's own library."""
    room = Path(sysconfig.get_paths()["stdlib"])
    yield from sorted(room.glob("*.py"))[::5]
    yield from sorted((room / "asyncio").glob("*.py"))


@pytest.mark.parametrize("files", [own_files, installed_files, library_files])
def test_files_of_real_projects(files: object) -> None:
    assert callable(files)
    paths = list(files())
    assert len(paths) > 50
    for path in paths:
        assert not (found := list(lost(path.read_bytes()))), f"{path}: {found[:5]}"


@pytest.mark.parametrize(
    "data",
    [
        "é = a['漢'].é\r\nb = (é + a.b)\r\n".encode(),
        b"\xef\xbb\xbfa = b.c\rd = e(f)\r",
        "# coding: latin-1\nx = f('é', a - é)\n".encode("latin-1"),
        b"if a and (b or c):\n\tx = -y < z\n\x0c\n\tw = [a, (b, c)]\n",
        b"\x0cimport a\nb = f('c' 'd')\n",
        b" \x0c\x0cimport a\nif b: c\n\\\nd = e(f)\n",
        b"if a:\n \x0c  b = c\n   \x0c  \n\x0c  d[e]\nf = g\n\r",
        b"if a:\n    b = c\n\\\n    d[e]\nf = g\n",
        "a = '\u2028'; b = {'\x0b': c}\nd\n".encode(),
        b"class  Aa: pass\nimport a.b as c\nx: T = lambda: y\ndel x, y\nawait_ = not x",
        b"x = a if (b) else ((c)), (*d, e)[f:g, ::h]\nfor (i) in (j): k((l for l in m), n=(o))\n",
    ],
)
def test_odd_texts(data: bytes) -> None:
    """LibCST writes some of them otherwise than it read them."""
    assert not list(lost(data))
