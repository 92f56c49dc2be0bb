"""What the names of a program mean: which of them are one variable, parameter or function."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import libcst as cst
from metamorphic.program import Program


@dataclass(eq=False)
class Binding:
    """A name of one scope: what binds it ("variable", "parameter", "function" ...), and every
    node that stands for it."""

    name: str
    scope: Scope
    kinds: set[str] = field(default_factory=set)
    nodes: list[cst.Name] = field(default_factory=list)
    stores: int = 0


@dataclass(eq=False)
class Scope:
    """`kind` is "module", "class", "function" or "comprehension"; a lambda is a function."""

    kind: str
    node: cst.CSTNode
    parent: Scope | None = None
    bindings: dict[str, Binding] = field(default_factory=dict)
    elsewhere: dict[str, str] = field(default_factory=dict)
    """Names that are declared `global` or `nonlocal`."""

    def find(self, name: str) -> Binding | None:
        """What a name means here; None for what nothing in the file binds."""
        scope: Scope | None = self
        if self.elsewhere.get(name) == "global":
            while scope is not None and scope.kind != "module":
                scope = scope.parent
        elif name in self.elsewhere:
            scope = self.parent
        while scope is not None:
            if name in scope.bindings and (scope is self or scope.kind != "class"):
                return scope.bindings[name]
            scope = scope.parent
        return None


@dataclass(eq=False)
class Names:
    """All names of a program."""

    scopes: list[Scope]
    uses: list[tuple[Scope, cst.Name]]
    attributes: list[tuple[Scope, cst.Attribute]]
    keywords: set[str]
    strings: set[str]
    spread: set[str] = field(default_factory=set)
    """The functions that a call gives `**values`, whose keys are names of their parameters."""
    meaning: dict[cst.Name, Binding] = field(default_factory=dict)

    @property
    def bindings(self) -> Iterator[Binding]:
        for scope in self.scopes:
            yield from scope.bindings.values()

    @property
    def all(self) -> set[str]:
        """Every word that stands for something."""
        words = {node.value for _, node in self.uses} | self.keywords | self.strings
        return words | {node.attr.value for _, node in self.attributes}

    @property
    def is_reflective(self) -> bool:
        """Whether the program looks at its own names."""
        builtin = {node.value for scope, node in self.uses if scope.find(node.value) is None}
        return bool(builtin & {"locals", "globals", "vars", "eval", "exec", "dir"})

    def spelled(self, name: str) -> bool:
        """Whether a string spells a name, as `getattr`, `__all__` or an option do."""
        return name in self.strings

    def text_mentions(self, name: str) -> bool:
        return any(re.search(rf"\b{re.escape(name)}\b", text) for text in self.strings)


def names_of(program: Program) -> Names:
    """The names of a program. They are found once."""
    found: Names | None = getattr(program, "names", None)
    if found is None:
        visitor = _Visitor(program.tree)
        program.tree.visit(visitor)
        found = visitor.names
        for scope, node in found.uses:
            binding = scope.find(node.value)
            if binding is not None:
                binding.nodes.append(node)
                found.meaning[node] = binding
        program.names = found  # type: ignore[attr-defined]
    return found


def targets(node: cst.CSTNode) -> Iterator[cst.Name]:
    """The names that an assignment to an expression binds."""
    if isinstance(node, cst.Name):
        yield node
    elif isinstance(node, (cst.Tuple, cst.List)):
        for element in node.elements:
            yield from targets(element.value)


def parameters(params: cst.Parameters) -> list[cst.Param]:
    """All parameters, in order."""
    stars = [each for each in (params.star_arg, params.star_kwarg) if isinstance(each, cst.Param)]
    return [*params.posonly_params, *params.params, *params.kwonly_params, *stars]


NO_STARS = ("", cst.MaybeSentinel.DEFAULT)
"""The star of a parameter that has none."""


class Collected(cst.CSTVisitor):
    """All names in a piece of a program, and the kinds of its nodes."""

    def __init__(self) -> None:
        self.names: list[cst.Name] = []
        self.kinds: set[type[cst.CSTNode]] = set()

    def visit_Name(self, node: cst.Name) -> None:
        self.names.append(node)

    def on_visit(self, node: cst.CSTNode) -> bool:
        self.kinds.add(type(node))
        return bool(super().on_visit(node))


class _Visitor(cst.CSTVisitor):
    def __init__(self, tree: cst.Module) -> None:
        self.scope = Scope("module", tree)
        self.names = Names([self.scope], [], [], set(), set())

    @contextmanager
    def _inside(self, kind: str, node: cst.CSTNode) -> Iterator[None]:
        outer, self.scope = self.scope, Scope(kind, node, self.scope)
        self.names.scopes.append(self.scope)
        yield
        self.scope = outer

    def _bind(self, node: cst.Name, kind: str, scope: Scope | None = None) -> None:
        scope = scope or self.scope
        if node.value not in scope.elsewhere:
            binding = scope.bindings.setdefault(node.value, Binding(node.value, scope))
        else:
            found = scope.find(node.value)
            if found is None:
                return
            binding = found
        binding.kinds.add(kind)
        binding.stores += 1

    def _bind_all(self, node: cst.CSTNode) -> None:
        for name in targets(node):
            self._bind(name, "variable")

    # --- uses ---

    def visit_Name(self, node: cst.Name) -> None:
        self.names.uses.append((self.scope, node))

    def visit_Attribute(self, node: cst.Attribute) -> bool:
        self.names.attributes.append((self.scope, node))
        node.value.visit(self)
        return False

    def visit_Call(self, node: cst.Call) -> None:
        function = node.func.attr if isinstance(node.func, cst.Attribute) else node.func
        spreads = any(each.star == "**" for each in node.args)
        if spreads and isinstance(function, cst.Name):
            self.names.spread.add(function.value)

    def visit_Arg(self, node: cst.Arg) -> bool:
        if node.keyword is not None:
            self.names.keywords.add(node.keyword.value)
        node.value.visit(self)
        return False

    def visit_SimpleString(self, node: cst.SimpleString) -> None:
        value = node.evaluated_value
        if isinstance(value, str):
            self.names.strings.add(value)
            if value.startswith("-"):  # an option of a command line
                self.names.strings.add(value.lstrip("-").replace("-", "_"))

    # --- what binds ---

    def visit_AssignTarget(self, node: cst.AssignTarget) -> None:
        self._bind_all(node.target)

    def visit_AnnAssign(self, node: cst.AnnAssign) -> None:
        self._bind_all(node.target)

    def visit_AugAssign(self, node: cst.AugAssign) -> None:
        self._bind_all(node.target)

    def visit_For(self, node: cst.For) -> None:
        self._bind_all(node.target)

    def visit_Del(self, node: cst.Del) -> None:
        self._bind_all(node.target)

    def visit_AsName(self, node: cst.AsName) -> None:
        self._bind_all(node.name)

    def visit_NamedExpr(self, node: cst.NamedExpr) -> None:
        scope = self.scope
        while scope.kind == "comprehension" and scope.parent is not None:
            scope = scope.parent
        for name in targets(node.target):
            self._bind(name, "variable", scope)

    def visit_MatchAs(self, node: cst.MatchAs) -> None:
        if node.name is not None:
            self._bind(node.name, "variable")

    def visit_MatchStar(self, node: cst.MatchStar) -> None:
        if node.name is not None:
            self._bind(node.name, "variable")

    def visit_MatchMapping(self, node: cst.MatchMapping) -> None:
        if node.rest is not None:
            self._bind(node.rest, "variable")

    def visit_MatchKeywordElement(self, node: cst.MatchKeywordElement) -> bool:
        node.pattern.visit(self)
        return False

    def visit_Global(self, node: cst.Global) -> None:
        for item in node.names:
            self.scope.elsewhere[item.name.value] = "global"

    def visit_Nonlocal(self, node: cst.Nonlocal) -> None:
        for item in node.names:
            self.scope.elsewhere[item.name.value] = "nonlocal"

    def visit_Import(self, node: cst.Import) -> bool:
        return self._imported(node.names)

    def visit_ImportFrom(self, node: cst.ImportFrom) -> bool:
        return self._imported(() if isinstance(node.names, cst.ImportStar) else node.names)

    def _imported(self, aliases: tuple[cst.ImportAlias, ...] | object) -> bool:
        for alias in aliases:  # type: ignore[attr-defined]
            name = alias.name if alias.asname is None else alias.asname.name
            while isinstance(name, cst.Attribute):
                name = name.value
            self._bind(name, "import")
            self.names.uses.append((self.scope, name))
        return False

    # --- scopes ---

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        self._bind(node.name, "function")
        self.names.uses.append((self.scope, node.name))
        for decorator in node.decorators:
            decorator.visit(self)
        if node.returns is not None:
            node.returns.visit(self)
        self._function(node, node.params, node.body)
        return False

    def visit_Lambda(self, node: cst.Lambda) -> bool:
        self._function(node, node.params, node.body)
        return False

    def _function(self, node: cst.CSTNode, params: cst.Parameters, body: cst.CSTNode) -> None:
        own = parameters(params)
        for param in own:
            for part in (param.default, param.annotation):
                if part is not None:
                    part.visit(self)
        with self._inside("function", node):
            for param in own:
                self._bind(param.name, "parameter")
                self.names.uses.append((self.scope, param.name))
            body.visit(self)

    def visit_ClassDef(self, node: cst.ClassDef) -> bool:
        self._bind(node.name, "class")
        self.names.uses.append((self.scope, node.name))
        for part in (*node.decorators, *node.bases, *node.keywords):
            part.visit(self)
        with self._inside("class", node):
            node.body.visit(self)
        return False

    def _comprehension(self, node: cst.BaseComp, *elements: cst.CSTNode) -> bool:
        node.for_in.iter.visit(self)
        with self._inside("comprehension", node):
            clause: cst.CompFor | None = node.for_in
            while clause is not None:
                self._bind_all(clause.target)
                clause.target.visit(self)
                if clause is not node.for_in:
                    clause.iter.visit(self)
                for test in clause.ifs:
                    test.visit(self)
                clause = clause.inner_for_in
            for element in elements:
                element.visit(self)
        return False

    def visit_ListComp(self, node: cst.ListComp) -> bool:
        return self._comprehension(node, node.elt)

    def visit_SetComp(self, node: cst.SetComp) -> bool:
        return self._comprehension(node, node.elt)

    def visit_GeneratorExp(self, node: cst.GeneratorExp) -> bool:
        return self._comprehension(node, node.elt)

    def visit_DictComp(self, node: cst.DictComp) -> bool:
        return self._comprehension(node, node.key, node.value)
