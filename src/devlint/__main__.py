"""`python -m devlint`: the command `devlint`, for code that you trust.

Python looks for modules in the current directory before this file is run, and the package `devlint`
is one of them. In a stranger's folder use the command, which never looks there.
"""

import sys

if not getattr(sys.flags, "safe_path", sys.flags.isolated):  # 3.10 has no `safe_path`
    # The current directory; of the command, this is the folder of its script.
    sys.path[0] = sys.prefix

from devlint.cli import main

if __name__ == "__main__":
    sys.exit(main())
