"""The files of an artifact, whose bytes must have the digest that GitHub states for them."""

from __future__ import annotations

import hashlib
import hmac
import io

from rageval_action.errors import RecordError
from rageval_action.github.api import Api
from rageval_action.github.api_errors import ApiError
from rageval_action.github.rest_types import Artifact
from rageval_action.zip_reader import ZipError, ZipLimits, open_zip

ARTIFACT_BYTES = 256 << 20
"""The largest archive that is downloaded."""

LIMITS = ZipLimits(archive=ARTIFACT_BYTES, members=64, member=1 << 30)
"""Rankings pack at a ratio below 40."""


def download_artifact(
    api: Api, artifact: Artifact, names: tuple[str, ...], limits: ZipLimits = LIMITS
) -> dict[str, bytes]:
    """The files `names` of an artifact whose bytes agree with the digest that the server states.

    Raises:
        ApiError: it cannot be had, or is too large.
        RecordError: `record.bad-digest`, `record.bad-archive`: the bytes are not what they should be.
    """
    if artifact.size_in_bytes > ARTIFACT_BYTES:
        raise ApiError("too-large", f"the artifact has {artifact.size_in_bytes:,} bytes.")
    data = api.download(api.repo(f"actions/artifacts/{artifact.id}/zip"), ARTIFACT_BYTES)
    algorithm, _, digest = (artifact.digest or "").partition(":")
    if algorithm == "sha256" and not hmac.compare_digest(hashlib.sha256(data).hexdigest(), digest.lower()):
        raise RecordError("record.bad-digest", "its bytes do not have the digest that GitHub states.")
    return unpack(data, names, limits)


def unpack(data: bytes, names: tuple[str, ...], limits: ZipLimits = LIMITS) -> dict[str, bytes]:
    """The files `names` of the zip `data`; whatever else it holds is not looked at.

    Raises:
        RecordError: `record.bad-archive` when it is damaged, lacks a file or goes over a limit.
    """
    try:
        with open_zip(io.BytesIO(data), limits) as archive:
            return {name: archive.read(name) for name in names}
    except ZipError as error:
        raise RecordError("record.bad-archive", f"{error}.") from error
