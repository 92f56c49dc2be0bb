"""`--add-ignore`: suppresses all present findings by comments, for adoption in old code."""

from __future__ import annotations

from collections.abc import Sequence

from devlint.cli.session import Session
from devlint.config.selection import FAILURES
from devlint.config.sources import Failure, Source
from devlint.model.findings import Finding
from devlint.safety import files


def add_ignores(
    session: Session, sources: Sequence[Source], findings: Sequence[Finding], reason: str
) -> int:
    """Write the comments, and say how many findings they suppress."""
    from devlint.fix.results import renamed
    from devlint.fix.suppress import suppress
    from devlint.safety.writing import rewrite

    reason = " ".join(reason.split())
    concerned = {finding.filename for finding in findings if finding.code not in FAILURES}
    total, left = 0, [finding for finding in findings if finding.code in FAILURES]
    for source in sources:
        if source.shown not in concerned:
            continue
        try:
            data = files.read(
                source.path, files.most_bytes(source.language, source.settings.max_file_size)
            )
            done = suppress(data, source, reason)
            if done.data != data:
                rewrite(source.path, data, done.data)
        except OSError as error:
            text = f"can't be written: {files.reason(error)}"
            session.failures.append(Failure(source.shown, text))
            continue
        except Exception as error:  # as with linting, one bad file must not end the run
            text = f"internal error: {type(error).__name__}: {error}"
            session.failures.append(Failure(source.shown, text))
            continue
        total += done.count
        left += renamed(done.remaining, source.shown)
    session.say(f"Suppressed {total} finding{'' if total == 1 else 's'}.")
    session.tell(left)
    return session.finish(left)
