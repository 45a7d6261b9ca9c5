"""A compressed file that a killed process left is continued, and all that is whole in it can be read."""

import gzip
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from streaming.collector.output.json_lines import open_to_append

WRITE = """
import sys, time
from pathlib import Path
from streaming.collector.output.json_lines import open_to_append
stream = open_to_append(Path(sys.argv[1]))
for number in range(1_000):
    stream.write(b"killed %d\\n" % number)
    stream.flush()
print("written", flush=True)
stream.write(b"half a line")
time.sleep(60)
"""


def append(path: Path, text: bytes) -> None:
    with open_to_append(path) as stream:
        stream.write(text)


def test_killed_process_loses_no_line_that_it_had_written(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl.gz"
    append(path, b"before\n")
    with subprocess.Popen([sys.executable, "-c", WRITE, str(path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"written\n"
        os.kill(process.pid, signal.SIGKILL)
    append(path, b"after\n")
    lines = gzip.decompress(path.read_bytes()).splitlines()
    assert lines == [b"before", *(b"killed %d" % number for number in range(1_000)), b"after"]


@pytest.mark.parametrize("members", [1, 2])
def test_file_cut_at_any_byte_is_continued(members: int, tmp_path: Path) -> None:
    path = tmp_path / "x.gz"
    for number in range(members):
        append(path, b"".join(b"%d of %d\n" % (line, number) for line in range(5)))
    whole = path.read_bytes()
    text = gzip.decompress(whole)
    for length in range(len(whole) + 1):
        path.write_bytes(whole[:length])
        append(path, b"after\n")
        read = gzip.decompress(path.read_bytes())
        kept, _, last = read.rpartition(b"after\n")
        assert text.startswith(kept)
        assert kept == b"" or kept.endswith(b"\n")
        assert last == b""
    assert kept == text


def test_file_that_is_none_is_not_made_worse(tmp_path: Path) -> None:
    path = tmp_path / "x.gz"
    append(path, b"one\n")
    path.write_bytes(path.read_bytes() + b"\0no gzip")
    append(path, b"two\n")
    assert gzip.decompress(path.read_bytes()) == b"one\ntwo\n"
