"""The tables, the checkpoint, and when they were written last."""

import re
from typing import NamedTuple

from streaming.doctor.checks import Check, fine, unknown, wrong
from streaming.wording.lists import first_of
from streaming.wording.times import age

AREA = "tables"
NOT_REBUILT = ("facts", "notifications")
REACH = "reach the storage (address, credentials, permissions); restore nothing before it answers"
# What delta-rs says of a table whose log it has read: a file is not there, or its content is not Parquet.
MISSING = re.compile(r"Object at location .+ not found")
DAMAGED = re.compile(r"Requested range was invalid|Parquet argument error|\.parquet: Parquet error")
AWAY = re.compile(r"Error performing|os error")  # a request or a call of the system failed: the file may be whole


class TableSeen(NamedTuple):
    """A table. ``version`` None: there is none, or its log was not read. ``missing``: columns that this evenkeel has
    more; ``failure``: why its log or a row cannot be read, empty: a row was read, or there are none.
    """

    name: str
    version: int | None
    missing: tuple[str, ...] = ()
    failure: str = ""


def table(tables: str, one: TableSeen) -> Check:
    if one.failure and one.version is None:
        return wrong(AREA, "table", f"it cannot be opened: {one.failure}", REACH, one.name)
    if one.failure:
        return wrong(AREA, "table", f"its files cannot be read: {one.failure}", _mend_of_files(one), one.name)
    if one.version is None:
        return unknown(AREA, "table", f"not in {tables}", "the first start of 'evenkeel run' makes it", one.name)
    if one.missing:
        found = f"readable, of an older evenkeel: without {first_of(one.missing)}"
        return fine(AREA, "table", f"{found}; the next start of 'evenkeel run' or 'notify' adds it", one.name)
    return fine(AREA, "table", "readable", one.name)


def _mend_of_files(one: TableSeen) -> str:
    """Make the table again, or take a copy, only where its files are lost for certain."""
    is_damaged = DAMAGED.search(one.failure) and not AWAY.search(one.failure)
    if not (is_damaged or MISSING.search(one.failure)):
        return REACH
    return "restore it from a backup" if one.name in NOT_REBUILT else "evenkeel rebuild"


def closed(tables: str, why: str) -> Check:
    return wrong(AREA, "table", f"this user cannot look into the folder: {why}", REACH, tables)


def no_tables(tables: str) -> Check:
    return unknown(AREA, "table", "there are no tables yet", "the first start of 'evenkeel run' makes them", tables)


def storage(uri: str, has_conditions: bool) -> Check:
    """A storage to which nothing is written for a trial."""
    if has_conditions:
        return unknown(AREA, "write", "not tried: nothing is written", "evenkeel doctor --contend", uri)
    return unknown(AREA, "write", "not tried; it has no conditional writes, so no lease and no standby", where=uri)


def contest(uri: str, fault: str = "") -> Check:
    if fault:
        return wrong(AREA, "write", fault, "use a store, or a version of it, that keeps conditional writes", uri)
    return fine(AREA, "write", "of 16 writers at once one won, each time", uri)


def replayed(tables: str, by: str) -> Check:
    return wrong(
        AREA, "table", f"made by '{by}': they say what is past", "name the tables of 'run' in tables.path", tables
    )


def version(tables: str, made: int | None, known: int, fault: str = "") -> Check:
    """``made``: the version of all tables together, None if this evenkeel may not use them: ``fault`` says why."""
    if made is None:
        mend = "start the evenkeel that wrote them; docs/upgrading.md#the-way-back has what an older one needs"
        return wrong(AREA, "version", fault, mend, tables)
    if made < known:
        return fine(AREA, "version", f"{made}; the next start of 'evenkeel run' makes it {known}", tables)
    return fine(AREA, "version", str(made), tables)


def newest_health(tables: str, newest_ts: int | None, now_ms: int, late_ms: int) -> Check:
    """``late_ms``: as ``monitor_late`` of the alert rules."""
    if newest_ts is None:
        return unknown(AREA, "newest row", "monitor_health has none: no job has written yet", where=tables)
    old = now_ms - newest_ts
    if old <= late_ms:
        return fine(AREA, "newest row", f"of monitor_health, {age(old)} old", tables)
    return wrong(
        AREA, "newest row", f"of monitor_health, {age(old)} old: no job writes", "start 'evenkeel run'", tables
    )


def checkpoint(uri: str, state_version: int, readable: tuple[int, int], fault: str, batch: int) -> Check:
    """``readable``: the oldest and the newest version of state that this evenkeel reads. ``fault``: it belongs to
    another configuration, or is of another version.
    """
    if state_version > readable[1]:
        found = f"state of version {state_version}, of a newer evenkeel; this one reads {_versions(readable)}"
        mend = "start the newer evenkeel again; docs/upgrading.md#the-way-back has what an older one needs"
        return wrong(AREA, "checkpoint", found, mend, uri)
    if fault:
        return wrong(AREA, "checkpoint", fault, "set the configuration back, or evenkeel reseed", uri)
    found = f"state of version {state_version}, this evenkeel reads {_versions(readable)}; batch {batch}"
    return fine(AREA, "checkpoint", found, uri)


def no_checkpoint(uri: str, facts_exist: bool) -> Check:
    if facts_exist:
        found = "there is none, and there are facts: alerts that are open would stay open for ever"
        return wrong(AREA, "checkpoint", found, "restore it, or evenkeel reseed", uri)
    return unknown(AREA, "checkpoint", "there is none yet", "the first start of 'evenkeel run' makes it", uri)


def _versions(readable: tuple[int, int]) -> str:
    oldest, newest = readable
    return str(newest) if oldest == newest else f"{oldest} to {newest}"
