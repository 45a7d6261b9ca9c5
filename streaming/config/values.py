"""The types of values of keys beyond those of pydantic, and a text of what each allows."""

import json
import os
import re
from collections.abc import Callable
from enum import Enum, auto
from ipaddress import IPv6Address, ip_address
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

from annotated_types import Ge, Le, MinLen
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic.fields import FieldInfo

from streaming.networks import networks

HOURS_SECONDS = 7_200  # far above any sensible timer, below the same timer mistaken for milliseconds
YEAR_SECONDS = 366 * 86_400

_CLUSTER = re.compile(r"[^/\s]{1,255}")
_SERVER = re.compile(r"([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):([0-9]{1,5})")
CREDENTIAL = "$CREDENTIALS_DIRECTORY/"
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://[^/\s].*")


class Section(BaseModel):
    """A table of the file. Unknown keys are refused, and values are not converted to other types."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, hide_input_in_errors=True, validate_default=True
    )


class SecretKind(Enum):
    """A kind of secret. NAME: the secret's owner; it is masked unless it is a word. FILE: a file with the secret.

    OPTION: options that are passed on; their names decide. ADDRESS: at most its scheme and host are shown.
    """

    TEXT = auto()
    NAME = auto()
    ADDRESS = auto()
    FILE = auto()
    OPTION = auto()


def _folder(written: str) -> str:
    """The absolute path of a folder of this machine; an address is unchanged."""
    written = re.sub(r"^file:(//)?(?=/)", "", written)
    if not written.strip() or "\0" in written or (not _ADDRESS.fullmatch(written) and "://" in written):
        raise ValueError(FOLDER)
    if is_address(written):
        return written.rstrip("/")
    try:
        return str(Path(written).expanduser().absolute())
    except RuntimeError as error:
        raise ValueError("a folder; the home folder of this user is not known") from error


def _file(written: str) -> str:
    """The path of a file. One that systemd gave to this service with LoadCredential= is in a folder of the service."""
    if not written.startswith(CREDENTIAL):
        return _folder(written)
    folder = os.environ.get(CREDENTIAL[1:-1])
    if not folder:
        raise ValueError(f"a file; {CREDENTIAL[:-1]} is set only in a service of systemd with LoadCredential=")
    return _folder(f"{folder}/{written.removeprefix(CREDENTIAL)}")


def _if_any(checked: Callable[[str], str]) -> Callable[[str], str]:
    """The same check, but an empty text stays empty."""
    return lambda written: checked(written) if written else ""


def _local_folder(written: str) -> str:
    folder = _folder(written)
    if is_address(folder):
        raise ValueError(LOCAL_FOLDER)
    return folder


def is_address(folder: str) -> bool:
    """True if the folder is in a storage that Spark reaches by its address, and not on this machine."""
    return _ADDRESS.fullmatch(folder) is not None


def _offsets(text: str) -> str:
    if text not in ("earliest", "latest") and not _is_offsets_json(text):
        raise ValueError(OFFSETS)
    return text


def _is_offsets_json(text: str) -> bool:
    try:
        topics = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return (
        isinstance(topics, dict)
        and bool(topics)
        and all(isinstance(partitions, dict) and partitions for partitions in topics.values())
        and all(
            partition.isdecimal() and type(offset) is int and offset >= -2
            for partitions in topics.values()
            for partition, offset in partitions.items()
        )
    )


def _name_servers(clusters: dict[str, str]) -> dict[str, str]:
    return _servers_by_cluster(clusters, "name servers")


def _proxies(proxies: dict[str, str]) -> dict[str, str]:
    return _servers_by_cluster(proxies, "proxies")


def _servers_by_cluster(clusters: dict[str, str], of_what: str) -> dict[str, str]:
    for name, servers in clusters.items():
        if not _CLUSTER.fullmatch(name):
            shown = json.dumps(name, ensure_ascii=False)
            raise ValueError(f"{shown}: a cluster's name has 1 to 255 characters, and neither a blank nor a /")
        if not server_list(servers):
            raise ValueError(f"{name}: host:port of one or more {of_what}, separated by semicolons")
    return {
        name: ";".join(server_list(servers)) for name, servers in clusters.items()
    }  # RocketMQ's tools do not accept commas


def server_list(text: str) -> tuple[str, ...]:
    """The ``host:port`` parts of a text, separated by commas or semicolons; empty if any part is not valid."""
    servers = [server.strip() for server in re.split("[;,]", text)]
    matches = [_SERVER.fullmatch(server) for server in servers]
    ports = [int(match[2]) if match and is_host(match[1]) else 0 for match in matches]
    return tuple(servers) if all(1 <= port <= 65_535 for port in ports) else ()


def is_host(name: str) -> bool:
    """True if it is an address or can be looked up: ``a..b`` and ``[::1`` are neither."""
    if name.startswith("[") or ":" in name:
        return _is_ipv6(name.strip("[]"))
    labels = name.removesuffix(".").split(".")
    try:
        return len(name) <= 253 and all(label.encode("idna") for label in labels)
    except UnicodeError:
        return False


def _is_ipv6(text: str) -> bool:
    try:
        IPv6Address(text)
    except ValueError:
        return False
    return True


def _listen(text: str) -> str:
    match = _SERVER.fullmatch(text)
    if match is None or not is_host(match[1]) or int(match[2]) > 65_535:
        raise ValueError(LISTEN)
    return text


def _listen_if_any(text: str) -> str:
    try:
        return _listen(text) if text else text
    except ValueError:
        raise ValueError(LISTEN_IF_ANY) from None


def host_and_port(listen: str) -> tuple[str, int]:
    host, _, port = listen.rpartition(":")
    return host.strip("[]"), int(port)


def is_loopback(host: str) -> bool:
    """True if only this machine can reach a server that listens there."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _networks(written: list[str]) -> list[str]:
    for one in written:
        try:
            networks([one])
        except ValueError:
            raise ValueError(f"{one}: {NETWORKS}") from None
    return written


FOLDER = "a folder of this machine, or an address that Spark can reach, like s3a://bucket/folder"
LOCAL_FOLDER = "a folder of this machine"
LOCAL_FOLDER_IF_ANY = f"{LOCAL_FOLDER}, or empty"
OFFSETS = '"earliest", "latest" or JSON of an offset for every partition: {"evenkeel-events": {"0": 23, "1": -2}}'
TOPIC = "a Kafka topic's name: 1 to 249 letters, digits, dots, underscores or hyphens"
CLUSTERS = "a table of texts: cluster = the host:port of its name servers, separated by semicolons"
PROXIES = "a table of texts: cluster = the host:port of its proxies' remoting ports, separated by semicolons"
FILE = "a file of this machine, or empty"
LISTEN = "host:port of this machine; port 0 is any that is free"
LISTEN_IF_ANY = f"{LISTEN}; or empty"
NETWORKS = 'an array of addresses and networks, as in ["10.0.0.7", "10.1.0.0/16"]'
HEADER_NAME = "a name of an HTTP header: letters, digits and hyphens"
PATTERN = 'a shell pattern, not empty: "*" any text, "?" any character, "[ab]" one of these'

Folder = Annotated[str, Field(description=FOLDER), AfterValidator(_folder)]
LocalFolder = Annotated[str, Field(description=LOCAL_FOLDER), AfterValidator(_local_folder)]
LocalFolderIfAny = Annotated[str, Field(description=LOCAL_FOLDER_IF_ANY), AfterValidator(_if_any(_local_folder))]
Offsets = Annotated[str, Field(description=OFFSETS), AfterValidator(_offsets)]
Topic = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,249}$", description=TOPIC)]
TopicIfAny = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{0,249}$", description=f"{TOPIC}; or empty")]
Clusters = Annotated[dict[str, str], Field(description=CLUSTERS), AfterValidator(_name_servers)]
Proxies = Annotated[dict[str, str], Field(description=PROXIES), AfterValidator(_proxies)]
File = Annotated[str, Field(description=FILE), AfterValidator(_if_any(_file))]
Listen = Annotated[str, Field(description=LISTEN), AfterValidator(_listen)]
ListenIfAny = Annotated[str, Field(description=LISTEN_IF_ANY), AfterValidator(_listen_if_any)]
Networks = Annotated[list[str], Field(description=NETWORKS), AfterValidator(_networks)]
HeaderName = Annotated[str, Field(pattern=r"^[A-Za-z0-9-]{1,64}$", description=HEADER_NAME)]
Pattern = Annotated[str, Field(min_length=1, description=PATTERN)]
Seconds = Annotated[float, Field(ge=0, le=HOURS_SECONDS, allow_inf_nan=False)]
SomeSeconds = Annotated[float, Field(ge=1, le=HOURS_SECONDS, allow_inf_nan=False)]
LongSeconds = Annotated[float, Field(ge=60, le=YEAR_SECONDS, allow_inf_nan=False)]


def allowed(field: FieldInfo) -> str:
    """A text of what a key allows, for people."""
    if field.description:
        return field.description
    annotation = _without_none(field.annotation)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "a table"
    if get_origin(annotation) is Literal:
        *others, last = (f'"{value}"' for value in get_args(annotation))
        return f"{', '.join(others)} or {last}"
    if annotation is bool:
        return "true or false"
    if annotation in (int, float):
        return f"{'a whole number' if annotation is int else 'a number'}{_bounds(field)}"
    if annotation is str:
        return "text, not empty" if any(isinstance(rule, MinLen) for rule in field.metadata) else "text"
    if get_origin(annotation) is dict:
        return "a table of texts"
    return "an array of texts" if get_args(annotation)[0] is str else "an array of tables"


def _bounds(field: FieldInfo) -> str:
    least = next((rule.ge for rule in field.metadata if isinstance(rule, Ge)), None)
    most = next((rule.le for rule in field.metadata if isinstance(rule, Le)), None)
    return f" from {least} to {most}"


def _without_none(annotation: Any) -> Any:
    present = [part for part in get_args(annotation) if part is not type(None)]
    return present[0] if type(None) in get_args(annotation) else annotation
