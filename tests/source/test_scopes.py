"""Which names can be typed where."""

from __future__ import annotations

import ast

import pytest

from devlint.source.scopes import Scopes

CODE = Scopes(
    ast.parse("""\
import torch as t
from os import path

top = 1


def outer(given, *rest, key=None, **more):
    first = late
    with open(given) as file, lock:
        for i, (j, k) in rest:
            here = i
    def inner(own):
        return own
    values = [each for each in rest]
    late = 2
    return first


class Kept:
    field = 3

    def method(self):
        return top


after = 4
""")
)


@pytest.mark.parametrize(
    ("name", "row", "bound"),
    [
        ("t", 8, True),
        ("torch", 8, False),
        ("path", 8, True),
        ("top", 8, True),
        ("top", 4, False),
        ("given", 8, True),
        ("rest", 8, True),
        ("key", 8, True),
        ("more", 8, True),
        ("late", 8, False),
        ("late", 16, True),
        ("file", 10, True),
        ("k", 11, True),
        ("inner", 14, True),
        ("own", 14, False),
        ("given", 13, True),
        ("each", 15, False),
        ("after", 8, True),
        ("field", 23, False),
        ("Kept", 23, True),
        ("nowhere", 8, False),
    ],
)
def test_what_is_bound(name: str, row: int, bound: bool) -> None:
    assert CODE.is_bound(name, row) is bound
