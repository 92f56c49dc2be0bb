# The types of what `__init__.py` loads on first use. A stub, so that no module that asks for the
# version is seen to import the linter.
from devlint.api import CheckError as CheckError
from devlint.api import check as check
from devlint.api import check_text as check_text
from devlint.model.findings import Finding as Finding
from devlint.runtime.guard import DeviceMismatchError as DeviceMismatchError
from devlint.runtime.guard import EarlyReadWarning as EarlyReadWarning
from devlint.runtime.guard import guard as guard
from devlint.runtime.guard import guarded as guarded
from devlint.runtime.guard import install_guard as install_guard
from devlint.runtime.virtual import emulate as emulate

__version__: str
