"""The image as deploy/container/build makes it, and containers of it without an engine: namespaces, a read-only root
file system, a user without any right.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).parents[2]
NAME = "evenkeel:test"
NEEDED = ("buildah", "debootstrap", "unshare", "nsenter", "chroot")
USER = ("setpriv", "--reuid=10001", "--regid=10001", "--clear-groups", "--bounding-set=-all", "--no-new-privs")
# $1: the root of the image, $2: the volume, $3: the folder of the configuration. What follows is executed.
BEGIN = """set -e
mount --bind "$1" "$1"
mount -o remount,bind,ro "$1"
mount --bind "$2" "$1/var/lib/evenkeel"
mount --bind "$3" "$1/etc/evenkeel"
mount -o remount,bind,ro "$1/etc/evenkeel"
mount --bind /etc/hosts "$1/etc/hosts"
mount --bind /etc/resolv.conf "$1/etc/resolv.conf"
mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs "$1/tmp"
mount -t proc proc "$1/proc"
mount --rbind /dev "$1/dev"
root=$1
shift 3
exec chroot "$root" "$@"
"""


def missing() -> str:
    """The reason why no image can be built here, or nothing."""
    if os.geteuid() != 0:
        return "only root can build and mount an image without an engine"
    if any(shutil.which(program) is None for program in NEEDED):
        return "buildah or debootstrap is missing: apt-get install buildah debootstrap"
    return ""


class Image:
    """Built in a storage of its own, below ``folder``. Its root file system is mounted at ``root``."""

    def __init__(self, folder: Path) -> None:
        storage = folder / "storage.conf"
        storage.write_text(f'[storage]\ndriver = "vfs"\ngraphroot = "{folder}/images"\nrunroot = "{folder}/run"\n')
        self._environment = {**os.environ, "CONTAINERS_STORAGE_CONF": str(storage), "TMPDIR": str(folder)}
        self._answer(ROOT / "deploy" / "container" / "build", NAME)
        inspected = json.loads(self._answer("buildah", "inspect", "--type", "image", NAME))
        self.settings: dict[str, Any] = inspected["Docker"]["config"]
        self.layers: list[int] = [
            one["size"] for one in json.loads(inspected["Manifest"])["layers"]
        ]  # the lowest first
        self.root = Path(self._answer("buildah", "mount", self._answer("buildah", "from", NAME).strip()).strip())

    def remove(self) -> None:
        self._answer("buildah", "rm", "--all")
        self._answer("buildah", "rmi", "--all", "--force")

    def as_user(self, *words: str) -> list[str]:
        """The command as the image's user, in its environment and folder."""
        return [*USER, "env", "-i", "-C", self.settings["WorkingDir"], *self.settings["Env"], *words]

    def _answer(self, *words: str | Path) -> str:
        done = subprocess.run(words, env=self._environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-5000:]
        return done.stdout


class Container:
    """A process of the image with the network of this machine. It can write to ``volume`` and /tmp alone."""

    def __init__(self, image: Image, volume: Path, configuration: Path, words: Sequence[str]) -> None:
        self._image = image
        self._log = volume.parent / "container.log"
        os.chown(volume, 10001, 10001)
        namespaces = ["unshare", "--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child"]
        begin = ["sh", "-c", BEGIN, "sh", str(image.root), str(volume), str(configuration)]
        command = [*namespaces, *begin, *image.as_user(*image.settings["Entrypoint"], *words)]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace")

    @property
    def first(self) -> psutil.Process:
        """Process 1 of the container."""
        (first,) = psutil.Process(self._process.pid).children()
        return first

    def is_running(self) -> bool:
        return self._process.poll() is None

    def is_healthy(self, address: str) -> bool:
        """Whether the image's health check succeeds in the container, when it asks this address."""
        kind, *check = self._image.settings["Healthcheck"]["Test"]
        assert kind == "CMD"
        inside = ["nsenter", f"--target={self.first.pid}", "--mount", "--pid", "--root"]
        words = self._image.as_user("env", f"EVENKEEL_HEALTHZ={address}", *check)
        return subprocess.run([*inside, *words], capture_output=True, timeout=60).returncode == 0

    def wait(self, within_s: float) -> int:
        return self._process.wait(within_s)

    def close(self) -> None:
        self._process.kill()  # --kill-child ends all processes of the container
        self._process.wait()
