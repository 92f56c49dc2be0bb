"""Reading files: encodings, line breaks, errors, deep nesting."""

import codecs
import sys
from typing import Literal

import libcst as cst
import pytest

from devlint.flow.syntax.walk import descendants, first_row
from devlint.lint import Place
from devlint.model import ir
from devlint.model.findings import Span
from devlint.model.reports import (
    Anchor,
    Part,
    Rewrite,
    add_statement,
    insert_after,
    insert_before,
    move_below,
    move_where_bound,
    replace,
    replace_tail,
)
from devlint.model.spans import apply_edits
from devlint.source.depth import is_deep, too_deep
from devlint.source.document import Document
from devlint.source.encoding import Decoded
from devlint.source.errors import SourceError
from devlint.source.lower import lower
from devlint.source.reading import mentions, read_document, syntax_error


def read(code: str) -> Document:
    return read_document(code.encode(), "x.py")


def failure(data: bytes) -> SourceError:
    with pytest.raises(SourceError) as caught:
        read_document(data, "x.py")
    return caught.value


NAMES = [
    pytest.param("é = '漢'\r\nx = é\r\n".encode(), "utf-8", id="crlf"),
    pytest.param(b"x = 1\ry = 2\r", "utf-8", id="cr"),
    pytest.param(b"x = 1\r\ny = 2\nz = 3\r\x0c\nw = 4", "utf-8", id="mixed"),
    pytest.param(codecs.BOM_UTF8 + "é = 1\n".encode(), "utf-8", id="byte order mark"),
    pytest.param(codecs.BOM_UTF8 + b"# coding: utf-8\nx = 1\n", "utf-8", id="mark and cookie"),
    pytest.param("# coding: latin-1\nx = 'é'\n".encode("latin-1"), "iso8859-1", id="latin-1"),
    pytest.param(
        b"#!/bin/sh\n# vim: set fileencoding=cp1252 :\nx = '\x80'\n", "cp1252", id="row 2"
    ),
    pytest.param("\r# coding: koi8-r\rx = 'я'\r".encode("koi8-r"), "koi8-r", id="cookie after cr"),
    pytest.param(b"x = 1\ny = 2\n# coding: latin-1\n", "utf-8", id="cookie too late"),
    pytest.param(b"x = 1\n# coding: latin-1\n", "utf-8", id="cookie after code"),
    pytest.param(b"", "utf-8", id="empty"),
    pytest.param(b"\n\n", "utf-8", id="blank"),
    pytest.param(b"# only a comment", "utf-8", id="comment"),
    pytest.param(b"\x0c\nif x:\n\ty = 1\n\x0c\n", "utf-8", id="form feeds and tabs"),
    pytest.param("x = '\u2028\x0b\x1c\x85'\ny = x\n".encode(), "utf-8", id="no line breaks"),
]


@pytest.mark.parametrize(("data", "encoding"), NAMES)
def test_a_file_survives_reading_and_writing(data: bytes, encoding: str) -> None:
    document = read_document(data, "x.py")
    assert isinstance(document.script, Decoded)
    assert document.script.encoding == encoding
    assert document.script.edited(()) == data
    for statement in lower(document.text, "x.py").body:
        assert isinstance(statement, (ir.Assign, ir.If))
        target = statement.test if isinstance(statement, ir.If) else statement.targets[0]
        assert isinstance(target, ir.Name)
        span = document.locate(target)
        assert document.text[span.start : span.end] == target.id


def test_rows_follow_python_and_not_str_splitlines() -> None:
    document = read("a = '\u2028\x0c'\r\nb = 1\rc = 2\n")
    rows = [document.locate(statement).row for statement in lower(document.text, "x.py").body]
    assert rows == [1, 2, 3]


@pytest.mark.parametrize(
    ("data", "kind", "row", "column", "words"),
    [
        (b"x = 1\nprint 'a'\n", "syntax", 2, 1, "Missing parentheses"),
        (b"x = 1\nexec 'a'\n", "syntax", 2, 1, "Missing parentheses"),
        (b"raise A, 'b'\n", "syntax", 1, 8, "invalid syntax"),
        (b"x = 0777\n", "syntax", 1, 5, "leading zeros"),
        (b"def f(:\n    pass\n", "syntax", 1, 7, ""),
        (b"x = 'abc\n", "syntax", 1, 5, "unterminated string"),
        (b"x = (1,\n\n", "syntax", 1, 5, "never closed"),
        (b"if x:\n    a\n  b\n", "syntax", 3, 4, "unindent"),
        (b"\xc3\xa9 = 1\r\n\xc3\xa9 = = 2\r\n", "syntax", 2, 5, "invalid syntax"),
        (b"x = 1\ny = '\0'\n", "syntax", 2, 6, "NUL"),
        (b"x = 1  # \0\n", "syntax", 1, 10, "NUL"),
        (codecs.BOM_UTF8 * 2 + b"x = 1\n", "syntax", 1, 1, "U+FEFF"),
        (b"# a\nx = '\xe9'\n", "unreadable", 2, 6, "not UTF-8: byte 0xe9 at byte 9"),
        (codecs.BOM_UTF8 + b"x = '\xe9'\n", "unreadable", 1, 6, "byte 0xe9 at byte 8"),
        (b"# coding: utf8\nx = '\xe9'\n", "unreadable", 2, 6, "not utf-8, which the file declares"),
        (b"# coding: ascii\nx = '\xc3\xa9'\n", "unreadable", 2, 6, "not ascii"),
        (b"# coding: nonsense\n", "unreadable", 1, 11, "unknown encoding `nonsense`"),
        (b"# coding: rot13\n", "unreadable", 1, 1, "no encoding for source files"),
        (codecs.BOM_UTF8 + b"# coding: latin-1\n", "unreadable", 1, 11, "byte order mark"),
        ("x = 1\n".encode("utf-16"), "unreadable", 1, 1, "UTF-16"),
        (b"\x80\x03\x00", "unreadable", 1, 1, "not UTF-8"),
    ],
)
def test_what_cannot_be_read_says_why_and_where(
    data: bytes, kind: str, row: int, column: int, words: str
) -> None:
    error = failure(data)
    assert (error.kind, error.span.row, error.span.column) == (kind, row, column)
    assert words in error.reason
    assert "\n" not in error.reason
    assert "parser error" not in error.reason
    quick = syntax_error(data)
    assert quick is not None
    assert (quick.kind, quick.span, quick.reason) == (error.kind, error.span, error.reason)


@pytest.mark.parametrize("code", ["x = 1\n", "", "x = '\\d' is 1\n", "return\n"])
def test_what_python_can_read_is_no_error(code: str, recwarn: pytest.WarningsRecorder) -> None:
    assert syntax_error(code.encode()) is None
    assert read(code).text == code
    assert not recwarn.list


def test_syntax_that_libcst_lacks_is_no_syntax_error() -> None:
    code = "class A(B, metaclass=C, *d): pass\n"
    error = failure(code.encode())
    assert error.kind == "unreadable"
    assert "LibCST" in error.reason
    assert syntax_error(code.encode()) is None


@pytest.mark.parametrize(
    "code",
    [
        "x = 1 if.5else 2\n",
        "return.5\n",
        "if(a if b else c): pass\n",
        "if(lambda: x.cuda())(): pass\n",
    ],
)
def test_syntax_that_the_checks_of_libcst_refuse_is_read(code: str) -> None:
    assert read(code).tree.code == code
    with pytest.raises((cst.CSTValidationError, TypeError)):
        cst.parse_module(code)  # nodes that others make are checked still


def test_mentions() -> None:
    assert mentions(b"import torch\n", (b"cuda", b"torch"))
    assert not mentions(b"import numpy\n", (b"cuda", b"torch"))


# --- deep nesting --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "code",
    [
        "x = " + "(" * 3000 + "1" + ")" * 3000,
        "x = " + "[" * 3000 + "]" * 3000,
        "x = " + "{1:" * 3000 + "1" + "}" * 3000,
        "x = f(" * 300 + ")" * 300,
        "x = a" + "()" * 20000,
        "x = a" + "[0]" * 1500,
        "x = " + "not " * 20000 + "a",
        "x = " + "-" * 20000 + "a",
        "x = " + "lambda: " * 20000 + "a",
        "x = " + "a if b else " * 20000 + "c",
        "x = " + "+".join(["a"] * 20000),
        "x = (\n" + " +\n".join(["a"] * 20000) + "\n)",
        "if a: pass\n" + "elif b: pass\n" * 30000,
        "".join(" " * i + "if a:\n" for i in range(300)) + " " * 300 + "pass",
    ],
    ids=lambda code: code[:16],
)
def test_too_deep_nesting_is_an_error_and_no_crash(code: str) -> None:
    error = failure(code.encode())
    assert error.kind == "syntax"
    assert "too" in error.reason


@pytest.mark.parametrize(
    "code",
    [
        "x = " + "(" * 190 + "1" + ")" * 190,
        "x = a" + ".b" * 1000,
        "x = a" + "(1)" * 600,
        "x = " + "not " * 1000 + "a",
        "x = " + "a if b else " * 600 + "c",
        "x = " + " + ".join(["a"] * 2000),
        "x = (" + " 'a'" * 3000 + ")",
        "x = " + "=".join(["a"] * 3000),
        "x = " + " < ".join(["a"] * 2000),
        "if a: pass\n" + "elif b: pass\n" * 3000 + "x = 1",
    ],
    ids=lambda code: code[:16],
)
def test_deep_nesting_is_read_and_located(code: str) -> None:
    document = read(code + "\n")
    last = lower(document.text, "x.py").body[-1]
    try:
        span = document.locate(last)
    except SourceError:
        if sys.version_info[:2] != (3, 12):  # whose own functions may not recurse as deeply
            raise
        return
    assert document.text[span.start : span.end].startswith("x =")
    assert span.end == len(code)


def test_what_python_has_no_room_for_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def deep(*_: object) -> None:
        raise RecursionError

    document = read("x = 1\n")
    monkeypatch.setattr("devlint.source.document.Exact", deep)
    with pytest.raises(SourceError, match="nested too deeply"):
        document.locate(lower(document.text, "x.py").body[0])


def test_large_flat_files_are_not_deep() -> None:
    table = "x = [" + "(1, 2, {'a': [3]}),\n" * 20000 + "]\n"
    assert too_deep(table) is None
    assert too_deep("x = '" + "(" * 5000 + "'\n") is None
    assert too_deep("# " + "(" * 5000 + "\n") is None
    ordinary = "def f(x):\n    return x.a(b)[c] + d * (e - 1)\n" * 5000
    assert not is_deep(ordinary.encode())


# --- positions -----------------------------------------------------------------------------

PLACES = """\
@decorated
async def f(a, b: int = 1, *c) -> T :  # comment
    for x in (1, 2): pass
    if a and (
        b
    ):
        pass
    elif c: pass
    else: return (yield)
    with (open(p) as q, r): pass
    try : pass
    except (A, B) as e: pass
    finally: pass
    while (x) : x = [i for i in (1, 2) if i ]
class C(D): x = 1
match ( v ) :
    case [1, *_] if w: f(k = (1), *args)
"""


def marked(document: Document) -> list[tuple[str, str]]:
    found = []

    def visit(node: object) -> None:
        if isinstance(node, tuple):
            for item in node:
                visit(item)
        elif isinstance(node, ir.Node):
            if not isinstance(node, ir.Module):
                span = document.locate(node)
                found.append((type(node).__name__, document.text[span.start : span.end]))
            for field in node.__slots__:
                if field != "origin":
                    visit(getattr(node, field))

    visit(lower(document.text, "x.py"))
    return found


def test_places_of_headers_and_parts() -> None:
    found = marked(read(PLACES))
    for expected in [
        ("Function", "async def f(a, b: int = 1, *c)"),
        ("Parameter", "b: int = 1"),
        ("Parameter", "*c"),
        ("For", "for x in (1, 2):"),
        ("Display", "(1, 2)"),
        ("If", "if a and (\n        b\n    ):"),
        ("If", "elif c:"),
        ("Yield", "yield"),
        ("With", "with (open(p) as q, r):"),
        ("Try", "try :"),
        ("Handler", "except (A, B) as e:"),
        ("While", "while (x) :"),
        ("Comprehension", "[i for i in (1, 2) if i ]"),
        ("Clause", "for i in (1, 2) if i"),
        ("Class", "C"),
        ("Match", "match ( v ) :"),
        ("Case", "case [1, *_] if w:"),
        ("Argument", "k = (1)"),
        ("Argument", "*args"),
        ("Constant", "1"),
    ]:
        assert expected in found


def test_a_span_is_its_own_place() -> None:
    span = Span(3, 4, 1, 4, 1, 5)
    assert read("x = 1\n").locate(Place(span)) is span


@pytest.mark.parametrize(
    ("row", "rows"),
    [(1, (1, 2)), (2, (1, 2)), (3, (3, 3)), (4, (4, 6)), (5, (4, 6)), (7, (7, 7)), (99, (99, 99))],
)
def test_rows_of_statements(row: int, rows: tuple[int, int]) -> None:
    assert read(PLACES).statement_rows(row) == rows


def test_rows_of_statements_over_several_rows() -> None:
    document = read(
        "x = f(\n  a,\n)\n\nif (b and\n    c): g(\n    d)\ny = '''\n\n'''; z = \\\n  1\n"
    )
    expected = [(1, 3)] * 3 + [(4, 4), (5, 6), (5, 6), (6, 7)] + [(8, 10)] * 2 + [(10, 11)] * 2
    assert [document.statement_rows(row) for row in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)] == expected


def test_comments_are_found_and_strings_are_not() -> None:
    document = read(
        "# one\nx = '# no'  # two\ny = f'''\n# no {z}\n'''\n\n  # three\nf(\n  # four\n)"
    )
    found = [(each.row, each.column, each.text, each.alone) for each in document.comments]
    assert found == [
        (1, 1, "# one", True),
        (2, 13, "# two", False),
        (7, 3, "# three", True),
        (9, 3, "# four", True),
    ]


# --- edits ---------------------------------------------------------------------------------


def rewritten(code: str, make: object) -> str:
    document = read(code)
    (statement,) = lower(code, "x.py").body
    assert isinstance(statement, ir.Assign)
    assert statement.value is not None
    assert callable(make)
    rewrite = make(statement.value)
    assert isinstance(rewrite, Rewrite)
    return apply_edits(code, document.edits([rewrite]) or [])


@pytest.mark.parametrize(
    ("code", "make", "expected"),
    [
        ("x = a + b\n", lambda v: replace(v.left, "c"), "x = c + b\n"),
        ("x = (a) + b\n", lambda v: replace(v.left, "c"), "x = c + b\n"),
        ("x = (a + b) * c\n", lambda v: insert_after(v.left, ".cpu()"), "x = (a + b).cpu() * c\n"),
        ("x = ((a)) * c\n", lambda v: insert_before(v.left, "-"), "x = -((a)) * c\n"),
        ("x = (a, b)\n", lambda v: insert_after(v, "[0]"), "x = (a, b)[0]\n"),
        ("x = a, b\n", lambda v: replace(v, "c"), "x = c\n"),
        (
            "x = (a + b).get_device()\n",
            lambda v: replace_tail(v.func.value, v, ".device"),
            "x = (a + b).device\n",
        ),
        (
            "x = (a.get_device())\n",
            lambda v: replace_tail(v.func.value, v, ".device"),
            "x = (a.device)\n",
        ),
        (
            "x = (f((a)))\n",
            lambda v: Rewrite(Anchor(v, "start"), Anchor(v.args[0].value, "start"), "g("),
            "x = (g((a)))\n",
        ),
    ],
)
def test_rewrites_keep_parentheses_in_pairs(code: str, make: object, expected: str) -> None:
    assert rewritten(code, make) == expected


@pytest.mark.parametrize(
    ("code", "after", "expected"),
    [
        ("x = 1  # one\n", False, "y = 2\nx = 1  # one\n"),
        ("x = 1  # one\n", True, "x = 1\ny = 2  # one\n"),
        ("if a:\n\tx = 1\n", False, "if a:\n\ty = 2\n\tx = 1\n"),
        ("if a:\n\tx = 1\n", True, "if a:\n\tx = 1\n\ty = 2\n"),
        ("if a: x = 1\n", False, "if a: y = 2; x = 1\n"),
        ("if a: x = 1\n", True, "if a: x = 1; y = 2\n"),
        ("if a:\n    x = 1; b()\n", True, "if a:\n    x = 1; y = 2; b()\n"),
        ("if a:\r\n  x = 1\r\n", False, "if a:\r\n  y = 2\r\n  x = 1\r\n"),
        ("x = (\n    1\n)", True, "x = (\n    1\n)\ny = 2"),
    ],
)
def test_a_statement_is_put_on_a_row_of_its_own(code: str, after: bool, expected: str) -> None:
    document = read(code)
    (statement,) = lower(code, "x.py").body
    if isinstance(statement, ir.If):
        statement = statement.body[0]
    edits = document.edits([add_statement(statement, "y = 2", after=after)])
    assert apply_edits(code, edits or []) == expected


@pytest.mark.parametrize(
    ("code", "together"),
    [
        ("def f(x):\n    a = one()\n    if x:\n        b = two()\n", True),
        ("def f(x): a = one(); b = two()\n", True),
        ("a = one()\nclass A:\n    b = two()\n", True),
        ("a = one()\ndef f(x):\n    b = two()\n", False),
        ("def f(x):\n    a = one()\ndef g(x):\n    b = two()\n", False),
        ("def f(x):\n    a = one()\n    def g(): b = two()\n", False),
        ("def f(x):\n    a = one()\n    b = lambda: two()\n", False),
        ("def f(x, a=one()):\n    b = two()\n", False),
        ("@one()\ndef f(x):\n    b = two()\n", False),
    ],
)
def test_nodes_in_the_body_of_one_function(code: str, together: bool) -> None:
    document = read(code)
    calls = (n for n in descendants(lower(code, "x.py")) if isinstance(n, ir.Call))
    one, two = (call for call in calls if ir.render(call) in ("one()", "two()"))
    assert document.in_one_function((one, two)) is together


# --- lines below statements ------------------------------------------------------------------

LOOPS = """\
for x in rows:  # each
\tprint(x)
for y in rows: print(y)
z = rows
if z:
    w = z"""


def below(code: str, name: str) -> str | None:
    """The code with a move of a name below the statement in which it stands first."""
    document = read(code)
    nodes = [each for statement in lower(code, "x.py").body for each in descendants(statement)]
    named = [each for each in nodes if isinstance(each, ir.Name) and each.id == name]
    found = min(named, key=first_row)
    edits = document.edits([move_below(found, Part(name, name), "d")])
    return None if edits is None else apply_edits(code, edits)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("x", LOOPS.replace("# each\n", "# each\n\tx = x.to(d)\n")),
        ("y", None),
        ("z", LOOPS.replace("z = rows\n", "z = rows\nz = z.to(d)\n")),
        ("w", LOOPS + "\n    w = w.to(d)"),
        ("rows", None),
    ],
)
def test_a_line_below_what_binds_a_name(name: str, found: str | None) -> None:
    assert below(LOOPS, name) == found


def test_a_line_below_moves_that_are_there() -> None:
    code = "for x, y in rows:\n    x = x.to(0)\n    f(x)\n"
    assert below(code, "y") == code.replace("    f", "    y = y.to(d)\n    f")


def where_bound(code: str, *names: str, side: Literal["binding", "loop"] = "binding") -> str | None:
    """The code with a move of what names stand for in the call of `use`, where they get it."""
    document = read(code)
    nodes = [each for statement in lower(code, "x.py").body for each in descendants(statement)]
    (use,) = (n for n in nodes if isinstance(n, ir.Call) and ir.render(n.func) == "use")
    moves = [move_where_bound(use, Part(name, name), "d", side) for name in names]
    edits = document.edits(moves)
    return None if edits is None else apply_edits(code, edits)


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("x = f()\nuse(x)\n", "x = f().to(d)\nuse(x)\n"),
        ("x = f() + 1\nuse(x)\n", "x = f() + 1\nx = x.to(d)\nuse(x)\n"),
        ("x = f('\u00e9')\nuse(x)\n", "x = f('\u00e9').to(d)\nuse(x)\n"),
        ("x = f(\n    1,\n)\nif a:\n    use(x)\n", "x = f(\n    1,\n).to(d)\nif a:\n    use(x)\n"),
        ("x = f()\nx = g()\nuse(x)\n", "x = f()\nx = g().to(d)\nuse(x)\n"),
        ("x = f()\nif a:\n    x = g()\nuse(x)\n", None),
        ("x = f()\nfor a in b:\n    use(x)\n    x = a\n", None),
        ("x = f()\nfor a in b:\n    use(x)\n", "x = f().to(d)\nfor a in b:\n    use(x)\n"),
        ("for x in f():\n    use(x)\n", "for x in f():\n    x = x.to(d)\n    use(x)\n"),
        ("x = f()\nb = [use(x) for x in c]\n", None),
        ("x = f()\nb = lambda x: use(x)\n", None),
        ("x = f(); use(x)\n", None),
        ("x = 1 + 2; use(x)\n", None),
        ("def f(x):\n    use(x)\n", None),
        ("x = 1\ndef f():\n    use(x)\n", None),
        ("with f() as x:\n    use(x)\n", None),
        ("try:\n    x = f()\n    use(x)\nfinally:\n    pass\n",
         "try:\n    x = f().to(d)\n    use(x)\nfinally:\n    pass\n"),
    ],
)  # fmt: skip
def test_a_move_where_a_name_gets_its_value(code: str, found: str | None) -> None:
    assert where_bound(code, "x") == found


def test_a_move_in_a_loop_alone() -> None:
    loop = "for x in f():\n    use(x)\n"
    moved = loop.replace("    use", "    x = x.to(d)\n    use")
    assert where_bound(loop, "x", side="loop") == moved
    assert where_bound("x = f()\nuse(x)\n", "x", side="loop") is None


def test_what_is_bound_at_one_place_is_moved_by_one_line() -> None:
    code = "x, y = f()\nuse(x, y)\n"
    moved = "x, y = x.to(d), y.to(d)\n"
    assert where_bound(code, "x", "y") == code.replace("use", f"{moved}use")
    assert where_bound(code, "x", "y", "x") == code.replace("use", f"{moved}use")
    long = code.replace("x", "x" * 30).replace("y", "y" * 30)
    lines = f"{'x' * 30} = {'x' * 30}.to(d)\n{'y' * 30} = {'y' * 30}.to(d)\n"
    assert where_bound(long, "x" * 30, "y" * 30) == long.replace("use", f"{lines}use")
