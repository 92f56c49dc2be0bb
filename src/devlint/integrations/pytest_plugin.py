"""The pytest plugin: `pytest --devlint-emulate=cuda:2` runs the tests on pretended devices.

pytest imports this module wherever devlint is installed, so it imports nothing else until asked.
"""

from __future__ import annotations

import importlib
from collections import Counter
from typing import Any

import pytest

_EMULATION: pytest.StashKey[Any] = pytest.StashKey()
_OF_WORKERS: pytest.StashKey[Counter[str]] = pytest.StashKey()
"""What the processes of pytest-xdist have met that isn't emulated."""

_OUTPUT = "devlint_limits"
"""What a process of pytest-xdist calls it in its output."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the option and the setting."""
    text = "run the tests on devices that this machine hasn't got: cuda, cuda:2, mps or xpu"
    group = parser.getgroup("devlint", "pretended devices (devlint)")
    group.addoption("--devlint-emulate", metavar="KIND[:N]", default=None, help=text)
    parser.addini("devlint_emulate", f"{text} (as --devlint-emulate)", default="")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Turn the emulation on before anything of the tests is imported."""
    wanted, place = early_config.known_args_namespace.devlint_emulate, "--devlint-emulate"
    if wanted is None:
        wanted, place = early_config.getini("devlint_emulate"), "devlint_emulate"
    if not wanted:
        return
    try:
        virtual = _runtime("virtual")
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        text = f"{place} needs torch: pip install 'devlint[runtime]'"
        raise pytest.UsageError(text) from None
    try:
        emulation = virtual.emulate(wanted)
    except ValueError as error:
        raise pytest.UsageError(f"{place}: {error}") from None
    emulation.__enter__()
    early_config.add_cleanup(lambda: emulation.__exit__(None, None, None))
    early_config.stash[_EMULATION] = emulation
    early_config.stash[_OF_WORKERS] = Counter()


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say at the top what is pretended."""
    emulation = config.stash.get(_EMULATION, None)
    return None if emulation is None else f"devlint: emulating {emulation.spec}"


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Have a failure shown at the line of the test or program that is to blame."""
    if call.excinfo is not None and _EMULATION in item.config.stash:
        _runtime("program").hide_emulation(call.excinfo.value)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In a process of pytest-xdist, send what wasn't emulated to the one that reports."""
    emulation = session.config.stash.get(_EMULATION, None)
    output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if emulation is not None and output is not None:
        output[_OUTPUT] = emulation.limits


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Receive it; a process that has crashed has sent nothing."""
    met = getattr(node, "workeroutput", {}).get(_OUTPUT, {})
    if _OF_WORKERS in node.config.stash:
        node.config.stash[_OF_WORKERS].update(met)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say at the end what the tests have used that isn't emulated."""
    emulation = config.stash.get(_EMULATION, None)
    if emulation is None:
        return
    limits = Counter(emulation.limits) + config.stash[_OF_WORKERS]
    if limits:
        in_words = _runtime("program").in_words
        terminalreporter.section("not emulated (devlint)")
        for text, count in limits.items():
            terminalreporter.line(in_words(text, count))


def _runtime(name: str) -> Any:
    # By its name, since nothing of devlint but `runtime` itself may depend on torch.
    return importlib.import_module(f"devlint.runtime.{name}")
