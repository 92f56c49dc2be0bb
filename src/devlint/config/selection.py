"""Which rules run: selectors (`DEV202`, `DEV1`, `discarded-move`, `ALL`) to codes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING

from devlint.config.settings import Selectors, Settings, SettingsError, brief, nearest
from devlint.model.findings import Level

if TYPE_CHECKING:
    from devlint.config.rulebook import Page

ALL = "ALL"
FAILURES = frozenset({"DEV001", "DEV003"})
"""A file that couldn't be checked is told whatever was selected; only `ignore` silences it."""
_BUT_FOR_A_LETTER = 5 / 6
"""How much two codes are alike of which all letters but one are the same."""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The codes there are: their names, and which run without being asked for."""

    names: Mapping[str, str] = field(hash=False)
    default: frozenset[str]
    former: Mapping[str, frozenset[str]] = field(default_factory=dict, hash=False, compare=False)
    """By a code or a name that isn't used any more: the codes of the rules that it stands for."""

    def codes(self, selector: str) -> frozenset[str]:
        """The codes that a selector stands for, none where it is unknown."""
        if selector.upper() == ALL:
            return frozenset(self.names)
        if selector in self.names.values():
            return frozenset(code for code, name in self.names.items() if name == selector)
        if (parts := self.former.get(selector) or self.former.get(selector.upper())) is not None:
            return parts
        if not selector:
            return frozenset()
        return frozenset(code for code in self.names if code.startswith(selector.upper()))

    def suggestion(self, selector: str) -> str:
        """What an unknown selector may mean: a name that is alike, or a code but for a letter."""
        if selector == selector.lower():
            hint = nearest(selector, self.names.values())
        else:
            hint = nearest(selector, (*self.names, ALL), _BUT_FOR_A_LETTER)
        return hint or "; `devlint rule --all` lists the rules"


@cache
def catalogue() -> Catalogue:
    """Every rule that has a page."""
    from devlint.config.rulebook import pages  # reads fifty files, which a warm run needn't

    return catalogue_of(pages().values())


def catalogue_of(pages: Iterable[Page]) -> Catalogue:
    """A catalogue of the given pages."""
    found = sorted(pages, key=lambda page: page.code)
    former: dict[str, frozenset[str]] = {}
    for page in found:
        for word in page.formerly:
            former[word] = former.get(word, frozenset()) | {page.code}
    return Catalogue(
        {page.code: page.name for page in found},
        frozenset(page.code for page in found if page.level is not Level.OFF),
        former,
    )


@cache
def select(layers: tuple[Selectors, ...], rules: Catalogue) -> frozenset[str]:
    """The codes that are on.

    Within a layer the more specific selector wins (a name or a whole code over `DEV20` over
    `DEV2` over `ALL`), and `ignore` wins over `select` where they are equally so. A layer with
    `select` starts afresh, another adds to the layers before. A level of `off` leaves rules out
    until a layer gives them another level, or selects them. Raises `SettingsError` for an unknown
    selector.
    """
    chosen, off = rules.default | FAILURES, frozenset[str]()
    for layer in layers:
        wanted = [(item, _ON) for item in (*(layer.select or ()), *layer.extend_select)]
        unwanted = [(item, _IGNORED) for item in layer.ignore]
        levels = [(item, level) for item, level in layer.levels]
        if layer.select is not None:
            chosen, off = FAILURES, frozenset()
        # A stable sort keeps what leaves out after `select` among equals.
        order = sorted(wanted + unwanted + levels, key=lambda item: _specificity(item[0]))
        for selector, what in order:
            codes = _codes(selector, rules, layer.source)
            off = off | codes if what == Level.OFF.value else off - codes
            if what in (_ON, _IGNORED):
                chosen = chosen | codes if what == _ON else chosen - codes
    return chosen - off


_ON, _IGNORED = "selected", "ignored"


@cache
def levels(layers: tuple[Selectors, ...], rules: Catalogue) -> Mapping[str, Level]:
    """The level that the settings give to codes; the others have that of their page, or of what a
    rule says. A stronger layer wins, and within one the more specific selector."""
    found: dict[str, Level] = {}
    for layer in layers:
        for selector, level in sorted(layer.levels, key=lambda item: _specificity(item[0])):
            for code in _codes(selector, rules, layer.source):
                found[code] = Level(level)
    return {code: level for code, level in found.items() if level is not Level.OFF}


def _specificity(selector: str) -> int:
    if selector.upper() == ALL:
        return 0
    return 99 if selector == selector.lower() else len(selector)


def _codes(selector: str, rules: Catalogue, source: str) -> frozenset[str]:
    codes = rules.codes(selector)
    if not codes:
        raise SettingsError(
            f"{source}: unknown rule selector `{brief(selector)}`{rules.suggestion(selector)}"
        )
    return codes


def validate(settings: Settings, rules: Catalogue) -> None:
    """Raise `SettingsError` for a selector that stands for no rule."""
    select(settings.selectors, rules)
    fixable(settings, rules)
    for _, selectors in settings.ignores:
        for selector in selectors:
            _codes(selector, rules, "per-file-ignores")


def fixable(settings: Settings, rules: Catalogue) -> frozenset[str]:
    """The codes whose fixes are offered and applied: all, unless the settings say otherwise."""
    return select(settings.fix_selectors, replace(rules, default=frozenset(rules.names)))


def codes_for(settings: Settings, path: str, rules: Catalogue) -> frozenset[str]:
    """The codes that are on in the file at an absolute path."""
    chosen = select(settings.selectors, rules)
    for glob, selectors in settings.ignores:
        if _matches(glob, path):
            chosen = chosen.difference(*(_codes(item, rules, glob) for item in selectors))
    return chosen


def _matches(glob: str, path: str) -> bool:
    from devlint.config.patterns import matcher

    negated = glob.startswith("!")
    name = path.replace("\\", "/").rpartition("/")[2]
    return matcher((glob[1:] if negated else glob,)).matches(path, name) is not negated
