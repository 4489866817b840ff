"""What every process gets in which a store's own library runs, and the error when that library is missing.

Such a library may hang, crash or be tricked by a file: its process can be ended, and sees no secret of the job.

May import: `errors`, `world`. Used by retrievers and by the importers of snapshots.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rageval_action.errors import ConfigError
from rageval_action.world import REAL_ENVIRONMENT

KEPT = ("PATH", "LD_LIBRARY_PATH", "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "OMP_NUM_THREADS", "LANG", "TZ")
"""Variables of our own environment that the process gets."""


def library_environment(home: str, environ: Mapping[str, str] = REAL_ENVIRONMENT) -> dict[str, str]:
    """The environment of the process; `home` is a folder that it may write in and that goes with it."""
    return {name: environ[name] for name in KEPT if name in environ} | {
        "HOME": home,
        "TMPDIR": home,
        "PYTHONPATH": str(Path(__file__).resolve().parents[1]),
        "ANONYMIZED_TELEMETRY": "False",
    }


def missing_library(library: str, extra: str) -> ConfigError:
    """The error for a library that is not installed, with the extra that brings it."""
    return ConfigError(
        "config.missing-extra",
        f"this store needs {library}, which is not installed.",
        hint=f'Install it: pip install "rag-eval-action[{extra}]".',
    )
