"""What a program defines, called otherwise. A name says nothing to Python."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import libcst as cst
from metamorphic.names import Binding, Names, Scope, names_of, parameters
from metamorphic.program import MAIN, Changed, Edit, Line, Program, edited, unchanged

COLLECTED = re.compile(r"test|setup|teardown|pytest", re.IGNORECASE)
"""How names begin that pytest calls by their spelling."""


def rename_locals(program: Program) -> Changed | None:
    """Every variable of a function; parameters stay."""
    return _renamed(program, _is_local, lambda binding: "v")


def rename_globals(program: Program) -> Changed | None:
    """Every variable of the module."""
    names = names_of(program)

    def chosen(binding: Binding) -> bool:
        return (
            binding.scope.kind == "module"
            and binding.kinds == {"variable"}
            and not COLLECTED.match(binding.name)
            and not names.spelled(binding.name)
            and binding.name not in names.keywords
        )

    return _renamed(program, chosen, lambda binding: "G" if binding.name.isupper() else "g")


def rename_functions(program: Program) -> Changed | None:
    """Every function of a module or a function, with its underscore; methods stay, and so do
    fixtures, which parameters name."""
    names, fixtures = names_of(program), _fixtures(program)

    def chosen(binding: Binding) -> bool:
        return (
            binding.scope.kind in ("module", "function")
            and binding.kinds == {"function"}
            and binding.name not in fixtures
            and not COLLECTED.match(binding.name)
            and not names.spelled(binding.name)
        )

    return _renamed(program, chosen, lambda binding: f"{underscores(binding.name)}f")


def rename_classes(program: Program) -> Changed | None:
    """Every class, with its underscore."""
    names = names_of(program)

    def chosen(binding: Binding) -> bool:
        return (
            binding.kinds == {"class"}
            and binding.scope.kind != "class"
            and not COLLECTED.match(binding.name)
            and not names.text_mentions(binding.name)
        )

    return _renamed(program, chosen, lambda binding: f"{underscores(binding.name)}K")


def rename_parameters(program: Program) -> Changed | None:
    """Every parameter that no call of the file names, also by `**values`, but for `self` and those
    that a framework may name: of tests, fixtures and what is inherited from others than
    torch.nn.Module."""
    names = names_of(program)
    kept = _kept_parameters(program)

    def chosen(binding: Binding) -> bool:
        return (
            binding.kinds <= {"parameter", "variable"}
            and "parameter" in binding.kinds
            and binding.name not in names.keywords
            and not names.spelled(binding.name)
            and getattr(getattr(binding.scope.node, "name", None), "value", "") not in names.spread
            and (binding.scope.node, binding.name) not in kept
        )

    return _renamed(program, chosen, lambda binding: "p")


# --- how -----------------------------------------------------------------------------------


def _is_local(binding: Binding) -> bool:
    return binding.scope.kind in ("function", "comprehension") and binding.kinds == {"variable"}


def underscores(name: str) -> str:
    return name[: len(name) - len(name.lstrip("_"))]


def _renamed(
    program: Program, chosen: Callable[[Binding], bool], prefix: Callable[[Binding], str]
) -> Changed | None:
    """A program with other names for some bindings; None where there are none."""
    names = names_of(program)
    if names.is_reflective:
        return None
    fresh = fresh_names(names)
    edits: list[Edit] = []
    for binding in names.bindings:
        if not binding.name.strip("_") or binding.name.startswith("__") or not chosen(binding):
            continue
        new = fresh(prefix(binding))
        edits += (edit_of(program, node, new) for node in binding.nodes)
        if "parameter" in binding.kinds:
            edits += _in_docstring(program, binding.scope, binding.name, new)
    return {MAIN: edited(program, edits)} if edits else None


def fresh_names(names: Names) -> Callable[[str], str]:
    """Gives names that nothing has yet."""
    taken = set(names.all)

    def give(prefix: str) -> str:
        number = 1
        while f"{prefix}{number}" in taken:
            number += 1
        taken.add(f"{prefix}{number}")
        return f"{prefix}{number}"

    return give


def edit_of(program: Program, node: cst.Name, new: str) -> Edit:
    start, end = program.positions.range(node)
    return start, end, new


def _in_docstring(program: Program, scope: Scope, name: str, new: str) -> Iterator[Edit]:
    """The places in a function's docstring, or its class's, that stand for a parameter."""
    owners = [scope.node, scope.parent.node if scope.parent is not None else None]
    for owner in owners:
        if not isinstance(owner, (cst.FunctionDef, cst.ClassDef)):
            continue
        first = owner.body.body[0] if owner.body.body else None
        small = first.body[0] if isinstance(first, cst.SimpleStatementLine) else first
        if not isinstance(small, cst.Expr) or not isinstance(small.value, cst.SimpleString):
            continue
        start, end = program.positions.range(small.value)
        before = r"(?:^[ \t]*|`|:param(?: [\w.]+)? |:type )"
        word = rf"{before}(?P<name>{name})(?=`| ?\(|[ \t]*:)"
        for found in re.finditer(word, program.text[start:end], re.MULTILINE):
            yield start + found.start("name"), start + found.end("name"), new


def _fixtures(program: Program) -> set[str]:
    functions = (scope.node for scope in names_of(program).scopes)
    return {
        node.name.value
        for node in functions
        if isinstance(node, cst.FunctionDef)
        and any(_last_word(each.decorator) == "fixture" for each in node.decorators)
    }


def _kept_parameters(program: Program) -> set[tuple[cst.CSTNode, str]]:
    names = names_of(program)
    kept: set[tuple[cst.CSTNode, str]] = set()
    for scope in names.scopes:
        node = scope.node
        if not isinstance(node, cst.FunctionDef):
            continue
        own = [param.name.value for param in parameters(node.params)]
        is_method = scope.parent is not None and scope.parent.kind == "class"
        plain = all(_last_word(each.decorator) != "fixture" for each in node.decorators)
        if (
            COLLECTED.match(node.name.value)
            or not plain
            or (is_method and not is_ours(names, scope.parent))
        ):
            kept |= {(node, name) for name in own}
        elif is_method and own:
            kept.add((node, own[0]))
    return kept


def _last_word(node: cst.CSTNode) -> str:
    if isinstance(node, cst.Call):
        return _last_word(node.func)
    if isinstance(node, cst.Attribute):
        return node.attr.value
    return node.value if isinstance(node, cst.Name) else ""


def is_ours(names: Names, scope: Scope | None, modules: bool = True) -> bool:
    """Whether all bases of a class are in the file, or `object`; or torch's Module."""
    assert scope is not None
    node = scope.node
    assert isinstance(node, cst.ClassDef)
    for base in node.bases:
        binding = names.meaning.get(base.value) if isinstance(base.value, cst.Name) else None
        if binding is not None and binding.kinds == {"class"}:
            inner = next(s for s in names.scopes if _name_of(s.node) is binding.nodes[0])
            if not is_ours(names, inner, modules):
                return False
        elif _last_word(base.value) != "object" and not (
            modules and _last_word(base.value) == "Module"
        ):
            return False
    return True


def _name_of(node: cst.CSTNode) -> cst.CSTNode | None:
    return node.name if isinstance(node, cst.ClassDef) else None


# --- files ---------------------------------------------------------------------------------


def renamed_file(name: str) -> Callable[[Program], Changed | None]:
    """The same program as another file."""

    def rename(program: Program) -> Changed | None:
        lines: list[Line] = unchanged(program)
        return {name: lines}

    return rename
