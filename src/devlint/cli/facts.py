"""`devlint check --dump-facts`: what the interpreter writes down, for who changes it."""

from __future__ import annotations

import json
import traceback
from collections.abc import Sequence

from devlint.cli.session import Session
from devlint.config.sources import Failure, Source
from devlint.driver.dumping import facts_of
from devlint.flow.frames.steps import TooManyStepsError
from devlint.safety import files
from devlint.safety.files import LARGEST_SOURCE
from devlint.source.errors import SourceError


def dump_facts(session: Session, sources: Sequence[Source]) -> int:
    """Print the facts of the files as one JSON array, with a line for each file."""
    before = "["
    for source in sources:
        try:
            facts = facts_of(files.read(source.path, LARGEST_SOURCE), source.path, source.settings)
        except Exception as error:  # one bad file is one entry, as in a run that lints
            session.failures.append(Failure(source.shown, _reason(error)))
            session.detail(traceback.format_exc())
            continue
        record = {"filename": source.shown, "facts": facts}
        session.write(f"{before}\n{json.dumps(record, ensure_ascii=False)}")
        before = ","
    session.write("\n]\n" if before == "," else "[]\n")
    return session.finish([])


def _reason(error: Exception) -> str:
    match error:
        case OSError():
            return files.reason(error)
        case SourceError():
            return error.reason
        case TooManyStepsError():
            return "too much to analyse"
    return f"internal error: {type(error).__name__}: {error}"
