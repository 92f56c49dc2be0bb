"""What PyTorch's functions, and those of the libraries around it, do to devices.

The claims stand in TOML files beside this module; `effects` says what a claim may be, `table`
reads them. Nothing here imports torch: `tests/torchapi` does, and tests each claim against it.
"""

from devlint.torchapi.effects import Arg, Dims, Effect, Row
from devlint.torchapi.table import Table, load

__all__ = ["Arg", "Dims", "Effect", "Row", "Table", "load"]
