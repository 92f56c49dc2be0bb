"""The options of each command, declared for argparse; `cli` acts on them."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from devlint.config.settings import brief, keys, nearest
from devlint.model.findings import FAIL_ON, OUTPUT_FORMATS

COMMANDS = {
    "check": "lint files and folders (the default)",
    "run": "run a program under the guard, or on emulated devices",
    "migrate": "make a project that needs CUDA run on any accelerator, or on none",
    "why": "show what is known at a line, and why it is reported or not",
    "explain": "explain the device errors in a traceback or a log",
    "server": "lint for an editor, by the Language Server Protocol",
    "merge": "join what the shards of a run have written",
    "rule": "explain a rule",
    "config": "list the settings, or explain one",
    "clean": "delete the cache",
    "generate-shell-completion": "print a script that completes command lines",
    "version": "print the version",
    "help": "print the help of a command",
}

EPILOG = """\
exit codes: 0 nothing found, 1 findings, 2 devlint couldn't do its job, 130 interrupted
environment: DEVLINT_CACHE_DIR, DEVLINT_NO_CACHE, DEVLINT_OUTPUT_FORMAT, DEVLINT_CONFIG,
NO_COLOR, FORCE_COLOR, FORCE_HYPERLINK"""


SHELLS = ("bash", "zsh", "fish")

MOST_SHARDS = 10_000

GUARDS = ("off", "explain", "strict", "trace", "collect")
"""The modes of the guard."""


class UsageError(Exception):
    """The command line can't be understood; the text says why, on one line."""


class Parser(argparse.ArgumentParser):
    """An argument parser that raises instead of printing its usage and exiting."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Tell the nearest of the words that an option takes, as settings do."""
        if action.choices is None or value in action.choices:
            return
        name = "/".join(action.option_strings) or action.metavar or action.dest
        known = list(map(str, action.choices))
        raise UsageError(
            f"{name} must be one of {', '.join(known)}, not `{brief(value)}`{nearest(value, known)}"
        )


def parse(command: str, argv: Sequence[str]) -> argparse.Namespace:
    """The options of a command. Raises `UsageError`, naming the nearest option."""
    parser = PARSERS[command]()
    own, program, paths = argv, argv[:0], argv[:0]
    if command == "run":
        own, program = _split(parser, argv)
    elif command == "check":
        own, paths = _names_apart(argv)
    options, rest = parser.parse_known_intermixed_args([_explicit(word) for word in own])
    if rest:
        unknown = rest[0].partition("=")[0]
        if not unknown.startswith("-"):
            raise UsageError(f"unexpected argument `{unknown}`")
        # Without the dashes, which all have: they would make any two of them alike.
        names = (name for action in parser._actions for name in action.option_strings)
        known = [name[2:] for name in names if name.startswith("--")]
        hint = nearest(unknown.lstrip("-"), known).replace('"', '"--', 1)
        raise UsageError(f"unknown option `{unknown}`{hint}")
    if command == "run":
        options.program = program
    elif command == "check":
        options.paths += paths
    return options


def _names_apart(argv: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """The words before `--`, and the paths behind it, however these begin.

    Raises `UsageError` for an option that is the name of a file as well: whoever named the file,
    and not who lists the files, would decide what devlint does.
    """
    end = argv.index("--") if "--" in argv else len(argv)
    for word in argv[:end]:
        if word.startswith("-") and word != "-" and os.path.lexists(word):
            raise UsageError(f"`{word}` is a file here: put `--` before the paths")
    return argv[:end], argv[end + 1 :]


def _split(parser: Parser, argv: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """What is said to `devlint run`, and what to the program: all behind its name is its own."""
    takes_value = {
        name for action in parser._actions if action.nargs != 0 for name in action.option_strings
    }
    place = 0
    while place < len(argv):
        word = argv[place]
        if word == "--":
            return argv[:place], argv[place + 1 :]
        if not word.startswith("-") or word == "-":
            break
        place += 2 if word in takes_value else 1
        if word.startswith("-m"):
            break
    return argv[:place], argv[place:]


def _explicit(word: str) -> str:
    # The reason is optional and only follows "=": otherwise a path would be taken for it.
    return "--add-ignore=" if word == "--add-ignore" else word


def _commas(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]


def _some(text: str) -> list[str]:
    """The same, which can't be empty: nothing would be left to do, and no error would say so."""
    found = _commas(text)
    if not found:
        raise argparse.ArgumentTypeError("it names nothing, so nothing would be checked")
    return found


def _pairs(text: str) -> list[tuple[str, str]]:
    pairs = []
    for item in _commas(text):
        pattern, colon, code = item.rpartition(":")
        if not colon or not pattern or not code:
            raise argparse.ArgumentTypeError(f"`{item}` is not of the form PATTERN:CODE")
        pairs.append((pattern, code))
    return pairs


def _extensions(text: str) -> list[tuple[str, str]]:
    pairs = []
    for item in _commas(text):
        name, colon, language = (part.strip() for part in item.partition(":"))
        if not (name and colon and language):
            raise argparse.ArgumentTypeError(
                f"`{item}` is not of the form EXT:LANGUAGE, as `md:markdown` is"
            )
        pairs.append((name.removeprefix("."), language))
    return pairs


def _jobs(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"`{text}` is not a number of processes above zero")
    return int(text)


def _shard(text: str) -> tuple[int, int]:
    number, _, of = text.partition("/")
    if not all(each.isascii() and each.isdigit() and len(each) <= 5 for each in (number, of)):
        raise argparse.ArgumentTypeError(f"`{brief(text)}` is not of the form N/M, as 3/8 is")
    if not 1 <= int(number) <= int(of) <= MOST_SHARDS:
        raise argparse.ArgumentTypeError(
            f"`{text}` is no shard: N is from 1 to M, and M at most {MOST_SHARDS:,}"
        )
    return int(number), int(of)


def _percent(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > 100:
        raise argparse.ArgumentTypeError(f"`{text}` is not a number from 0 to 100")
    return int(text)


def _seed(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) >= 2**32:
        raise argparse.ArgumentTypeError(f"`{text}` is not a number from 0 to {2**32 - 1}")
    return int(text)


def _boolean(group: Any, *names: str, text: str) -> None:
    group.add_argument(*names, action=argparse.BooleanOptionalAction, default=None, help=text)


def _list(group: Any, name: str, metavar: str, read: Callable[[str], list[str]] = _commas) -> None:
    group.add_argument(f"--{name}", type=read, action="extend", metavar=metavar, help=_doc(name))


def _doc(name: str) -> str:
    text: str = keys()[name].metadata["doc"]
    return text.replace("`", "").replace("%", "%%")


def _parser(command: str, description: str, epilog: str | None = None) -> Parser:
    return Parser(
        prog=f"devlint {command}",
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def check_parser() -> Parser:
    """`devlint check`."""
    parser = _parser("check", "Find device mistakes in PyTorch code without running it.", EPILOG)
    parser.usage = "devlint [check] [OPTIONS] [PATHS...]"
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="PATHS",
        help="Files and folders, `.` by default; `-` is standard input.",
    )
    group = parser.add_argument_group("rules")
    _list(group, "select", "RULES", _some)
    _list(group, "ignore", "RULES")
    _list(group, "extend-select", "RULES")
    for name in ("per-file-ignores", "extend-per-file-ignores"):
        group.add_argument(
            f"--{name}", type=_pairs, action="extend", metavar="PATTERN:RULE", help=_doc(name)
        )
    _boolean(group, "--pedantic", text=_doc("pedantic"))
    group.add_argument("--min-confidence", type=_percent, metavar="N", help=_doc("min-confidence"))
    _boolean(group, "--ignore-noqa", text=_doc("ignore-noqa"))
    group = parser.add_argument_group("files")
    _list(group, "include", "PATTERNS", _some)
    _list(group, "exclude", "PATTERNS")
    _list(group, "extend-exclude", "PATTERNS")
    _add_extension(group)
    for name in ("default-exclude", "force-exclude", "respect-gitignore", "follow-imports"):
        _boolean(group, f"--{name}", text=_doc(name))
    group.add_argument(
        "--stdin-filename",
        metavar="PATH",
        help="The name of the file on standard input; the settings for that path are used.",
    )
    _add_fixing(parser)
    _add_output(parser)
    _add_adoption(parser)
    _add_configuration(parser)
    _add_running(parser)
    return parser


def _add_extension(group: Any) -> None:
    group.add_argument(
        "--extension",
        type=_extensions,
        action="extend",
        metavar="EXT:LANGUAGE",
        help=_doc("extension"),
    )


def _add_fixing(parser: Parser) -> None:
    group = parser.add_argument_group("fixes")
    for name in ("fix", "unsafe-fixes", "fix-only"):
        _boolean(group, f"--{name}", text=_doc(name))
    for name in ("fixable", "unfixable", "extend-fixable"):
        _list(group, name, "RULES")
    _boolean(group, "--show-fixes", text=_doc("show-fixes"))
    _boolean(group, "--diff", text="Print the fixes as a diff and write nothing.")
    _boolean(
        group,
        "--exit-non-zero-on-fix",
        text="Exit with 1 even if every finding was fixed.",
    )


def _add_output(parser: Parser) -> None:
    group = parser.add_argument_group("output")
    group.add_argument("--output-format", choices=OUTPUT_FORMATS, help=_doc("output-format"))
    group.add_argument(
        "-o", "--output-file", metavar="FILE", help="Write there instead of to stdout."
    )
    _boolean(
        group, "--statistics", text="Print how often each rule was violated instead of findings."
    )
    group.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help="When to use colour; `auto` follows NO_COLOR, FORCE_COLOR and the terminal.",
    )
    _boolean(group, "-q", "--quiet", text="Print findings and errors only.")
    _boolean(
        group,
        "-s",
        "--silent",
        text="Print nothing and set the exit code. Mistakes in options and settings are still\n"
        "printed, and --output-file is written.",
    )
    _boolean(group, "-v", "--verbose", text="Also print what was done, and tracebacks of errors.")
    group.add_argument("--fail-on", choices=FAIL_ON, help=_doc("fail-on"))
    _boolean(group, "-e", "--exit-zero", text="The same as --fail-on never.")
    _boolean(group, "--show-files", text="Print the files that would be linted, and stop.")
    _boolean(group, "--show-settings", text="Print the settings of the first file, and stop.")
    _boolean(group, "--dump-facts", text=argparse.SUPPRESS)


def _add_adoption(parser: Parser) -> None:
    group = parser.add_argument_group("adoption in old code")
    group.add_argument(
        "--add-ignore",
        metavar="[=REASON]",
        help="Write suppression comments for all findings, with the reason if one is given.",
    )
    group.add_argument(
        "--baseline",
        metavar="FILE",
        help="Report only findings that aren't in the file. If it doesn't exist, write all to it.",
    )
    _boolean(
        group,
        "--update-baseline",
        text="Write what is found now to the file of --baseline. Entries of files and rules that\n"
        "aren't checked stay.",
    )
    group.add_argument(
        "--since",
        metavar="REV",
        help="Report (and fix) only findings that a revision of the git repository doesn't have.\n"
        "`REV...` is the merge base of REV and HEAD, as for `git diff`.",
    )


def _add_configuration(parser: Parser) -> None:
    group = parser.add_argument_group("configuration")
    group.add_argument(
        "--config",
        action="append",
        metavar="FILE|KEY=VALUE",
        help="A configuration file to use instead of the others, or one setting in TOML.",
    )
    _boolean(group, "--isolated", text="Use no configuration file.")


def _add_running(parser: Parser) -> None:
    group = parser.add_argument_group("running")
    _boolean(group, "--cache", text="Remember results between runs.")
    group.add_argument("-n", dest="cache", action="store_false", help="The same as --no-cache.")
    group.add_argument("--cache-dir", metavar="FOLDER", help=_doc("cache-dir"))
    group.add_argument(
        "-j", "--jobs", type=_jobs, metavar="N", help="Processes; by default one for each core."
    )
    group.add_argument(
        "--executor",
        metavar="NAME",
        help="Hand the work to a running cluster, dask://HOST:PORT or ray://HOST:PORT, or to the\n"
        "executor of concurrent.futures that MODULE:CALLABLE makes.",
    )
    group.add_argument(
        "--shard",
        type=_shard,
        metavar="N/M",
        help="Lint the N-th of M parts of the files; `devlint merge` joins what they write.",
    )
    group.add_argument(
        "--costs",
        metavar="FILE",
        help="Let the shards be equal by what files have cost, instead of by bytes.",
    )
    group.add_argument(
        "--store-costs", metavar="FILE", help="Write there how many seconds each file took."
    )
    _boolean(
        group,
        "-w",
        "--watch",
        text="Lint again whenever a file changes, until Ctrl-C. Needs\n`pip install watchfiles`.",
    )
    group.add_argument("-V", "--version", action="store_true", help="Print the version, and stop.")


def run_parser() -> Parser:
    """`devlint run`."""
    parser = _parser(
        "run",
        "Run a Python program under a guard, which explains device errors and how to fix them.\n"
        "With --emulate it runs on accelerators that this machine doesn't have: it computes on\n"
        "the CPU and fails where it would fail on them.",
        "exit codes: the program's own; also 2 if it can't be started, and 1 if --guard collect\n"
        "  has found something\n"
        "environment: DEVLINT_GUARD, the mode of the guard if --guard isn't given\n"
        "Everything after SCRIPT or MODULE belongs to the program.",
    )
    parser.usage = "devlint run [OPTIONS] (SCRIPT | -m MODULE) [ARGS...]"
    parser.add_argument(
        "program",
        nargs="*",
        metavar="SCRIPT",
        help="A file, a folder or zip file with a `__main__.py`, or `-` for standard input.",
    )
    parser.add_argument(
        "-m", dest="module", metavar="MODULE", help="Run a module by its name, as `python -m` does."
    )
    parser.add_argument(
        "--guard",
        choices=GUARDS,
        help="`strict`, the default, checks the calls of layers; `explain` explains errors only;\n"
        "`trace` also says where tensors were made, and which lines copy between devices;\n"
        "`collect` goes on after a mistake, and lists all of them at the end.",
    )
    parser.add_argument(
        "--emulate",
        metavar="KIND[:N]",
        help="The devices to emulate: `cuda`, `mps` or `xpu`, and how many of them.",
    )
    parser.add_argument(
        "--transfers",
        action="store_true",
        help="Print a table of the copies between devices at the end.",
    )
    parser.add_argument(
        "--transfers-file", metavar="FILE", help="Write the copies between devices as JSON."
    )
    parser.add_argument(
        "--report",
        metavar="FOLDER",
        help="Write the copies between devices as JSON and as a page to look at.",
    )
    parser.add_argument(
        "-o", "--output-file", metavar="FILE", help="Write what --guard collect has found."
    )
    parser.add_argument(
        "--output-format",
        choices=("text", "json", "sarif", "junit"),
        default="text",
        help="The format of that file.",
    )
    parser.add_argument(
        "--seed",
        type=_seed,
        metavar="N",
        help="Seed the random numbers of Python, NumPy and PyTorch with N.",
    )
    parser.add_argument(
        "--losses",
        metavar="FILE",
        help="Write each loss whose gradients are computed, to the last digit, as lines of JSON.",
    )
    return parser


def migrate_parser() -> Parser:
    """`devlint migrate`."""
    parser = _parser(
        "migrate",
        "Rewrite a project that needs CUDA so that it runs on any accelerator, and on none: each\n"
        "file chooses its device once, or uses the one that it gets. What can't be decided is\n"
        "listed and left as it is. Asks before it writes.",
        "exit codes: 0 all is migrated, 1 something is left, shown or not written, 2 devlint\n"
        "  couldn't do its job",
    )
    parser.add_argument(
        "paths", nargs="*", metavar="PATHS", help="Files and folders; `.` by default."
    )
    parser.add_argument(
        "--device",
        default="device",
        metavar="NAME",
        help="The name of the variable that holds the device; `device` by default.",
    )
    parser.add_argument(
        "--verify",
        metavar="COMMAND",
        help="A command such as `python train.py --epochs 1`. It runs in copies of the project:\n"
        "before and after on emulated cuda, where all losses have to be the same, and after on\n"
        "emulated mps and on the CPU. If it fails, nothing is written.",
    )
    _boolean(parser, "--diff", text="Print the changes as a diff and write nothing.")
    parser.add_argument("-y", "--yes", action="store_true", help="Write without asking.")
    parser.add_argument(
        "--color", choices=("auto", "always", "never"), default="auto", help="When to use colour."
    )
    _add_configuration(parser)
    parser.set_defaults(output_file=None, quiet=False, verbose=False, silent=False)
    return parser


def explain_parser() -> Parser:
    """`devlint explain`."""
    parser = _parser(
        "explain",
        "Explain the errors about devices in a pasted traceback, or in the log of a run: which\n"
        "line, which operand, the fix. Nothing is run, and no file but that one is read.",
        "exit codes: 0, also if there is no such error; 2 if the file can't be read",
    )
    parser.add_argument(
        "file", nargs="?", default="-", metavar="FILE", help="`-`, the default: standard input."
    )
    parser.add_argument(
        "--output-format", choices=("text", "json"), default="text", help="How it is printed."
    )
    return parser


def why_parser() -> Parser:
    """`devlint why`."""
    parser = _parser(
        "why",
        "Show what devlint knows at a line: where values are and how that is known, which of them\n"
        "have to be on one device, what calls pass to the function, each finding with the reason\n"
        "if it isn't shown, and what you can do about values that aren't known.",
        "exit codes: 0, or 2 if the file or the line can't be read",
    )
    parser.add_argument("place", metavar="FILE:LINE[:COL]", help="Both counted from 1.")
    _add_extension(parser)
    parser.add_argument(
        "--output-format", choices=("text", "json"), default="text", help="How it is printed."
    )
    _add_configuration(parser)
    return parser


def server_parser() -> Parser:
    """`devlint server`."""
    parser = _parser(
        "server",
        "Serve an editor by the Language Server Protocol on standard input and output: findings\n"
        "as you type, fixes, what is known of a value, devices as hints. The editor starts it.\n"
        "It needs `pip install 'pygls>=2,<3'`.",
        "exit codes: 0 if the editor has ended it, 1 if the editor was gone before, 2 if it can't\n"
        "  start or go on",
    )
    parser.usage = "devlint server [OPTIONS]"
    _add_configuration(parser)
    return parser


def merge_parser() -> Parser:
    """`devlint merge`."""
    parser = _parser(
        "merge",
        "Join the JSON or the SARIF that the shards of a run have written (`--shard N/M`) to what\n"
        "the run would have written, and end as it would have ended.",
        "exit codes: that of the run; 2 also where a shard is missing, or one is of another run",
    )
    parser.add_argument("files", nargs="*", metavar="FILE", help="What the shards have written.")
    parser.add_argument(
        "-o", "--output-file", metavar="FILE", help="Write there instead of to stdout."
    )
    return parser


def rule_parser() -> Parser:
    """`devlint rule`."""
    parser = _parser("rule", "Explain a rule: what it finds, why that matters, with examples.")
    parser.add_argument("rule", nargs="?", metavar="CODE|NAME")
    _boolean(parser, "--all", text="Print all rules.")
    parser.add_argument(
        "--output-format",
        choices=("text", "json", "markdown"),
        default="text",
        help="How it is printed.",
    )
    return parser


def config_parser() -> Parser:
    """`devlint config`."""
    parser = _parser("config", "List the settings, or explain one.")
    parser.add_argument("key", nargs="?", metavar="KEY")
    parser.add_argument(
        "--output-format", choices=("text", "json"), default="text", help="How it is printed."
    )
    return parser


def clean_parser() -> Parser:
    """`devlint clean`."""
    parser = _parser("clean", "Delete the cache of the current project.")
    parser.add_argument("--cache-dir", metavar="FOLDER", help=_doc("cache-dir"))
    return parser


def completion_parser() -> Parser:
    """`devlint generate-shell-completion`."""
    parser = _parser(
        "generate-shell-completion",
        "Print a script for a shell that completes commands, options, rules and files. Its first\n"
        "lines say where to put it. Needs shtab: pip install shtab.",
    )
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=f"{', '.join(SHELLS)}.")
    return parser


def version_parser() -> Parser:
    """`devlint version`."""
    parser = _parser("version", "Print the version.")
    parser.add_argument(
        "--formats",
        action="store_true",
        help="Also print the version of each format that programs read.",
    )
    return parser


def help_parser() -> Parser:
    """`devlint help`, and `devlint --help`."""
    width = max(map(len, COMMANDS)) + 2
    commands = "\n".join(f"  {name:<{width}}{text}" for name, text in COMMANDS.items())
    description = (
        "Find device mistakes in PyTorch code without running it.\n\n"
        f"commands:\n{commands}\n\n"
        "`devlint check --help` lists the options, `devlint rule --all` the rules."
    )
    parser = _parser("help", description, EPILOG)
    parser.usage = "devlint [COMMAND] [OPTIONS] [PATHS...]"
    parser.add_argument(
        "command", nargs="?", choices=COMMANDS, metavar="COMMAND", help=argparse.SUPPRESS
    )
    return parser


PARSERS = {
    "check": check_parser,
    "run": run_parser,
    "migrate": migrate_parser,
    "why": why_parser,
    "explain": explain_parser,
    "server": server_parser,
    "merge": merge_parser,
    "rule": rule_parser,
    "config": config_parser,
    "clean": clean_parser,
    "generate-shell-completion": completion_parser,
    "version": version_parser,
    "help": help_parser,
}


def layer_values(options: argparse.Namespace) -> dict[str, Any]:
    """What the command line says of settings, by key."""
    values: dict[str, Any] = {}
    for key in keys():
        value = getattr(options, key.replace("-", "_"), None)
        if value is None:
            continue
        if key == "extension":
            value = dict(value)
        if key.endswith("per-file-ignores"):
            table: dict[str, list[str]] = {}
            for pattern, code in value:
                table.setdefault(pattern, []).append(code)
            value = table
        values[key] = value
    return values


def environment_values() -> dict[str, Any]:
    """What the environment says of settings, by key."""
    known = {"cache-dir": "DEVLINT_CACHE_DIR", "output-format": "DEVLINT_OUTPUT_FORMAT"}
    return {key: os.environ[name] for key, name in known.items() if os.environ.get(name)}
