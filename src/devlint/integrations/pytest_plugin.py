"""The pytest plugin: tests on emulated devices, and device errors that say what to do.

    pytest --devlint-emulate=cuda:2          # the tests believe in two GPUs
    pytest --devlint-guard=strict            # or explain, collect; `devlint_guard = strict` in ini
    @pytest.mark.devlint_guard("off")        # for one test, class or module

pytest imports this module wherever devlint is installed, so it imports as little as it can until
it is asked.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Generator
from typing import Any

import pytest

from devlint.integrations.pytest_summary import (
    EMULATION,
    FORMATS,
    collection_of,
    pytest_sessionfinish,
    pytest_terminal_summary,
    pytest_testnodedown,
    write_collected,
)

__all__ = ["pytest_sessionfinish", "pytest_terminal_summary", "pytest_testnodedown"]

_MODE: pytest.StashKey[str] = pytest.StashKey()
"""Of the guard: of a test, and for tests that don't say otherwise."""
_GUARD: pytest.StashKey[Any] = pytest.StashKey()
"""The guard of a test."""

_MODES = ("off", "explain", "strict", "collect")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options and the settings."""
    group = parser.getgroup("devlint", "emulated devices, and the runtime guard (devlint)")
    text = "run the tests on devices that this machine doesn't have: cuda, cuda:2, mps or xpu"
    group.addoption("--devlint-emulate", metavar="KIND[:N]", default=None, help=text)
    parser.addini("devlint_emulate", f"{text} (as --devlint-emulate)", default="")
    text = "run tests for the CPU on a device that this machine doesn't have: cuda, mps or xpu"
    group.addoption("--devlint-on", metavar="KIND", default=None, help=text)
    text = "let tests fail with the device errors of --devlint-on, or only report them"
    group.addoption("--devlint-on-errors", choices=("fail", "report"), default="fail", help=text)
    text = (
        "explain device errors of tests, raise them before kernels run (strict), or go on after "
        "them and list all at the end (collect)"
    )
    group.addoption("--devlint-guard", metavar="|".join(_MODES), default=None, help=text)
    parser.addini("devlint_guard", f"{text} (as --devlint-guard)", default="")
    text = "write the device errors of --devlint-on and --devlint-guard=collect to a file"
    group.addoption("--devlint-output-file", metavar="FILE", default=None, help=text)
    text = "how that file is written: text, json, sarif, junit"
    group.addoption("--devlint-output-format", choices=FORMATS, default="text", help=text)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Turn the emulation on before anything of the tests is imported."""
    options = early_config.known_args_namespace
    wanted, place = options.devlint_on, "--devlint-on"
    if wanted is not None and options.devlint_emulate is not None:
        raise pytest.UsageError(
            "--devlint-on emulates a device itself: leave out --devlint-emulate"
        )
    if wanted is None:
        wanted, place = options.devlint_emulate, "--devlint-emulate"
    if wanted is None:
        wanted, place = early_config.getini("devlint_emulate"), "devlint_emulate"
    if not wanted:
        return
    try:
        if options.devlint_on is None:
            emulation = _runtime("virtual").emulate(wanted)
        else:
            emulation = _ported(early_config, wanted, options.devlint_on_errors == "report")
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise pytest.UsageError(_needs_torch(place)) from None
    except ValueError as error:
        raise pytest.UsageError(f"{place}: {error}") from None
    emulation.__enter__()
    early_config.add_cleanup(lambda: emulation.__exit__(None, None, None))
    early_config.stash[EMULATION] = emulation


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker, and read which guard is wanted."""
    text = "devlint_guard(mode='strict'): the guard of this test: off, explain, strict, collect"
    config.addinivalue_line("markers", text)
    mode, place = config.getoption("devlint_guard"), "--devlint-guard"
    if mode is None:
        mode, place = config.getini("devlint_guard") or "off", "devlint_guard"
    if mode not in _MODES:
        raise pytest.UsageError(f"{place}: {_no_mode(mode)}")
    if mode in ("strict", "collect") and not _may_have_torch():
        raise pytest.UsageError(_needs_torch(place))
    config.stash[_MODE] = mode
    write_collected(config)  # before the tests have run for nothing


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Say at the top what is emulated, and how tests are guarded."""
    emulation, mode = config.stash.get(EMULATION, None), config.stash.get(_MODE, "off")
    lines = [] if emulation is None else [f"devlint: emulating {emulation.spec}"]
    return lines if mode == "off" else [*lines, f"devlint: guard {mode}"]


# --- the guard of a test


@pytest.fixture
def device_guard(request: pytest.FixtureRequest) -> Any:
    """The guard that is on while the test runs: strict, unless a marker says otherwise.

    It watches the calls of all modules. `devlint.guard` is for a part of a test.
    """
    stash = request.node.stash
    if _GUARD not in stash:  # the test hasn't asked for it by a parameter
        stash[_GUARD] = _turned_on(_mode_of(request.node, "strict"), request.config)
    return stash[_GUARD]


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Turn the guard on before the fixtures of a test are set up."""
    asks = "device_guard" in getattr(item, "fixturenames", ())
    mode = _mode_of(item, "strict" if asks else item.config.stash.get(_MODE, "off"))
    item.stash[_MODE] = mode
    if (asks or mode in ("strict", "collect")) and _GUARD not in item.stash:
        item.stash[_GUARD] = _turned_on(mode, item.config)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, None]:
    """Turn it off, whatever has happened to the test."""
    yield
    guard = item.stash.get(_GUARD, None)
    if guard is not None:
        guard.remove()
        del item.stash[_GUARD]


def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Have a failure explained, and shown at the line of the test or program that is to blame."""
    if call.excinfo is None:
        return
    error = told = call.excinfo.value
    is_emulated = EMULATION in item.config.stash
    if is_emulated:
        _runtime("guard.tracebacks").tidy(error)
    guard = item.stash.get(_GUARD, None) or _explaining(item)
    if guard is not None and guard.mode != "off":
        told = _told(guard, error)
    if (is_emulated or guard is not None) and told.__traceback__ is not None:
        # A new one: the old one may have stored the traceback as it was.
        shown = type(told), told, told.__traceback__
        call.excinfo = pytest.ExceptionInfo.from_exc_info(shown)
        if sys.version_info < (3, 11):  # where notes aren't shown with their error
            _show_note(item, call.when, told)


def _mode_of(item: Any, otherwise: str) -> str:
    """The mode that the marker of a test says, or the one that is wanted otherwise."""
    marker = item.get_closest_marker("devlint_guard")
    if marker is None:
        return otherwise
    values = (*marker.args, *marker.kwargs.values()) or ("strict",)
    if len(values) > 1 or marker.kwargs.keys() - {"mode"}:
        pytest.fail("devlint_guard: the marker takes one mode", pytrace=False)
    if values[0] not in _MODES:
        pytest.fail(f"devlint_guard: {_no_mode(values[0])}", pytrace=False)
    return str(values[0])


def _turned_on(mode: str, config: pytest.Config) -> Any:
    """A guard that is on."""
    try:
        module = _runtime("guard")
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        module = None
    if module is None:  # behind the `except`, so that the one error isn't shown below the other
        pytest.fail(_needs_torch("devlint_guard"), pytrace=False)
    collected = collection_of(config) if mode == "collect" else None
    return module.Guard((), mode, collected=collected).__enter__()


def _explaining(item: pytest.Item) -> Any:
    """A guard that explains an error of a test, if that is wanted and torch is there."""
    torch = sys.modules.get("torch")
    is_stub = getattr(torch, "__spec__", None) is None
    if item.stash.get(_MODE, "off") != "explain" or is_stub:
        return None
    return _runtime("guard").Guard((), "explain")


def _told(guard: Any, error: BaseException) -> BaseException:
    """An error with its explanation, or what says it better, without a frame of devlint's."""
    told: BaseException = guard.explained_error(error) if isinstance(error, Exception) else error
    _runtime("guard.tracebacks").tidy(told)
    return told


def _show_note(item: pytest.Item, when: str, error: BaseException) -> None:
    told = _runtime("explaining.caught").explain_error(error)
    if told is not None:
        item.add_report_section(when, "devlint", str(told.explanation))


def _no_mode(mode: object) -> str:
    return f"{mode!r} isn't a mode of the guard: choose {', '.join(_MODES[:-1])} or {_MODES[-1]}"


def _needs_torch(place: str) -> str:
    return f"{place} needs torch: pip install torch"


def _may_have_torch() -> bool:
    """Whether torch is installed; it isn't imported."""
    try:
        return importlib.util.find_spec("torch") is not None
    except ValueError:  # somebody's stub
        return True


def _ported(config: pytest.Config, kind: str, only_reports: bool) -> Any:
    """The emulation to which tests are ported; what sees them is registered as a plugin."""
    module = importlib.import_module("devlint.integrations.pytest_port")
    plugin = module.PortPlugin(config, kind, only_reports, collection_of(config))
    config.pluginmanager.register(plugin, "devlint_port")
    return plugin.emulation


def _runtime(name: str) -> Any:
    # By its name, since nothing of devlint but `runtime` itself may depend on torch.
    return importlib.import_module(f"devlint.runtime.{name}")
