"""The settings: every key with its type, default and meaning, declared once.

`[tool.devlint]`, the command line, `devlint config` and the JSON Schema all follow the fields of
`Settings`. `configuration` finds and reads the files; this module checks and merges what they hold.
"""

from __future__ import annotations

import json
import reprlib
from collections.abc import Iterable, Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any

from devlint.config.patterns import is_pattern, rebase
from devlint.config.shapes import LEVELS, Shape, is_extension
from devlint.safety import files

DEFAULT_INCLUDE = ("*.py", "*.pyi", "*.ipynb")
DEFAULT_EXCLUDE = (
    ".bzr", ".direnv", ".eggs", ".git", ".git-rewrite", ".hg", ".ipynb_checkpoints", ".mypy_cache",
    ".nox", ".pants.d", ".pyenv", ".pytest_cache", ".pytype", ".ruff_cache", ".devlint_cache",
    ".svn", ".tox", ".venv", ".vscode", "__pycache__", "__pypackages__", "_build", "buck-out",
    "build", "dist", "node_modules", "site-packages", "venv", ".#*",
)  # fmt: skip
"""Version control, environments, caches, what builds make; `.#*` are an editor's locks."""

PATTERNS = ("include", "exclude", "extend-exclude", "per-file-ignores", "extend-per-file-ignores")
"""The keys whose values are patterns of paths, or tables by such patterns."""
MOST_PATTERNS = 1000
"""Of one key: each file is compared with all of them."""


class SettingsError(Exception):
    """The user's settings can't be used; the text says where and why, on one line."""


def _key(shape: Shape, doc: str, writes: bool = False, in_files: bool = True) -> dict[str, Any]:
    """What is known of a key. One that decides what devlint `writes` is none of a configuration
    file: that is part of what is linted. What is asked for once is none `in_files` either."""
    return {"shape": shape, "doc": doc, "writes": writes, "in_files": in_files and not writes}


@dataclass(frozen=True, slots=True)
class Selectors:
    """What one layer says of the rules, those that run or those whose fixes are applied: `select`
    starts afresh, None leaves what was chosen."""

    source: str
    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    levels: tuple[tuple[str, str], ...] = ()


Globs = tuple[str, ...]
IgnoresByGlob = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class Settings:
    """What holds for a file. It is hashable, so that what follows from it is worked out once.

    Patterns of paths have been made absolute, see `patterns.rebase`; `torchapi` is JSON.
    """

    extend: str = field(
        default="",
        metadata=_key(
            Shape.STRING, "Another configuration file to inherit from; this file's keys win."
        ),
    )
    select: tuple[str, ...] | None = field(
        default=None,
        metadata=_key(
            Shape.STRINGS,
            "The rules to run: codes, prefixes of codes (`DEV1`), names, or `ALL`. By default all "
            "whose level isn't `off`.",
        ),
    )
    extend_select: tuple[str, ...] = field(
        default=(), metadata=_key(Shape.STRINGS, "Rules to run besides those selected.")
    )
    ignore: tuple[str, ...] = field(
        default=(),
        metadata=_key(Shape.STRINGS, "Rules to leave out. The longer prefix wins over `select`."),
    )
    levels: tuple[tuple[str, str], ...] = field(
        default=(),
        metadata=_key(
            Shape.LEVELS,
            "The level of the findings of rules: `error` or `warning`, or `off` to leave a rule "
            'out, such as `{ DEV1 = "error", DEV104 = "off" }`. The longer prefix wins. No level '
            "turns a rule on that is off by default: `extend-select` does.",
        ),
    )
    per_file_ignores: IgnoresByGlob = field(
        default=(),
        metadata=_key(
            Shape.TABLE_OF_STRINGS, "Rules to leave out of the files that match a pattern."
        ),
    )
    extend_per_file_ignores: IgnoresByGlob = field(
        default=(), metadata=_key(Shape.TABLE_OF_STRINGS, "The same, added to what is inherited.")
    )
    fixable: tuple[str, ...] | None = field(
        default=None,
        metadata=_key(Shape.STRINGS, "The rules whose fixes are offered and applied; all of them."),
    )
    extend_fixable: tuple[str, ...] = field(
        default=(), metadata=_key(Shape.STRINGS, "The same, added to `fixable`.")
    )
    unfixable: tuple[str, ...] = field(
        default=(),
        metadata=_key(
            Shape.STRINGS,
            "Rules whose fixes are neither offered nor applied. The longer prefix wins over "
            "`fixable`.",
        ),
    )
    include: Globs = field(
        default=DEFAULT_INCLUDE, metadata=_key(Shape.STRINGS, "Which files of a folder are linted.")
    )
    exclude: Globs = field(
        default=DEFAULT_EXCLUDE,
        metadata=_key(Shape.STRINGS, "Files and folders to leave out, in gitignore's notation."),
    )
    extend_exclude: Globs = field(
        default=(), metadata=_key(Shape.STRINGS, "The same, added to `exclude`.")
    )
    default_exclude: bool = field(
        default=True,
        metadata=_key(
            Shape.BOOLEAN,
            "Leave out what `exclude` has by default: version control, environments, caches, what "
            "builds make.",
        ),
    )
    extension: tuple[tuple[str, str], ...] = field(
        default=(),
        metadata=_key(
            Shape.EXTENSIONS,
            "The language of files by their extension, `python`, `ipynb` or `markdown`, "
            'such as `{ md = "markdown" }`. They are found in folders too.',
        ),
    )
    force_exclude: bool = field(
        default=False,
        metadata=_key(
            Shape.BOOLEAN, "Leave out excluded files even if the command line names them."
        ),
    )
    respect_gitignore: bool = field(
        default=True, metadata=_key(Shape.BOOLEAN, "Leave out what git ignores.")
    )
    max_file_size: int = field(
        default=4 * 1024 * 1024,
        metadata=_key(
            Shape.SIZE, "The largest file that is read, in bytes. Larger files are reported."
        ),
    )
    follow_imports: bool = field(
        default=True,
        metadata=_key(
            Shape.BOOLEAN, "Use what other files of the project define, where they are imported."
        ),
    )
    device_types: tuple[str, ...] = field(
        default=(),
        metadata=_key(
            Shape.DEVICE_TYPES,
            'Device types that backend packages add to PyTorch, such as `"npu"`.',
        ),
    )
    torchapi: str = field(
        default="",
        metadata=_key(
            Shape.ROWS,
            "What your own functions do to devices: rows by dotted name, such as "
            '`"mylib.to_device" = { effect = "move", of = [0], device = [1] }`.',
        ),
    )
    policy: tuple[tuple[str, bool], ...] = field(
        default=(),
        metadata=_key(
            Shape.SWITCHES,
            "Rows of policy to turn off, such as `files-of-data = false` or `loaders = false`: "
            "such names of files then withhold no findings, and such other names mean nothing.",
        ),
    )
    pedantic: bool = field(
        default=False,
        metadata=_key(
            Shape.BOOLEAN,
            "Show less certain findings too, which are likelier false than true.",
        ),
    )
    min_confidence: int | None = field(
        default=None,
        metadata=_key(
            Shape.PERCENT,
            "Show the findings with at least this confidence, from 0 to 100; by default those that "
            "are likelier true than false. It replaces `pedantic`, which shows all.",
        ),
    )
    ignore_noqa: bool = field(
        default=False,
        metadata=_key(
            Shape.BOOLEAN,
            "Show findings that a comment suppresses, as if there were no comments.",
            in_files=False,
        ),
    )
    output_format: str = field(
        default="full", metadata=_key(Shape.FORMAT, "How findings are written.")
    )
    fail_on: str = field(
        default="warning",
        metadata=_key(
            Shape.FAILING,
            "The least level of findings that makes the exit code 1: `error`, `warning` for all "
            "that are shown, or `never`. Files that can't be checked make it 2 in any case.",
        ),
    )
    show_fixes: bool = field(
        default=False,
        metadata=_key(Shape.BOOLEAN, "List what was fixed, by file and rule."),
    )
    cache_dir: str = field(
        default="",
        metadata=_key(
            Shape.STRING, "The folder of the cache; by default one of the user's.", writes=True
        ),
    )
    fix: bool = field(
        default=False, metadata=_key(Shape.BOOLEAN, "Apply the safe fixes.", writes=True)
    )
    unsafe_fixes: bool = field(
        default=False,
        metadata=_key(
            Shape.BOOLEAN,
            "With `fix`, also apply fixes that may change what the code does.",
            writes=True,
        ),
    )
    fix_only: bool = field(
        default=False,
        metadata=_key(Shape.BOOLEAN, "Apply fixes and report nothing that is left.", writes=True),
    )

    selectors: tuple[Selectors, ...] = ()
    """`select`, `extend-select`, `ignore` and `levels` of each layer, the strongest last."""
    fix_selectors: tuple[Selectors, ...] = ()
    """The same of `fixable`, `extend-fixable` and `unfixable`."""
    ignores: IgnoresByGlob = ()
    """All of `per-file-ignores` and `extend-per-file-ignores`."""
    torchapi_source: str = ""
    """Where `torchapi` was said last, for error messages."""
    root: str = ""
    """The folder of the nearest configuration file, "" without one."""

    def language_of(self, filename: str) -> str:
        """What a file is read as: one of `files.LANGUAGES`."""
        return files.language_of(filename, self.extension)

    def decisive(self) -> str:
        """All that the findings of a file depend on, as text: what the cache compares."""
        return repr(
            (
                self.selectors,
                self.fix_selectors,
                self.ignores,
                self.extension,
                self.max_file_size,
                self.follow_imports,
                self.device_types,
                self.torchapi,
                sorted(self.policy_off),
                self.least_confidence,
                self.ignore_noqa,
            )
        )

    @property
    def least_confidence(self) -> int | None:
        """The least score of what is shown; None for the one that devlint takes by itself."""
        return 0 if self.pedantic else self.min_confidence

    @property
    def policy_off(self) -> frozenset[str]:
        """The rows of policy that are turned off."""
        return frozenset(name for name, on in self.policy if not on)


@dataclass(frozen=True, slots=True)
class Layer:
    """Checked keys from one place: a file, the environment or the command line.

    `base` is the folder that its relative paths and patterns start from.
    """

    source: str
    base: str
    values: Mapping[str, Any]


def keys() -> dict[str, Field[Any]]:
    """The fields of `Settings` that somebody can set, by key."""
    return {item.name.replace("_", "-"): item for item in fields(Settings) if item.metadata}


def file_keys() -> dict[str, Field[Any]]:
    """Those of them that are keys of a configuration file."""
    return {key: item for key, item in keys().items() if item.metadata["in_files"]}


def nearest(word: str, known: Iterable[str], alike: float = 0.6) -> str:
    """`; did you mean "x"?` for the known word most alike, "" where none is alike enough."""
    import difflib  # a run in which all words are known does without

    matches = difflib.get_close_matches(word, sorted(known), n=1, cutoff=alike)
    return f'; did you mean "{matches[0]}"?' if matches else ""


def check_layer(source: str, base: str, values: Mapping[str, object]) -> Layer:
    """Check the keys and types of what the user says. Raises `SettingsError` naming the source, the
    key and the nearest."""
    return _checked(source, base, values, keys(), "")


def check_file_layer(source: str, base: str, values: Mapping[str, object], prefix: str) -> Layer:
    """The same for what a configuration file says, whose keys stand below a `prefix`."""
    known = file_keys()
    for key in values:
        if key not in known and key in keys():
            why = ", which may not be yours" if keys()[key].metadata["writes"] else ""
            raise SettingsError(
                f"{source}: `{prefix}{key}` can't be set in a configuration file{why}: "
                f"use --{key} on the command line"
            )
    return _checked(source, base, values, known, prefix)


def _checked(
    source: str,
    base: str,
    values: Mapping[str, object],
    known: Mapping[str, Field[Any]],
    prefix: str,
) -> Layer:
    for key, value in values.items():
        if key not in known:
            raise SettingsError(
                f"{source}: unknown key `{prefix}{brief(key)}`{nearest(key, known)}"
            )
        shape: Shape = known[key].metadata["shape"]
        if not shape.accepts(value):
            where, wanted, found = f"{prefix}{key}", shape.value, value
            if shape is Shape.EXTENSIONS and isinstance(value, dict):
                raise SettingsError(f"{source}: {_odd_extension(f'{prefix}{key}', value)}")
            if shape in _OF_ENTRIES and isinstance(value, dict):
                name, found = next(
                    item for item in value.items() if not shape.accepts(dict([item]))
                )
                where, wanted = f'{where}."{brief(name)}"', _OF_ENTRIES[shape]
            hint = nearest(found, shape.words) if isinstance(found, str) else ""
            raise SettingsError(
                f"{source}: `{where}` must be {wanted}, not {_describe(found)}{hint}"
            )
        if key in PATTERNS and isinstance(value, (list, dict)):
            for pattern in value:
                if not is_pattern(pattern):
                    raise SettingsError(
                        f"{source}: `{prefix}{key}`: `{brief(pattern)}` is no pattern"
                    )
        if key == "policy" and isinstance(value, dict):
            from devlint import policy  # other configurations need none of it

            for name in sorted(value.keys() - set(policy.names())):
                raise SettingsError(
                    f"{source}: `{prefix}{key}` has no row `{brief(name)}`"
                    f"{nearest(name, policy.names())}"
                )
    return Layer(source, base, dict(values))


def _odd_extension(where: str, table: Mapping[str, object]) -> str:
    """What is wrong with the first entry of a table of languages that isn't one."""
    for name, language in table.items():
        if not is_extension(name):
            return f"`{where}`: `{brief(name)}` is no extension, as `md` is"
        if language not in files.LANGUAGES:
            word = language if isinstance(language, str) else ""
            return (
                f'`{where}."{brief(name)}"` must be one of {", ".join(files.LANGUAGES)}, not '
                f"{_describe(language)}{nearest(word, files.LANGUAGES)}"
            )
    raise AssertionError(where)


_OF_ENTRIES = {
    Shape.TABLE_OF_STRINGS: Shape.STRINGS.value,
    Shape.SWITCHES: Shape.BOOLEAN.value,
    Shape.LEVELS: f"one of {', '.join(LEVELS)}",
}
"""The shapes of tables, and what stands in them, in words."""


def merge(layers: Iterable[Layer], root: str = "") -> Settings:
    """Settings from layers, the weakest first. Lists of `extend-...` keys add up."""
    merged: dict[str, Any] = {}
    selectors: list[Selectors] = []
    fix_selectors: list[Selectors] = []
    ignores: IgnoresByGlob = ()
    for layer in layers:
        values = {key: _freeze(key, value, layer.base) for key, value in layer.values.items()}
        for told, (afresh, *others) in (
            (selectors, ("select", "extend-select", "ignore", "levels")),
            (fix_selectors, ("fixable", "extend-fixable", "unfixable")),
        ):
            if any(key in values for key in (afresh, *others)):
                chosen = (values.get(key, ()) for key in others)
                told.append(Selectors(layer.source, values.get(afresh), *chosen))
        if values.get("pedantic") and "min-confidence" in values:
            raise SettingsError(
                f"{layer.source}: `pedantic` and `min-confidence` don't go together: say one"
            )
        if values.get("pedantic"):  # each takes the place of what a weaker layer says of both
            merged.pop("min-confidence", None)
        elif "min-confidence" in values:
            merged["pedantic"] = False
        if "per-file-ignores" in values:
            ignores = values["per-file-ignores"]
        ignores += values.get("extend-per-file-ignores", ())
        for key, value in values.items():
            if key.startswith("extend-"):
                value = merged.get(key, ()) + value
            elif key == "torchapi":
                value = _dump({**json.loads(merged.get(key, "{}")), **json.loads(value)})
                merged["torchapi_source"] = layer.source
            elif key in ("policy", "extension", "levels"):
                value = tuple(sorted({**dict(merged.get(key, ())), **dict(value)}.items()))
            if key in PATTERNS and len(value) > MOST_PATTERNS:
                raise SettingsError(
                    f"{layer.source}: `{key}` has more than {MOST_PATTERNS:,} patterns"
                )
            merged[key] = value
    if merged.get("default-exclude") is False:
        merged.setdefault("exclude", ())
    arguments = {key.replace("-", "_"): value for key, value in merged.items()}
    return Settings(
        **arguments,
        selectors=tuple(selectors),
        fix_selectors=tuple(fix_selectors),
        ignores=ignores,
        root=root,
    )


def _freeze(key: str, value: Any, base: str) -> Any:
    """A value as `Settings` keeps it: tuples for lists, paths and patterns made absolute."""
    if key in PATTERNS and isinstance(value, dict):
        return tuple(
            (rebase(glob, base), tuple(dict.fromkeys(codes))) for glob, codes in value.items()
        )
    if key in PATTERNS:
        return tuple(rebase(pattern, base) for pattern in value)
    if key == "cache-dir":
        return value if value.startswith("/") or not base else f"{base}/{value}"
    if key == "torchapi":
        return _dump(value)
    if key in ("policy", "extension", "levels"):
        return tuple(value.items())
    return tuple(value) if isinstance(value, list) else value


def _dump(rows: Mapping[str, object]) -> str:
    # TOML has dates, JSON has not; the table refuses them as it would refuse any string there.
    return json.dumps(rows, sort_keys=True, default=str)


def _describe(value: object) -> str:
    if isinstance(value, dict):
        return "a table"
    text = _BRIEF.repr(value)
    return f"`{text.lower() if isinstance(value, bool) else text}`"


def brief(text: str) -> str:
    """The start of a text of the user's that may be as long as it likes, for a message."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


_SHOWN = 100
_BRIEF = reprlib.Repr()
_BRIEF.maxstring = _SHOWN
