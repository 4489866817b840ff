"""A process for a team's own code that can see none of the job's secrets.

What stands between the two, on Linux:

- the environment is built from a short list, never copied;
- when we are root the process runs as a user that nothing else has (`cage_user`), so that the kernel refuses it our
  memory, our `/proc` entries, and every file that only root may read; files in which a checkout keeps its token, and
  those by which a step commands the runner, are closed to others meanwhile;
- when we are not root we mark ourselves as not dumpable, which has the kernel refuse our memory and
  environment even to our own user, and the process can never gain rights (no sudo);
- then a probe, confined in the same way, tries what must not succeed: to read a secret, to write a command for the
  runner, to reach a container engine's socket. Where it succeeds, nothing is started;
- no process dumps its memory into a file, and none outlives the run (`orphans`).
"""

from __future__ import annotations

import configparser
import contextlib
import ctypes
import os
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct

from rageval_action.errors import ConfigError
from rageval_action.retrievers.cage_user import unused_user
from rageval_action.retrievers.orphans import none_left
from rageval_action.transport import OURS
from rageval_action.world import REAL_ENVIRONMENT

SECRET_NAME = re.compile(
    r"TOKEN|SECRET|PASSW|CREDENTIAL|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|_KEY$|^ACTIONS_|^INPUT_", re.IGNORECASE
)
KEPT = (
    "PATH", "LANG", "LANGUAGE", "TZ", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "HF_HOME", "HF_HUB_OFFLINE",
    "TRANSFORMERS_OFFLINE", "TOKENIZERS_PARALLELISM", "SSL_CERT_FILE", "SSL_CERT_DIR", "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS", "OPENBLAS_CORETYPE", "MKL_NUM_THREADS",
)  # fmt: skip
"""Variables that a process gets as they are; also every `LC_*`."""

COMMAND_FILES = ("GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STATE", "GITHUB_STEP_SUMMARY")
"""Variables that name the files by which a step sets variables, outputs and paths of later ones."""

ENGINES = (
    "/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock",
    "/run/crio/crio.sock", "/run/buildkit/buildkitd.sock",
)  # fmt: skip
"""Sockets of container engines: who may write to one is root on the machine."""

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS = 1, 4, 38


class UnsafeProcessError(ConfigError):
    """The process could have seen a secret, so it was not started."""


class Confinement(Struct, frozen=True, kw_only=True):
    """How a confined process is started: `subprocess.Popen(..., **how.arguments())`.

    Attributes:
        isolation: `other-user`, `no-dump` (our own user, our memory closed to it), or `same-user`.
    """

    environment: dict[str, str]
    user: int | None
    isolation: str

    def arguments(self) -> dict[str, Any]:
        """Keyword arguments for `subprocess.Popen`."""
        how: dict[str, Any] = {
            "env": self.environment,
            "start_new_session": True,
            "close_fds": True,
            "preexec_fn": _before_exec if sys.platform == "linux" else None,
        }
        if self.user is not None:
            how |= {"user": self.user, "group": self.user, "extra_groups": []}
        return how


@contextlib.contextmanager
def confined(
    pass_env: Sequence[str],
    folder: Path,
    *,
    program: str = "",
    environ: Mapping[str, str] = REAL_ENVIRONMENT,
) -> Iterator[Confinement]:
    """What a confined process needs, while the context is open. Afterwards none of its descendants is left.

    Args:
        pass_env: names of variables that the user wants the process to have.
        folder: where it will run: the checkout's credentials are looked for from here upwards.
        program: what will be started; checked to be one that the other user may run.
        environ: where those variables are.

    Raises:
        ConfigError: `config.forbidden-variable` when `pass_env` names one of the job's own.
            `retriever.no-free-user`, `retriever.program-closed`.
        UnsafeProcessError: `retriever.unsafe-process` when a secret would be in reach.
    """
    with contextlib.ExitStack() as stack:
        user = stack.enter_context(unused_user()) if os.geteuid() == 0 else None
        home = stack.enter_context(_home(user))
        environment = _environment(environ, pass_env, home)
        if user is not None:
            hidden = [*credential_files(folder), *command_files()]
            stack.enter_context(_closed_to_others(hidden))
            how = Confinement(environment=environment, user=user, isolation="other-user")
            _probe(how, [Path(f"/proc/{os.getpid()}/environ"), *hidden, *engine_sockets()])
            _check_program(how, program, folder)
            stack.enter_context(none_left(partial(_end_user, how)))
        else:
            stack.enter_context(_not_dumpable())
            stack.enter_context(none_left())
            isolation = "no-dump" if sys.platform == "linux" else "same-user"
            how = Confinement(environment=environment, user=None, isolation=isolation)
            _refuse_in_ci(_in_reach(folder))
        yield how


def secret_values(environment: Mapping[str, str]) -> list[str]:
    """Values of variables whose names say that they are secret; too short ones cannot be told from chance."""
    return [value for name, value in environment.items() if SECRET_NAME.search(name) and len(value) >= 8]


def credential_files(folder: Path) -> list[Path]:
    """Files that may hold the checkout's token: git's configurations, what they include, its stores."""
    found: list[Path] = []
    for parent in (folder.resolve(), *folder.resolve().parents):
        mark = parent / ".git"
        if mark.exists():
            found += _configurations(mark)
            break
    home = Path(os.environ.get("HOME") or "/nonexistent")
    found += [home / name for name in (".git-credentials", ".gitconfig", ".netrc", ".config/git/credentials")]
    found += [Path(included) for path in list(found) for included in _includes(path)]
    return [path for path in dict.fromkeys(found) if path.is_file()]


def command_files() -> list[Path]:
    """The files by which this step commands the runner."""
    named = (Path(os.environ[name]) for name in COMMAND_FILES if os.environ.get(name))
    return [path for path in named if path.is_file()]


def engine_sockets() -> list[Path]:
    """Sockets of container engines that are here."""
    named = os.environ.get("DOCKER_HOST", "").removeprefix("unix://")
    return [
        path for path in map(Path, filter(None, (*ENGINES, named))) if path.is_absolute() and path.exists()
    ]


def _configurations(mark: Path) -> list[Path]:
    """A repository's configurations; `.git` may be a file that points elsewhere (work trees)."""
    folder = mark
    if mark.is_file():
        folder = (
            mark.parent / mark.read_text(encoding="utf-8", errors="replace").removeprefix("gitdir:").strip()
        )
    common = folder / "commondir"
    shared = folder / common.read_text(encoding="utf-8").strip() if common.is_file() else folder
    return [folder / "config", folder / "config.worktree", shared / "config"]


def _includes(path: Path) -> list[str]:
    """Absolute files that a git configuration includes (`actions/checkout` keeps its token in one)."""
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
        parser.read_string("\n".join(line.strip() for line in text.splitlines()))
    except (OSError, configparser.Error):
        return []
    given = (
        parser.get(section, "path", fallback="")
        for section in parser.sections()
        if "include" in section.lower()
    )
    return [name.strip('"') for name in given if name and name.strip('"').startswith("/")]


def _environment(environ: Mapping[str, str], pass_env: Sequence[str], home: str) -> dict[str, str]:
    kept = {name: value for name, value in environ.items() if name in KEPT or name.startswith("LC_")}
    for name in pass_env:
        if OURS.match(name):
            raise ConfigError(
                "config.forbidden-variable",
                f"the variable {name} belongs to the job and never reaches a retriever.",
                where="retriever option pass_env",
            )
        if name in environ:
            kept[name] = environ[name]
    return kept | {"HOME": home, "TMPDIR": home, "PYTHONUTF8": "1", "PYTHONUNBUFFERED": "1"}


@contextlib.contextmanager
def _home(user: int | None) -> Iterator[str]:
    """An empty folder to write in, gone afterwards."""
    path = tempfile.mkdtemp(prefix="rageval-retriever-")
    try:
        if user is not None:
            os.chown(path, user, user)
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def _closed_to_others(paths: Sequence[Path]) -> Iterator[None]:
    """Take the files' group and other permissions away for a while."""
    before: list[tuple[Path, int]] = []
    try:
        for path in paths:
            mode = stat.S_IMODE(path.stat().st_mode)
            if mode & 0o077:
                path.chmod(mode & 0o700)
                before.append((path, mode))
        yield
    finally:
        for path, mode in before:
            with contextlib.suppress(OSError):
                path.chmod(mode)


@contextlib.contextmanager
def _not_dumpable() -> Iterator[None]:
    """Have the kernel refuse our memory and environment to other processes of our user (prctl(2))."""
    if sys.platform != "linux":
        yield
        return
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    try:
        yield
    finally:
        libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)


def _before_exec() -> None:
    """In the child: die with the parent, never gain rights, leave no dump of the memory."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


TRY = 'for path do if cat "$path" >/dev/null 2>&1 || [ -w "$path" ]; then printf %s "$path"; exit; fi; done'


def _probe(how: Confinement, paths: Sequence[Path]) -> None:
    """Let a confined shell try to read and to write each path."""
    try:
        reached = _shell(how, TRY, *map(str, paths)).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise _unsafe(f"a process of another user cannot be started ({type(error).__name__})") from error
    if reached:
        raise _unsafe(f"a process of user {how.user} can read or write {reached}")


def _check_program(how: Confinement, program: str, folder: Path) -> None:
    """Refuse a program that exists and that the other user may not run, such as a Python in root's home."""
    found = program if "/" in program else shutil.which(program, path=how.environment.get("PATH"))
    if not found or not (folder / found).is_file() or not os.access(folder / found, os.X_OK):
        return
    if _shell(how, '[ -x "$1" ] || printf no', found, folder=folder).stdout:
        real = (folder / found).resolve()
        at_home = " It lies in root's home." if real.is_relative_to(Path.home().resolve()) else ""
        raise ConfigError(
            "retriever.program-closed",
            f"retrievers run as user {how.user} here, who may not run {real}.{at_home}",
            hint="Install it where every user may run it, such as /opt or /usr/local, and name that one; run rageval "
            "as an ordinary user; or write the rankings in an earlier step and use run-file here.",
            where=found,
        )


def _end_user(how: Confinement) -> None:
    """Kill every process of the retriever's user at once, as that user (kill(2), pid -1)."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        _shell(how, "kill -9 -1")


def _shell(
    how: Confinement, script: str, *words: str, folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a script confined; its output."""
    return subprocess.run(
        ["/bin/sh", "-c", script, "sh", *words],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        errors="replace",
        check=False,
        **how.arguments(),
    )


def _in_reach(folder: Path) -> list[str]:
    """Where a process of our own user would find one of our secrets."""
    secrets = [value.encode() for value in secret_values(os.environ)]
    found = []
    for pid in _ancestors():
        try:
            environ = Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:
            continue
        if any(secret in environ for secret in secrets):
            found.append(f"/proc/{pid}/environ")
    for path in credential_files(folder):
        with contextlib.suppress(OSError):
            text = path.read_text(encoding="utf-8", errors="replace").lower()
            if "extraheader" in text or re.search(r"://[^/\s@]+:[^/\s@]+@", text) or "password" in text:
                found.append(str(path))
    if sys.platform != "linux" and secrets:
        found.append("our environment")
    return found


def _ancestors() -> list[int]:
    """This process, its parent, and so on; empty where there is no `/proc`."""
    pids: list[int] = []
    pid = os.getpid()
    while pid > 0 and len(pids) < 64:
        pids.append(pid)
        try:
            status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
        except OSError:
            break
        pid = int(re.search(r"^PPid:\s*(\d+)", status, re.MULTILINE)[1])  # type: ignore[index]
    return pids


def _refuse_in_ci(places: Sequence[str]) -> None:
    """On a person's own machine the code is the person's; in CI it is whatever the pull request brings."""
    if places and os.environ.get("CI", "").lower() not in {"", "0", "false"}:
        raise _unsafe(f"it would run as our own user, to whom secrets are open in {', '.join(places[:3])}")


def _unsafe(why: str) -> UnsafeProcessError:
    return UnsafeProcessError(
        "retriever.unsafe-process",
        f"the retriever was not started: {why}.",
        hint="Let an earlier step run it, with `rageval retrieve` or by itself, and use run-file here.",
    )
