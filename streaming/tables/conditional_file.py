"""A small file in an object store that is written under a condition: it is missing, or it has not changed since.

The store itself compares: ``If-None-Match: *`` and ``If-Match`` on S3 and Azure, generations on GCS. So of several
writers one wins, however late the request of another arrives. ``evenkeel doctor --contend`` tries that with the store.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, NotSupportedError, PreconditionError
from obstore.store import from_url

from streaming.config.config_errors import without_userinfo
from streaming.errors import AwayError, SetupError
from streaming.tables.storage import delta_uri

CONDITIONAL = ("s3", "s3a", "gs", "abfs", "abfss")  # schemes; HDFS and others have no such condition
# One request with its repetition ends within 6 s, so that a lease can be renewed twice before it is over.
REQUEST_S, CONNECT_S, REPETITIONS, REPEATED_FOR_S = 3, 2, 1, 3
UNSAFE = "AWS_S3_ALLOW_UNSAFE_RENAME"  # with it deltalake writes its commits without a condition

Version = Mapping[str, str]


class Refused(Exception):
    """The condition is not met: another process has written the file."""


class Content(NamedTuple):
    text: str
    version: Version


def has_conditions(address: str) -> bool:
    """Whether the folder is in an object store that knows conditional writes."""
    return urlsplit(address).scheme in CONDITIONAL


class ConditionalFile:
    """One file of a folder in an object store. Raises AwayError while the store does not answer.

    Credentials come from the environment, as for deltalake.
    """

    def __init__(self, folder: str, name: str) -> None:
        self._uri, self._name = folder, name
        with self._away_said():
            self._store: Any = from_url(
                delta_uri(folder),
                client_options=_client_options(),
                retry_config={"max_retries": REPETITIONS, "retry_timeout": timedelta(seconds=REPEATED_FOR_S)},
            )

    def read(self) -> Content | None:
        """The file as it is now; None where there is none."""
        with self._away_said():
            try:
                found = obstore.get(self._store, self._name)
                return Content(bytes(found.bytes()).decode("utf-8", "replace"), _version(found.meta))
            except FileNotFoundError:
                return None

    def write(self, text: str, replaces: Version | None) -> Version:
        """Write the file if it still has the version ``replaces``, or with None if it is missing. Raises Refused.

        The answer may be lost and the write repeated. So one that was refused may have been done all the same.
        """
        mode: Any = "create" if replaces is None else dict(replaces)
        with self._away_said():
            try:
                return _version(obstore.put(self._store, self._name, text.encode(), mode=mode, use_multipart=False))
            except FileNotFoundError:
                if replaces is None:  # a file that is made needs no other one: what is missing is the bucket
                    raise unwritable(self._uri) from None
                raise Refused from None
            except (AlreadyExistsError, PreconditionError):
                raise Refused from None

    def delete(self) -> None:
        with self._away_said(), suppress(FileNotFoundError):
            obstore.delete(self._store, self._name)

    @contextmanager
    def _away_said(self) -> Iterator[None]:
        try:
            yield
        except (NotImplementedError, NotSupportedError) as error:
            raise SetupError(f"{without_userinfo(self._uri)} has no conditional writes: {_in_short(error)}") from None
        except (BaseError, OSError, ValueError) as error:
            raise AwayError(f"{without_userinfo(self._uri)} cannot be used: {_in_short(error)}") from None


def require_conditional_commits() -> None:
    """Raises SetupError where deltalake is told to write its commits without a condition."""
    if _is_set(UNSAFE):
        raise SetupError(
            f"{UNSAFE} is set: with it deltalake writes its commits without a condition, and two writers lose each "
            "other's rows. Remove it from the environment"
        )


def unwritable(folder: str) -> AwayError:
    return AwayError(
        f"{without_userinfo(folder)} cannot be used: no write was accepted. Does the bucket exist, and may this key "
        "write to it?"
    )


def _version(said: Mapping[str, Any]) -> Version:
    """What a store says of a version: S3 an ETag, GCS a generation. obstore takes back only what is not None."""
    return {name: said[name] for name in ("e_tag", "version") if said[name] is not None}


def _client_options() -> Any:
    """Time limits, and what the environment says: obstore reads it only where it is given no options at all."""
    said = {
        option: any(_is_set(f"{store}_{option.upper()}") for store in ("AWS", "AZURE", "GOOGLE"))
        for option in ("allow_http", "allow_invalid_certificates")
    }
    return {"timeout": f"{REQUEST_S}s", "connect_timeout": f"{CONNECT_S}s", **said}


def _is_set(variable: str) -> bool:
    return os.environ.get(variable, "").lower() in ("1", "true", "on", "yes", "y")


def _in_short(error: Exception) -> str:
    """The first line: obstore appends all that it knows."""
    return str(error).strip().split("\n", 1)[0] or type(error).__name__
