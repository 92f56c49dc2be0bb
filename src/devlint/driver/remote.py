"""What a worker elsewhere does with a unit, and how what it says is checked.

Sources travel as paths: a worker reads the files where the driver reads them, on a shared disk. It
hands back a hash of each content and of all that a result hangs on, which the driver compares with
what it reads itself: a worker that sees something else is found out.
"""

from __future__ import annotations

import gc
import hashlib
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, lru_cache
from itertools import count

from devlint import __version__
from devlint.config.settings import Settings
from devlint.config.sources import Source
from devlint.driver.engine import stamp
from devlint.driver.executing import RefusedError
from devlint.driver.others import Others
from devlint.driver.pool import collected_rarely
from devlint.driver.run import Outcome, check_file
from devlint.driver.units import Read

_NO_SHARED = "a worker has read something else {what}: its files are not those of this machine"

_MOST_UNITS = 32
"""Units of which something is remembered: neighbours, which follow each other, import the same."""
_units = count()

_one_at_a_time = threading.Lock()
"""What is remembered of files belongs to one thread; workers may have several."""


@dataclass(frozen=True, slots=True)
class Version:
    """All of a Python and its devlint that findings depend on."""

    devlint: str
    python: str
    libcst: str
    code: str
    """A hash of devlint's code, rules and tables."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What driver and workers have to agree on: which devlint, and what settings mean to it."""

    version: Version
    settings: frozenset[str]
    run: str
    """A word for the run: what is remembered of files isn't used in another one."""


@cache
def version() -> Version:
    """What this process is."""
    from importlib.metadata import version as version_of

    python = ".".join(map(str, sys.version_info[:2]))
    return Version(__version__, python, version_of("libcst"), stamp())


def meaning(settings: Settings) -> str:
    """A hash of all in settings that findings depend on."""
    return hashlib.blake2b(settings.decisive().encode(), digest_size=16).hexdigest()


def greet(terms: Terms) -> None:
    """What a worker is asked first. Raises `RefusedError` where it is another devlint."""
    own = version()
    pairs = ((each.name, getattr(own, each.name), getattr(terms.version, each.name))
             for each in fields(Version))  # fmt: skip
    for name, here, there in pairs:
        if here != there:
            raise RefusedError(f"its {name} is {_brief(here)}, and here it is {_brief(there)}")


def _brief(text: str) -> str:
    """A version, or the start of a hash."""
    return text if "." in text else text[:12]


def lint(terms: Terms, unit: Sequence[Source]) -> list[Outcome]:
    """Lint the files of a unit. Raises `RefusedError` where this is another devlint."""
    greet(terms)
    if not {meaning(source.settings) for source in unit} <= terms.settings:
        raise RefusedError("it takes the settings for others than they are here")
    with _one_at_a_time:
        _begin(terms.run, next(_units) // _MOST_UNITS)
        with collected_rarely():
            outcomes = [check_file(source) for source in unit]
            gc.collect()  # what was there before isn't walked
        return outcomes


@lru_cache(maxsize=1)
def _begin(_run: str, _turn: int) -> None:
    """Forget what earlier runs of this process have seen of files, and now and then what this one
    has: a worker may see millions."""
    from devlint.project.importing import forget
    from devlint.project.plan import prepare

    prepare.cache_clear()
    forget()
    gc.collect()


class Checker:
    """Compares what workers have read with what this machine reads."""

    def __init__(self, contents: Mapping[str, Read]) -> None:
        self._contents = contents
        self._others = Others((), {})

    def checked(self, source: Source, outcome: Outcome) -> Outcome:
        """What came of a file, or that it counts for nothing."""
        if outcome.error:
            return outcome
        read = self._contents[source.path]
        if outcome.digest != read.digest:
            return Outcome(failed=True, error=_NO_SHARED.format(what="in its place"))
        if not self._others.unchanged(outcome.consulted):
            return Outcome(failed=True, error=_NO_SHARED.format(what="of what it hangs on"))
        return replace(outcome, look=read.look)


def terms_of(settings: Iterable[Settings], run: str) -> Terms:
    """What workers have to agree on for a run with these settings."""
    return Terms(version(), frozenset(map(meaning, settings)), run)
