"""Tests of the wheel on each Python: `make release-candidate` runs them away from the sources.

nox --session wheel -- WHEEL
"""

from __future__ import annotations

import nox

PYTHONS = ["3.10", "3.11", "3.12", "3.13", "3.14"]
QUICK = ["tests/test_cases.py", "tests/test_lint.py", "tests/test_fix.py", "tests/report"]
INSTALLED = """
import importlib.util, pathlib, sysconfig
place = pathlib.Path(importlib.util.find_spec("devlint").origin)
assert place.is_relative_to(sysconfig.get_path("purelib")), place
"""

nox.options.default_venv_backend = "virtualenv"
# A Python that isn't there is told of, and not brought.
nox.options.download_python = "never"
nox.options.error_on_missing_interpreters = False


@nox.session(python=PYTHONS)
def wheel(session: nox.Session) -> None:
    """The quick tests, and the examples as a user lints them."""
    (path,) = session.posargs
    session.install(path, "pytest>=9", "hypothesis>=6.100", "jsonschema>=4.20")
    session.run("python", "-c", INSTALLED)
    session.run("devlint", "--isolated", "--no-cache", "examples", success_codes=[1], silent=True)
    session.run("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", *QUICK)
