"""devlint finds device mistakes in PyTorch code by reading it.

>>> import devlint
>>> for finding in devlint.check("src/train.py"):
...     print(finding.filename, finding.span.row, finding.message)
"""

import importlib

try:
    from devlint._version import __version__ as __version__
except ModuleNotFoundError:  # the sources as they are, which nobody has built
    __version__ = "0.0.0+source"

_HOMES = {
    "CheckError": "devlint.api",
    "DeviceMismatchError": "devlint.runtime.guard",
    "EarlyReadWarning": "devlint.runtime.guard",
    "Finding": "devlint.model.findings",
    "check": "devlint.api",
    "check_text": "devlint.api",
    "emulate": "devlint.runtime.virtual",
    "guard": "devlint.runtime.guard",
    "guarded": "devlint.runtime.guard",
    "install_guard": "devlint.runtime.guard",
}
"""Loaded on first use: the command line prints its version without reading any of it."""


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
