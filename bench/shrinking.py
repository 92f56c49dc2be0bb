"""Makes a program small while something about it stays as it is."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping

Files = Mapping[str, str]


def shrunk(files: Files, stays: Callable[[Files], bool], most: int = 600) -> Files:
    """The smallest files that were found in so many tries: statements are dropped, and blocks are
    replaced by what is in them, as long as `stays` says yes."""
    small: Files = {file: _text(ast.parse(text)) for file, text in files.items()}
    if not stays(small):
        return files
    before: Files = {}
    while before != small and most > 0:
        before, number = small, 0
        while most > 0 and (smaller := _changed(small, number)) is not None:
            if smaller == small:
                number += 1
                continue
            most -= 1
            if stays(smaller):
                small = smaller  # what had the next number has this one now
            else:
                number += 1
    return {file: text for file, text in small.items() if text.strip()}


def _changed(files: Files, number: int) -> Files | None:
    """The files after the change of a number, or nothing where there are fewer changes."""
    for file, text in files.items():
        tree = ast.parse(text)
        for body in _bodies(tree):
            for at in reversed(range(len(body))):
                ways = [list[ast.stmt](), *_inner(body[at])]
                if number >= len(ways):
                    number -= len(ways)
                    continue
                body[at : at + 1] = ways[number]
                if not body and body is not tree.body:
                    body.append(ast.Pass())
                return {**files, file: _text(tree)}
    return None


def _text(tree: ast.Module) -> str:
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _bodies(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    for node in list(ast.walk(tree)):
        for _, value in ast.iter_fields(node):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                yield value


def _inner(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    """What a statement may be replaced by."""
    if isinstance(node, (ast.If, ast.For, ast.With)):
        yield node.body
    if isinstance(node, (ast.If, ast.For)) and node.orelse:
        yield node.orelse
