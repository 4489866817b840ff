"""A process for a team's own code that can see none of the job's secrets.

What stands between the two, on Linux:

- the environment is built from a short list, never copied;
- when we are root the process runs as another user, so that the kernel refuses it our memory, our `/proc`
entries,
  and every file that only root may read; files in which a checkout keeps its token are closed to others
  meanwhile;
- when we are not root we mark ourselves as not dumpable, which has the kernel refuse our memory and
  environment even to our own user, and the process can never gain rights (no sudo);
- then a probe, confined in the same way, tries to read what must not be read. Where it succeeds, nothing is
started.
"""

from __future__ import annotations

import configparser
import contextlib
import ctypes
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from rageval_action.errors import ConfigError
from rageval_action.transport import OURS
from rageval_action.world import REAL_ENVIRONMENT

NOBODY = 65534

SECRET_NAME = re.compile(
    r"TOKEN|SECRET|PASSW|CREDENTIAL|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|_KEY$|^ACTIONS_|^INPUT_", re.IGNORECASE
)
KEPT = (
    "PATH", "LANG", "LANGUAGE", "TZ", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "HF_HOME", "HF_HUB_OFFLINE",
    "TRANSFORMERS_OFFLINE", "TOKENIZERS_PARALLELISM", "SSL_CERT_FILE", "SSL_CERT_DIR", "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS", "OPENBLAS_CORETYPE", "MKL_NUM_THREADS",
)  # fmt: skip
"""Variables that a process gets as they are; also every `LC_*`."""

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
    user: int = NOBODY,
    environ: Mapping[str, str] = REAL_ENVIRONMENT,
) -> Iterator[Confinement]:
    """What a confined process needs, while the context is open.

    Args:
        pass_env: names of variables that the user wants the process to have.
        folder: where it will run: the checkout's credentials are looked for from here upwards.
        user: whom it runs as when we are root.
        environ: where those variables are.

    Raises:
        ConfigError: `config.forbidden-variable` when `pass_env` names one of the job's own.
        UnsafeProcessError: `retriever.unsafe-process` when a secret would be in reach.
    """
    with contextlib.ExitStack() as stack:
        root = os.geteuid() == 0
        home = stack.enter_context(_home(user if root else None))
        environment = _environment(environ, pass_env, home)
        if root:
            hidden = credential_files(folder)
            stack.enter_context(_closed_to_others(hidden))
            how = Confinement(environment=environment, user=user, isolation="other-user")
            _probe(how, [Path(f"/proc/{os.getpid()}/environ"), *hidden])
        else:
            stack.enter_context(_not_dumpable())
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
    """In the child: die with the parent, and never gain rights."""
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _probe(how: Confinement, paths: Sequence[Path]) -> None:
    """Let a confined `cat` try to read each path."""
    for path in paths:
        try:
            tried = subprocess.run(
                ["/bin/cat", str(path)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                check=False,
                **how.arguments(),
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise _unsafe(f"a process of another user cannot be started ({type(error).__name__})") from error
        if tried.returncode == 0:
            raise _unsafe(f"a process of user {how.user} can read {path}")


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
