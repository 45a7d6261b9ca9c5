"""Python, memory, folders and their disks, Java and jars."""

from shlex import quote
from typing import NamedTuple

from streaming.doctor.checks import Check, fine, unknown, wrong

AREA, JAVA = "machine", "java"
PYTHONS = ((3, 10), (3, 13))  # those that pyspark 4.0 runs on
MEMORY_OF_RUN = 4_000_000_000  # Spark with its Python workers (docs/install.md)
MEMORY_OF_OTHERS = 500_000_000  # one of collect, notify and web
# A day of facts of a small installation, and the files that Spark writes before it deletes older ones.
LEAST_FREE_BYTES = 1_000_000_000
LEAST_FREE_INODES = 10_000  # the state store and the tables write many small files between two cleanings
MB, GB = 1_000_000, 1_000_000_000


class Disk(NamedTuple):
    """The file system of a folder. ``inodes`` 0: it does not count them. ``nearest``: the folder that was looked at,
    where the named one is not made yet.
    """

    nearest: str
    is_there: bool
    is_writable: bool
    is_read_only: bool
    free_bytes: int
    inodes: int
    free_inodes: int


def python(version: tuple[int, int, int]) -> Check:
    oldest, newest = (".".join(map(str, one)) for one in PYTHONS)
    text = ".".join(map(str, version))
    if PYTHONS[0] <= version[:2] <= PYTHONS[1]:
        return fine(AREA, "Python", text)
    return wrong(AREA, "Python", f"{text}; evenkeel runs on {oldest} to {newest}", f"install it with Python {newest}")


def memory(total: int | None, available: int | None, limit: int | None, runs_spark: bool) -> Check:
    """``limit``: of the control group, such as a container's. None: not known."""
    if total is None:
        return unknown(AREA, "memory", "the system does not say (/proc/meminfo)")
    least = MEMORY_OF_RUN if runs_spark else MEMORY_OF_OTHERS
    usable = min(total, limit or total)
    bound = "" if limit is None or limit >= total else f", of which {size(limit)} may be used here (cgroup)"
    free = "" if available is None else f", {size(available)} available"
    found = f"{size(total)}{bound}{free}"
    if usable >= least:
        return fine(AREA, "memory", found)
    what = "evenkeel run" if runs_spark else "each process"
    return wrong(AREA, "memory", f"{found}; {what} needs {size(least)}", "give it more memory, or see docs/capacity.md")


def folder(key: str, path: str, disk: Disk | None, why: str = "") -> Check:
    """``key``: the key that names the folder. ``disk`` None: it cannot be looked at, and ``why``."""
    where = f"{key} {path}"
    if disk is None:
        return wrong(AREA, "folder", f"it cannot be looked at: {why}", f"ls -ld {path}", where)
    if disk.is_read_only:
        return wrong(AREA, "folder", "its file system is read-only", f"findmnt -T {disk.nearest}", where)
    if not disk.is_writable:
        return wrong(AREA, "folder", f"this user may not write to {disk.nearest}", f"ls -ld {disk.nearest}", where)
    if disk.free_bytes < LEAST_FREE_BYTES:
        found = f"{size(disk.free_bytes)} are free, fewer than {size(LEAST_FREE_BYTES)}"
        return wrong(AREA, "folder", found, f"df -h {disk.nearest}", where)
    if disk.inodes and disk.free_inodes < LEAST_FREE_INODES:
        found = f"{disk.free_inodes:,} inodes are free, fewer than {LEAST_FREE_INODES:,}"
        return wrong(AREA, "folder", found, f"df -i {disk.nearest}", where)
    inodes = f", {disk.free_inodes:,} inodes" if disk.inodes else ""
    made = "" if disk.is_there else "; not made yet"
    return fine(AREA, "folder", f"{size(disk.free_bytes)} free{inodes}{made}", where)


def user_is_root() -> Check:
    found = "root may write to every folder; whether the user of the service may is not known"
    return unknown(AREA, "user", found, "runuser -u evenkeel -- evenkeel doctor ...")  # the user of deploy/systemd


def java(home: str | None, version: str, why: str = "") -> Check:
    """``home`` None: no Java that fits, and ``why``."""
    if home is None:
        return wrong(JAVA, "Java", why, "apt-get install openjdk-17-jre-headless")
    return fine(JAVA, "Java", version, home)


def jars(where: str, name: str, count: int, fault: str | None, is_named: bool, is_there: bool) -> Check:
    """``name``: the folder of this set of jars in ``where``, which has those of other versions, too. ``is_named``: by
    ``[spark] jars_folder``; else it is the folder that evenkeel fetches into.
    """
    if fault is None:
        return fine(JAVA, "jars", f"{count} with the right checksums", where)
    if is_named:
        return wrong(
            JAVA, "jars", fault, f"evenkeel jars fetch --to DIR where there is a network; copy DIR to {where}", where
        )
    if not is_there:
        found = "not fetched yet: the first start of 'evenkeel run' does it"
        return unknown(JAVA, "jars", found, "evenkeel jars fetch", where)
    mend = f"rm -r {quote(f'{where}/{name}')} && evenkeel jars fetch  # while 'evenkeel run' is stopped"
    return wrong(JAVA, "jars", fault, mend, where)


def size(count: int) -> str:
    return f"{count / GB:.1f} GB" if count >= GB else f"{count // MB:,} MB"
