"""A candidate: a clone of what is committed, with the version's changelog and tag."""

from __future__ import annotations

import contextlib
import re
import shutil
import sys
from collections.abc import Collection
from pathlib import Path

from packaging.version import InvalidVersion, Version

from release.steps import Candidate, StepError, run

FALLBACK = re.compile(r'^(fallback-version = ")([^"]+)(")$', re.MULTILINE)
HEADING = re.compile(r"^## (\S+) \(", re.MULTILINE)


def prepare(repository: Path, wanted: str | None, work: Path, dist: Path) -> Candidate:
    """Clone what is committed, and make its version. The repository itself stays as it is.

    Raises:
        StepError: what isn't committed would not be in it, or the version makes no sense.
    """
    if git(repository, "status", "--porcelain"):
        raise StepError("there are changes that aren't committed: they would not be in it")
    tree = work / "tree"
    git(work, "clone", "--quiet", str(repository), str(tree))
    head = git(tree, "rev-parse", "HEAD")
    version = wanted or tag_of(tree) or next_version(tree)
    check(version, tree)
    is_new = version not in tagged(tree, "--points-at")
    if is_new and not Version(version).is_prerelease:
        write_release(tree, version)
    if is_new:
        git(tree, "tag", "--annotate", "--message", f"devlint {version}", f"v{version}")
    elif not Version(version).is_prerelease:
        check_release(tree, version)
    epoch = int(git(tree, "log", "-1", "--format=%ct"))
    out = dist / version
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    commit = git(tree, "rev-parse", "HEAD")
    candidate = Candidate(repository, tree, version, epoch, work, out, commit, is_new)
    candidate.packages.mkdir()
    if commit != head:
        bundle = candidate.bundle
        git(tree, "bundle", "create", "--quiet", str(bundle), "HEAD", candidate.tag, f"^{head}")
    return candidate


def git(folder: Path, *arguments: str) -> str:
    """What git prints. Commits are nobody's where nobody has told git a name."""
    nobody = {"EMAIL": "devlint@example.invalid"}
    return run(["git", "-C", str(folder), *arguments], cwd=folder, env=nobody).strip()


def tagged(tree: Path, which: str) -> list[str]:
    """The versions whose tags are at the commit, or `--merged` into it, the oldest first."""
    found = []
    for name in git(tree, "tag", which, "HEAD", "--list", "v[0-9]*").split():
        with contextlib.suppress(InvalidVersion):
            found.append(Version(name))
    return [*map(str, sorted(found))]


def tag_of(tree: Path) -> str:
    """The version that the commit is tagged with; "" without one."""
    return next(reversed(tagged(tree, "--points-at")), "")


def next_version(tree: Path) -> str:
    """The next candidate: of the version that the last one was of, or else of the one that the
    fragments ask for."""
    newest = next(reversed(tagged(tree, "--merged")), "")
    return following(newest, fallback(tree), {name.split(".")[-2] for name in fragments(tree)})


def following(newest: str, first: str, kinds: Collection[str]) -> str:
    """What comes after `newest`, or, where there is none, the candidate of the first release."""
    if not newest:
        return f"{Version(first).base_version}rc1"
    version = Version(newest)
    if version.pre is not None:
        return f"{version.base_version}rc{version.pre[1] + 1 if version.pre[0] == 'rc' else 1}"
    major, minor, patch = (*version.release, 0, 0)[:3]
    if set(kinds) <= {"fixed"}:
        return f"{major}.{minor}.{patch + 1}rc1"
    breaks = "removed" in kinds and major > 0
    return f"{major + 1}.0.0rc1" if breaks else f"{major}.{minor + 1}.0rc1"


def check(version: str, tree: Path) -> None:
    """Raises `StepError` for what is no version, and for one that doesn't come after the last."""
    try:
        parsed = Version(version)
    except InvalidVersion:
        raise StepError(f"{version} is no version") from None
    if str(parsed) != version or parsed.dev is not None or parsed.local or parsed.epoch:
        raise StepError(f"{version} is no version of a release: 1.2.0 and 1.2.0rc1 are")
    if len(parsed.release) != 3:
        raise StepError(f"{version}: a version has three numbers")
    newest = next(reversed(tagged(tree, "--merged")), "")
    if newest and newest != version and parsed <= Version(newest):
        raise StepError(f"{version} doesn't come after {newest}")
    if git(tree, "tag", "--list", f"v{version}") and version not in tagged(tree, "--points-at"):
        raise StepError(f"v{version} is the tag of another commit")


def write_release(tree: Path, version: str) -> None:
    """Commit the changelog of a release, and its version for clones that have no tags."""
    if not fragments(tree):
        raise StepError("changelog.d/ has no fragment: nothing would have changed")
    run([sys.executable, "-m", "towncrier", "build", "--yes", "--version", version], cwd=tree)
    settings = tree / "pyproject.toml"
    text, count = FALLBACK.subn(rf"\g<1>{version}\g<3>", settings.read_text("utf-8"))
    if count != 1:
        raise StepError("pyproject.toml has no fallback-version")
    settings.write_text(text, "utf-8")
    git(tree, "add", "--all")
    git(tree, "commit", "--quiet", "--no-verify", "--message", f"Release {version}")


def check_release(tree: Path, version: str) -> None:
    """Raises `StepError` where the commit that is tagged isn't what `write_release` makes."""
    headings = HEADING.findall((tree / "CHANGELOG.md").read_text("utf-8"))
    if fragments(tree) or headings[:1] != [version] or fallback(tree) != version:
        raise StepError(
            f"v{version} isn't the commit of that release: fragments are left, or CHANGELOG.md or "
            "the fallback-version says otherwise"
        )


def fallback(tree: Path) -> str:
    found = FALLBACK.search((tree / "pyproject.toml").read_text("utf-8"))
    return found[2] if found else ""


def fragments(tree: Path) -> list[str]:
    return sorted(path.name for path in (tree / "changelog.d").glob("+*.md"))


def notes(candidate: Candidate) -> str:
    """The changelog's part on the version, as a file beside the packages."""
    tree, version = candidate.tree, candidate.version
    if fragments(tree):
        build = [sys.executable, "-m", "towncrier", "build", "--draft", "--version", version]
        text = run(build, cwd=tree)
    else:
        text = (tree / "CHANGELOG.md").read_text("utf-8")
    start = text.find(f"## {version} (")
    if start < 0:
        raise StepError(f"the changelog says nothing of {version}")
    part, _, _ = text[start + 3 :].partition("\n## ")
    (candidate.out / "notes.md").write_text(f"## {part.strip()}\n", "utf-8")
    entries = len(re.findall(r"^- ", part, re.MULTILINE))
    return f"{version}: {entries} entries, in notes.md"


def what_next(candidate: Candidate) -> str:
    """The commands that publish it."""
    tag, bundle = candidate.tag, candidate.bundle
    if not candidate.is_new:
        return "its tag is there"
    if bundle.exists():
        return (
            f"take its commit and its tag with\n  git fetch {bundle} tag {tag}\n"
            f"  git merge --ff-only {tag}\n  git push --follow-tags"
        )
    return f"tag it with\n  git tag --annotate {tag} {candidate.commit}\n  git push origin {tag}"
