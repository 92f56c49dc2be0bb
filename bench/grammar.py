"""What the grammars of generate.py share: rows with the production that made them, names, and the
ways in which a tensor gets its place.

A program that comes out of the grammar runs on a machine without accelerators: shapes and types
are right. Where its tensors are is left to chance: each place is right as often as the program's
`care` says.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

WIDTH = 4
"""Every tensor of a program that flows through a model is of shape (batch, WIDTH)."""

_PLAIN = {
    "class": "Net Block Encoder Head Model Layer Decoder Stage Mixer Adapter".split(),
    "function": "helper step apply_noise mix scale blend prepare process combine adjust".split(),
    "tensor": "x y h out z hidden feat noise mask w t v u scores idx table bias".split(),
    "module": "fc proj layer embed norm gate inner head body core".split(),
    "attribute": "scale mask table weight offset order stats shift basis cache".split(),
    "file": "helpers models layers utils common losses".split(),
    "object": "trainer runner engine session worker job".split(),
    "other": "a b c k n total value result item config parts state".split(),
    "loader": "loader train_loader batches data dataloader".split(),
    "model": "model net network encoder".split(),
    "device": "device dev target_device".split(),
}
"""Names as people give them."""

_SYLLABLES = "ba ce di fo gu ka le mi no pu ra se ti vo wu za".split()


class Names:
    """Gives names that a program hasn't used: those of a habit, or syllables that say nothing."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice
        self._used: set[str] = set()
        self._are_plain = dice.random() < 0.6

    def new(self, sort: str) -> str:
        """A name for a thing of a sort."""
        word = self._word(sort)
        while word in self._used:
            word = self._word(sort) if self._dice.random() < 0.5 else self._numbered(word)
        self._used.add(word)
        return word

    def _word(self, sort: str) -> str:
        if self._are_plain:
            return self._dice.choice(_PLAIN[sort])
        word = "".join(self._dice.choice(_SYLLABLES) for _ in range(self._dice.randint(2, 4)))
        return word.capitalize() if sort == "class" else word

    def _numbered(self, word: str) -> str:
        return f"{word.rstrip('0123456789')}{self._dice.randint(2, 99)}"


@dataclass
class Rows:
    """Rows of Python, each with the production that it comes from."""

    rows: list[tuple[str, str]] = field(default_factory=list)
    depth: int = 0

    def add(self, text: str, production: str) -> None:
        """One row."""
        self.rows.append(("    " * self.depth + text if text else "", production))

    @contextlib.contextmanager
    def under(self, header: str, production: str) -> Iterator[None]:
        """The body of a header."""
        self.add(header, production)
        self.depth += 1
        yield
        self.depth -= 1


@dataclass(frozen=True)
class Program:
    """Files that run from one of them, `MAIN`, with the production of each row."""

    files: Mapping[str, str]
    productions: Mapping[tuple[str, int], str] = field(default_factory=dict)


MAIN = "train.py"


@dataclass
class Place:
    """How a thing that is made gets to where another one is.

    Attributes:
        keyword: what stands among the arguments of a factory, as `, device=x.device`.
        move: what is called behind, as `.to(x)`.
        name: how this is counted.
    """

    keyword: str
    move: str
    name: str


@dataclass
class Chance:
    """The dice of a program, with what is asked of them everywhere."""

    dice: random.Random
    names: Names
    care: float
    """How often a place is right."""
    device: str = ""
    """An expression for the device of the program, where all of it can see one."""

    def one_in(self, count: int) -> bool:
        return self.dice.randrange(count) == 0

    def pick(self, options: Sequence[str]) -> str:
        return self.dice.choice(options)

    def is_right(self) -> bool:
        return self.dice.random() < self.care

    def beside(self, tensor: str, devices: Sequence[str] = ()) -> Place:
        """How something is made where a tensor is, or, without care, is not.

        Args:
            tensor: the name of it.
            devices: expressions that name where it is as well.
        """
        if self.is_right():
            options = [
                Place(f", device={tensor}.device", "", "device-of"),
                Place("", f".to({tensor}.device)", "moved-to-device-of"),
                Place("", f".to({tensor})", "moved-to-other"),
                *(Place(f", device={each}", "", "device-given") for each in devices),
                *(Place("", f".to({each})", "moved-to-device") for each in devices),
            ]
            return self.dice.choice(options)
        options = [Place("", "", "host")] * 4 + [
            Place(', device="cpu"', "", "host-named"),
            Place("", ".cpu()", "moved-to-host"),
            Place("", ".cuda()", "moved-to-cuda"),
            Place(', device="cuda"', "", "cuda-named"),
        ]
        return self.dice.choice(options)
