"""A real systemd as the first process of namespaces of its own, which leaves nothing behind on the machine.

It sees only the units that a test gives it: Debian's own would clean /tmp at its start. /etc, /var, /opt and /run are
its own, too.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import pytest

ROOT = Path(__file__).parents[2]
UNITS = ROOT / "deploy" / "systemd"
SYSTEMD = Path("/lib/systemd/systemd")
TARGETS = ("sysinit", "basic", "shutdown", "network-online", "multi-user", "first")
BOOT = """
set -e
mount --make-rprivate /
mkdir -p {work}/cgroup
mount -t cgroup2 cgroup2 {work}/cgroup
mkdir {work}/cgroup/{name}
echo $$ > {work}/cgroup/{name}/cgroup.procs
exec unshare --cgroup bash {work}/second
"""
SECOND = """
set -e
for one in etc var; do
    mkdir -p {work}/over/$one {work}/scratch/$one
    mount -t overlay overlay -o lowerdir=/$one,upperdir={work}/over/$one,workdir={work}/scratch/$one /$one
done
mount -t tmpfs tmpfs /opt
mkdir -p /opt/evenkeel/bin /opt/python /opt/packages /opt/code /opt/jars /opt/logs /etc/evenkeel
mount --bind {python} /opt/python
mount --bind {packages} /opt/packages
mount --bind {root} /opt/code
mkdir -p {jars}
mount --bind {jars} /opt/jars
cp {work}/evenkeel /opt/evenkeel/bin/
cp -r {work}/etc/. /etc/evenkeel/
mkdir -p /etc/evenkeel/secrets
chmod -R go= /etc/evenkeel/secrets
echo 'evenkeel:x:64321:64321::/var/lib/evenkeel:/usr/sbin/nologin' >> /etc/passwd
echo 'evenkeel:x:64321:' >> /etc/group
mount -t tmpfs tmpfs /run
cp -r {work}/units /run/units
mkdir /run/generators
umount -R /sys/fs/cgroup
mount -t tmpfs tmpfs /sys/fs/cgroup
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount --make-rshared /
export container=test SYSTEMD_UNIT_PATH=/run/units SYSTEMD_GENERATOR_PATH=/run/generators
exec {systemd} --system --unit=first.target --show-status=0 --log-target=null
"""
PROGRAM = """\
#!/bin/sh
export LD_LIBRARY_PATH=/opt/python/lib PYTHONPATH=/opt/code:/opt/packages
exec /opt/python/bin/python3 -m streaming "$@"
"""


class Booted:
    """``units``: those of deploy/systemd by name, with the lines of a drop-in. ``files``: of /etc/evenkeel."""

    def __init__(self, units: dict[str, str], files: dict[str, str]) -> None:
        self.work = Path(tempfile.mkdtemp(prefix="evenkeel-systemd-", dir="/var/tmp"))
        self.work.chmod(0o755)
        (self.work / "units").mkdir()
        for name in TARGETS:
            (self.work / "units" / f"{name}.target").write_text("[Unit]\nDefaultDependencies=no\n")
        for unit, lines in units.items():
            shutil.copy(UNITS / unit, self.work / "units")
            folder = self.work / "units" / f"{unit}.d"
            folder.mkdir()
            log = f"StandardError=append:/opt/logs/{unit}.log"
            (folder / "test.conf").write_text(f"[Service]\n{log}\n{lines}\n")
        for name, text in files.items():
            path = self.work / "etc" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (self.work / "evenkeel").write_text(PROGRAM)
        (self.work / "evenkeel").chmod(0o755)
        values = {
            "work": self.work,
            "name": self.work.name,
            "root": ROOT,
            "python": sys.base_prefix,
            "packages": sysconfig.get_path("purelib"),
            "systemd": SYSTEMD,
            "jars": Path(os.environ.get("EVENKEEL_CACHE", Path.home() / ".cache/evenkeel")) / "jars",
        }
        (self.work / "first").write_text(BOOT.format(**values))
        (self.work / "second").write_text(SECOND.format(**values))

    def __enter__(self) -> "Booted":
        words = ["unshare", "--fork", "--kill-child", "--pid", "--mount", "--uts", "--ipc", "--mount-proc"]
        with (self.work / "said").open("w") as said:
            self._outer = subprocess.Popen([*words, "bash", self.work / "first"], stdout=said, stderr=said)
        deadline = time.monotonic() + 20
        while self._outer.poll() is None and time.monotonic() < deadline:
            if self.systemctl("is-active", "first.target", check=False).stdout == "active\n":
                return self
            time.sleep(0.1)
        self.__exit__(None, None, None)
        pytest.skip(f"systemd does not run in namespaces here: {(self.work / 'said').read_text()}")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._outer.kill()  # with it the first process of the namespace dies, and so all others of it
        self._outer.wait()
        mounted = Path(tempfile.mkdtemp())
        subprocess.run(["mount", "-t", "cgroup2", "cgroup2", mounted], check=True)
        ours, deadline = mounted / self.work.name, time.monotonic() + 10
        while ours.exists() and time.monotonic() < deadline:  # until its processes have ended
            for folder in sorted([ours, *(path for path in ours.rglob("*") if path.is_dir())], reverse=True):
                with suppress(OSError):
                    folder.rmdir()
            time.sleep(0.05)
        subprocess.run(["umount", mounted], check=True)
        mounted.rmdir()
        shutil.rmtree(self.work, ignore_errors=True)

    def systemctl(self, *words: str, check: bool = True) -> "subprocess.CompletedProcess[str]":
        return self.inside("systemctl", *words, check=check)

    def inside(self, *words: str, check: bool = True) -> "subprocess.CompletedProcess[str]":
        children = Path(f"/proc/{self._outer.pid}/task/{self._outer.pid}/children").read_text().split()
        enter = ["nsenter", "--target", children[0] if children else "0", "--all", "--"]
        done = subprocess.run([*enter, *words], capture_output=True, text=True)
        assert done.returncode == 0 or not check, f"{words}: {done.stdout}{done.stderr}"
        return done

    def shown(self, unit: str, key: str) -> str:
        return self.systemctl("show", "--value", "--property", key, unit).stdout.strip()

    def log(self, unit: str) -> str:
        return self.inside("cat", f"/opt/logs/{unit}.log").stdout
