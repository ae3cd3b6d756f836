"""An earlier revision of a project: a worktree of git, gone when it is no longer needed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from cmbuild.cache.folders import below, remove
from cmbuild.errors import CmbuildError, Failed, UsageError
from cmbuild.paths import PROJECT, PYPROJECT
from cmbuild.process import Processes
from cmbuild.projects.project import Project, find_project
from cmbuild.toolchain import tools

_SECONDS = 600.0


class NotARepository(UsageError):
    template = "{folder} is not in a git repository, so {revision} cannot be looked up"
    hint = "compare two folders of builds, or two files of `--json`"


class UnknownRevision(UsageError):
    template = "{revision} is neither a file, nor a folder, nor a revision of {root}"
    hint = "`git log --oneline` lists revisions; a shallow clone lacks older ones"


class WasNoProject(UsageError):
    template = "{revision} has neither a {first} nor [tool.cmbuild] in a {second} in {folder}"


class NoWorktree(Failed):
    template = "git could not check out {revision}: {reason}"


@dataclass(frozen=True, slots=True)
class Git:
    """git on the repository that a folder is in.

    Attributes:
        log: file for its output.
    """

    folder: Path
    processes: Processes
    log: Path

    def run(self, *words: str | Path) -> tuple[bool, str]:
        """Whether it succeeded, and what it printed; hooks do not run."""
        argv = ["git", "-c", "core.hooksPath=/dev/null", "-C", self.folder, *words]
        done = self.processes.run(
            argv,
            log=self.log,
            timeout=_SECONDS,
            check=False,
            install=tools.install_command(tools.GIT),
        )
        return done.status == 0, done.output.strip()


@dataclass(frozen=True, slots=True)
class Revision:
    """A project as it was.

    Attributes:
        title: `HEAD~1 (1a2b3c4)`.
        build_dir: for its builds, which are kept.
    """

    title: str
    project: Project
    build_dir: Path


@contextmanager
def revision(
    name: str, project: Project, build_dir: Path, processes: Processes
) -> Iterator[Revision]:
    """A worktree below the build folder, removed at the end.

    Raises:
        NotARepository, UnknownRevision, WasNoProject, NoWorktree.
        MissingTool: git is not installed.
    """
    home = project.folder.absolute().resolve()
    git = Git(home, processes, build_dir / "logs" / "git.txt")
    succeeded, top = git.run("rev-parse", "--show-toplevel")
    if not succeeded:
        raise NotARepository(folder=home, revision=name)
    succeeded, commit = git.run(
        "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"
    )
    if not succeeded:
        raise UnknownRevision(revision=name, root=top)
    place = below(build_dir.absolute(), "revisions", commit[:12])
    tree = place / "tree"
    _discard(git, tree, place)
    made, output = git.run("worktree", "add", "--force", "--detach", tree, commit)
    try:
        if not made:
            raise NoWorktree(
                revision=name, reason=output.splitlines()[-1] if output else "no reason"
            )
        folder = tree / home.relative_to(Path(top).resolve())
        was = find_project(folder)
        if was.file is None:
            inside = home.relative_to(Path(top).resolve())
            raise WasNoProject(revision=name, first=PROJECT, second=PYPROJECT, folder=inside)
        yield Revision(f"{name} ({commit[:7]})", was, place / "build")
    finally:
        _discard(git, tree, place)


def _discard(git: Git, tree: Path, place: Path) -> None:
    """Also what a killed command left."""
    if tree.exists():
        with suppress(CmbuildError):
            git.run("worktree", "remove", "--force", tree)
        remove(tree, place)
        with suppress(CmbuildError):
            git.run("worktree", "prune")


def _last(output: str) -> str:
    """The last line that git prints."""
    lines = [line for line in output.splitlines() if line.strip()]
    return lines[-1].removeprefix("fatal: ") if lines else "it printed nothing"
