"""evenkeel's own files beside Spark's checkpoint, in ``evenkeel/``: its identity and the settings of each batch.

``identity.json`` binds the checkpoint to its facts. Batch numbers start at 0 with every new checkpoint. A batch is not
written again if its number was written under the same identity. ``settings/N.json`` is in force from batch N on. So a
batch ends under the settings with which it began, even if the configuration has changed in between.
"""

import logging
from collections.abc import Callable
from typing import Protocol
from uuid import uuid4

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from pyspark.sql import SparkSession

from streaming.config.config_errors import without_userinfo
from streaming.core.default_settings import stored_settings
from streaming.core.settings import Settings
from streaming.core.state.packing import STATE_VERSION
from streaming.errors import CheckpointError
from streaming.spark.storage import Folder

log = logging.getLogger(__name__)

SEED_FOLDER = "evenkeel/seed"
_IDENTITY = "evenkeel/identity.json"
_SETTINGS = "evenkeel/settings"
_LEAST_LINES = {"metadata": 1, "offsets": 3, "commits": 2}  # of Spark's files of each kind
_NO_JSON = ("v", "-")  # the first line is a version, and a source without offsets is a dash

Offsets = dict[str, dict[str, int]]  # topic -> partition (JSON has only text for keys) -> the offset after the last one


class Identity(Struct, frozen=True, kw_only=True):
    """The identity of a checkpoint, which never changes. ``source``: the topic or folder; ``seeded``: made by reseed.

    ``state_version``: the version of its state; 0 in checkpoints that are older than 0.1.0.
    """

    identity: str
    source: str
    shards: int
    state_partitions: int
    seeded: bool = False
    starting_offsets: str | None = None
    state_version: int = 0


class CheckpointFolder(Protocol):
    """The folder of a checkpoint: through Spark, or by ``doctor`` without it."""

    uri: str

    def read(self, name: str) -> str | None: ...

    def write(self, name: str, text: str) -> None: ...

    def numbers(self, name: str) -> list[int]: ...

    def delete(self, name: str) -> None: ...


class Checkpoint:
    """An existing checkpoint; ``open_checkpoint`` and ``reseed`` make them."""

    def __init__(self, folder: CheckpointFolder, identity: Identity) -> None:
        self._folder = folder
        self.identity = identity
        self._ends: dict[int, Offsets] = {}  # of the last batches that were asked for

    @property
    def uri(self) -> str:
        return self._folder.uri

    def keep_state_version(self) -> None:
        """Keep that state is of this version from the next batch on: so an older evenkeel is refused at its start."""
        if self.identity.state_version != STATE_VERSION:
            self.identity = replace(self.identity, state_version=STATE_VERSION)
            self._folder.write(_IDENTITY, msgspec.json.encode(self.identity).decode())

    def begun(self) -> int | None:
        """The newest batch whose offsets are written; None before the first."""
        return max(self._folder.numbers("offsets"), default=None)

    def pending(self) -> int | None:
        """The batch that was begun and not committed; Spark runs it again with the same records."""
        begun = self.begun()
        committed = max(self._folder.numbers("commits"), default=None)
        return None if begun is None or (committed is not None and committed >= begun) else begun

    def done(self) -> int:
        """The newest committed batch; -1 before the first."""
        begun, pending = self.begun(), self.pending()
        return pending - 1 if pending is not None else -1 if begun is None else begun

    def require_whole(self) -> None:
        """Raise CheckpointError if Spark cannot go on because the end of a file is missing. Spark itself would only say
        which character it expects. A damaged commit is not meant: ``mend`` deletes it.
        """
        newest = sorted(set(self._folder.numbers("offsets")))[-2:]
        damaged = [name for name in ("metadata", *(f"offsets/{batch}" for batch in newest)) if not self._is_whole(name)]
        if damaged:
            raise CheckpointError(
                f"{without_userinfo(self.uri)}: damaged: {', '.join(damaged)}: restore a copy of the checkpoint, or "
                "run 'evenkeel reseed' with a new folder for it"
            )

    def _is_whole(self, name: str) -> bool:
        try:
            text = self._folder.read(name)
            lines = [] if text is None else text.splitlines()
            for line in lines:
                if not line.startswith(_NO_JSON):
                    msgspec.json.decode(line)
        except (CheckpointError, msgspec.DecodeError, UnicodeDecodeError):
            return False
        return text is None or len(lines) >= _LEAST_LINES[name.partition("/")[0]]

    def mend(self) -> None:
        """Delete the newest commit if it is damaged, so that its batch runs again. Delete the checksum of a commit that
        was deleted: it would stop that batch.
        """
        newest = max(self._folder.numbers("commits"), default=None)
        if newest is not None and not self._is_whole(f"commits/{newest}"):
            log.warning("%s/commits/%s is damaged and is deleted: its batch runs again", self.uri, newest)
            self._folder.delete(f"commits/{newest}")
        pending = self.pending()
        if pending is not None:
            self._folder.delete(f"commits/.{pending}.crc")

    def next_batch(self) -> int:
        """The first batch that is not begun yet."""
        begun = self.begun()
        return 0 if begun is None else begun + 1

    def end_offsets(self, batch_id: int) -> Offsets:
        """The offsets up to which Kafka is read at the end of this batch; of batch -1: where the first one begins."""
        if batch_id < 0:
            first = (self._folder.read("sources/0/0") or self.identity.starting_offsets or "").splitlines()
            return _decode_offsets(first[-1] if first else "")
        if batch_id not in self._ends:
            lines = (self._folder.read(f"offsets/{batch_id}") or "").splitlines()
            if len(lines) < 3:  # the version, metadata, and one line a source
                return {}
            before = {n: offsets for n, offsets in self._ends.items() if n == batch_id - 1}
            self._ends = before | {batch_id: _decode_offsets(lines[2])}
        return self._ends[batch_id]

    def settings_of(self, batch_id: int) -> Settings | None:
        """The settings under which a batch was begun; None if none were kept."""
        number = max((n for n in self._folder.numbers(_SETTINGS) if n <= batch_id), default=None)
        text = None if number is None else self._folder.read(f"{_SETTINGS}/{number}.json")
        if text is None:
            return None
        try:
            return stored_settings(text)
        except msgspec.MsgspecError as error:
            raise CheckpointError(
                f"batch {batch_id} of {self.uri} was begun under settings that this evenkeel cannot read ({error}): "
                "finish it with the version that began it, or run 'evenkeel reseed'"
            ) from error

    def put_in_force(self, settings: Settings) -> None:
        """Put these settings in force from the next batch on."""
        if self.settings_of(self.next_batch()) != settings:
            self._folder.write(f"{_SETTINGS}/{self.next_batch()}.json", msgspec.json.encode(settings).decode())


def open_checkpoint(
    spark: SparkSession, uri: str, source: str, shards: int, table_exists: bool, has_facts: Callable[[], bool]
) -> Checkpoint:
    """The checkpoint, made if it is new. Refuses one that doesn't belong to the tables or the configuration.

    ``table_exists``: that of the facts. ``has_facts`` is called for a new checkpoint only: it reads the table.
    """
    folder = Folder(spark, uri)
    checkpoint = checkpoint_in(folder, source, shards, table_exists, has_facts)
    if checkpoint is not None:
        return checkpoint
    partitions = int(spark.conf.get("spark.sql.shuffle.partitions") or shards)
    return create(folder, new_identity(source, shards, partitions))


def checkpoint_in(
    folder: CheckpointFolder, source: str, shards: int, table_exists: bool, has_facts: Callable[[], bool]
) -> Checkpoint | None:
    """The checkpoint that is there; None if there is none yet. As ``open_checkpoint``, but it only reads."""
    checkpoint = existing(folder)
    if checkpoint is None:
        _refuse_foreign(folder, table_exists and has_facts())
        return None
    refuse_changed(checkpoint, source, shards)
    checkpoint.require_whole()
    if not table_exists and checkpoint.begun() is not None:
        raise CheckpointError(
            f"checkpoint {checkpoint.uri} has written facts, and their table is gone: restore it, or delete the "
            "checkpoint too"
        )
    return checkpoint


def refuse_others_checkpoint(spark: SparkSession, uri: str, source: str, shards: int) -> None:
    """Raise CheckpointError if the checkpoint was made for another configuration. It is only read: another job may
    write to it.
    """
    checkpoint = existing(Folder(spark, uri))
    if checkpoint is not None:
        refuse_changed(checkpoint, source, shards)


def new_identity(source: str, shards: int, state_partitions: int) -> Identity:
    """A new identity. It has at most as many partitions as shards: more would stay empty."""
    return Identity(
        identity=str(uuid4()),
        source=source,
        shards=shards,
        state_partitions=min(state_partitions, shards),
        state_version=STATE_VERSION,
    )


def create(folder: CheckpointFolder, identity: Identity) -> Checkpoint:
    """Give a checkpoint its identity, once."""
    folder.write(_IDENTITY, msgspec.json.encode(identity).decode())
    return Checkpoint(folder, identity)


def refuse_existing(folder: CheckpointFolder) -> None:
    """For reseed: a new checkpoint is never written over another."""
    if folder.read(_IDENTITY) is not None or folder.numbers("offsets"):
        raise CheckpointError(
            f"{folder.uri} holds a checkpoint already: name a new folder in job.checkpoint, or rename this one"
        )


def existing(folder: CheckpointFolder) -> Checkpoint | None:
    """The checkpoint; None where there is none. Raises CheckpointError if it cannot be read."""
    text = folder.read(_IDENTITY)
    if text is None:
        return None
    try:
        return Checkpoint(folder, msgspec.json.decode(text, type=Identity))
    except msgspec.MsgspecError as error:
        raise CheckpointError(
            f"{folder.uri}/{_IDENTITY} cannot be read ({error}): restore it, or run 'evenkeel reseed'"
        ) from error


def _refuse_foreign(folder: CheckpointFolder, facts_exist: bool) -> None:
    if folder.numbers("offsets"):
        raise CheckpointError(
            f"{folder.uri} is the checkpoint of another query: it has batches, but no {_IDENTITY}. Name an empty folder"
        )
    if facts_exist:
        raise CheckpointError(
            f"checkpoint {folder.uri} is new, but there are facts already: alerts that are open would stay open for "
            "ever. Run 'evenkeel reseed' to begin this checkpoint with them, or name a new folder for the tables"
        )


def refuse_changed(checkpoint: Checkpoint, source: str, shards: int) -> None:
    made = checkpoint.identity
    if made.shards != shards:
        raise CheckpointError(
            f"checkpoint {checkpoint.uri} was made with {made.shards} shards, which it keeps for life, and job.shards "
            f"is {shards}: set it back, or run 'evenkeel reseed' with a new folder for the checkpoint"
        )
    if made.source != source:
        raise CheckpointError(
            f"checkpoint {checkpoint.uri} was made for {made.source}, and the source is now {source}: set it back, or "
            "run 'evenkeel reseed' with a new folder for the checkpoint"
        )


def _decode_offsets(text: str) -> Offsets:
    """The offsets of Kafka; a folder of files has none that matter here."""
    try:
        return msgspec.json.decode(text, type=Offsets)
    except msgspec.MsgspecError:
        return {}
