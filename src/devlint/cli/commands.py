"""The commands beside `check`."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys

from devlint import __version__
from devlint.cli.arguments import PARSERS, UsageError, environment_values
from devlint.config.configuration import Configuration
from devlint.config.settings import SettingsError, check_layer, file_keys, nearest
from devlint.driver.cache import default_folder, is_cache_folder
from devlint.driver.signing import CacheError
from devlint.safety.escaping import line


def rule(options: argparse.Namespace) -> int:
    """`devlint rule CODE|NAME|--all`."""
    from devlint.cli import explain
    from devlint.config import rulebook
    from devlint.config.selection import catalogue

    if bool(options.all) == bool(options.rule):
        raise UsageError("name one rule by code or name, or use --all")
    known = list(rulebook.pages().values())
    page = None if options.all else rulebook.find(options.rule)
    if page is None and not options.all and (parts := rulebook.parts_of(options.rule)):
        codes = ", ".join(f"{part.code} ({part.name})" for part in parts)
        raise UsageError(f"`{options.rule}` was split: see {codes}")
    if page is None and not options.all:
        hint = catalogue().suggestion(options.rule)
        raise UsageError(f"there is no rule `{options.rule}`{hint}")
    if options.output_format == "json":
        found = explain.rule_as_record(page) if page else [*map(explain.rule_as_record, known)]
        print(json.dumps(found, indent=2, ensure_ascii=False))
    elif page is not None:
        sys.stdout.write(explain.rule_as_text(page, options.output_format == "markdown"))
    elif options.output_format == "markdown":
        sys.stdout.write(explain.rules_as_markdown(known))
    else:
        sys.stdout.write(explain.rules_as_table(known))
    return 0


def config(options: argparse.Namespace) -> int:
    """`devlint config [KEY]`."""
    from devlint.cli import explain

    known = file_keys()
    if options.key is not None and options.key not in known:
        raise UsageError(f"there is no setting `{options.key}`{nearest(options.key, known)}")
    chosen = list(known) if options.key is None else [options.key]
    if options.output_format == "json":
        print(json.dumps({key: explain.key_as_record(key) for key in chosen}, indent=2))
    elif options.key is None:
        print("\n".join(chosen))
    else:
        sys.stdout.write(explain.key_as_text(options.key))
    return 0


def clean(options: argparse.Namespace) -> int:
    """`devlint clean`."""
    try:
        folder = cache_folder(options.cache_dir)
    except CacheError as error:
        raise SettingsError(f"there is no cache: {error}") from error
    if not os.path.lexists(folder):
        print(line(f"There is no cache in {folder}."))
        return 0
    try:
        if not is_cache_folder(folder):
            raise SettingsError(f"{folder}: this isn't a devlint cache, so it isn't deleted")
        shutil.rmtree(folder)
    except OSError as error:
        raise SettingsError(f"{folder}: can't be removed: {error.strerror or error}") from error
    print(line(f"Removed {folder}."))
    return 0


def cache_folder(option: str | None) -> str:
    """Where the cache of the current project is. Raises `CacheError`."""
    current = os.getcwd()
    if option is not None:
        return os.path.abspath(option)
    layer = check_layer("the environment", current, environment_values())
    settings = Configuration((layer,)).for_folder(current)
    return settings.cache_dir or default_folder(settings.root or current)


def version(options: argparse.Namespace) -> int:
    """`devlint version`, and `devlint check --version`."""
    print(f"devlint {__version__}")
    if getattr(options, "formats", False):
        from devlint.report.versions import FORMAT_VERSIONS

        print("".join(f"{name} {number}\n" for name, number in FORMAT_VERSIONS.items()), end="")
    return 0


def help_(options: argparse.Namespace) -> int:
    """`devlint help [COMMAND]`."""
    name = options.command or "help"
    print(PARSERS[name]().format_help(), end="")
    return 0
