"""Connections share one budget: their memory is bounded, and every answer is read in the end."""

import asyncio
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streaming.collector.wire import requests
from streaming.collector.wire.client import RemotingClient
from streaming.collector.wire.connection import Budget
from streaming.collector.wire.requests import MOST_BYTES
from tests.collector.test_frames import response

PIECE, MOST, LONGEST = 10, 100, 90


class Sender:
    """A connection whose other side sends one answer of ``length`` bytes, piece by piece."""

    def __init__(self, budget: Budget, length: int) -> None:
        self.budget, self.left, self.held, self.reads = budget, length, 0, True

    def pause(self) -> None:
        assert self.reads
        self.reads = False

    def resume(self) -> None:
        assert not self.reads
        self.reads = True

    def send(self) -> None:
        piece = min(PIECE, self.left)
        self.left -= piece
        self.held = self.held + piece if self.left else 0
        self.budget.note(self, self.held)

    def break_off(self) -> None:
        self.left = self.held = 0
        self.reads = True  # what is closed is not read, and nobody asks
        self.budget.note(self, 0)


@pytest.mark.slow("many rounds are asked")
@given(st.lists(st.integers(1, LONGEST), min_size=1, max_size=30), st.data())
def test_memory_is_bounded_and_every_answer_ends(lengths: list[int], data: st.DataObject) -> None:
    budget = Budget(MOST)
    senders = [Sender(budget, length) for length in lengths]
    while unfinished := [one for one in senders if one.left]:
        able = [one for one in unfinished if one.reads]
        assert able, "nobody may go on: a deadlock"
        one = data.draw(st.sampled_from(able))
        one.break_off() if data.draw(st.integers(0, 9)) == 0 else one.send()
        assert budget.used == sum(sender.held for sender in senders)
        assert budget.used <= MOST + LONGEST + PIECE * len(senders)
    assert budget.used == 0


def test_answer_that_is_longer_than_its_request_may_bring_is_refused() -> None:
    async def ask(length: int) -> str | None:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(1000)
            writer.write(response(1, body=b" " * length))
            with suppress(OSError):
                await reader.read()
            writer.transport.abort()
            over.set()

        over = asyncio.Event()
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        client = RemotingClient(5)
        port = server.sockets[0].getsockname()[1]
        reply = await client.ask(f"127.0.0.1:{port}", requests.consumer_list("g"), 5)
        await client.close()
        await over.wait()
        server.close()
        await server.wait_closed()
        return reply.error

    assert asyncio.run(ask(MOST_BYTES)) is None
    assert "a frame of" in str(asyncio.run(ask(MOST_BYTES + 100_000)))
