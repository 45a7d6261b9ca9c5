"""A network between a client and a server that a test can cut."""

import asyncio
from collections.abc import Callable


def _nothing(_: bytes) -> None:
    pass


class Proxy:
    """Passes bytes between its clients and one server, in both directions. ``asked`` gets those for the server, when
    they are sent to it.

    While it is cut, bytes and new connections wait. They go on afterwards, also those of a client that was killed: TCP
    sends again what was lost. It does not if the client has reset the connection.
    """

    def __init__(self, target: str, asked: Callable[[bytes], None] = _nothing) -> None:
        self._asked = asked
        self._host, _, port = target.rpartition(":")
        self._port = int(port)
        self._is_whole = asyncio.Event()
        self._is_whole.set()
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self, port: int = 0) -> str:
        """Listens; returns the address, which clients are to use instead of the server's."""
        self._server = await asyncio.start_server(self._take, "127.0.0.1", port)
        return f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def cut(self) -> None:
        self._is_whole.clear()

    def mend(self) -> None:
        self._is_whole.set()

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._is_whole.wait()
            from_server, to_server = await asyncio.open_connection(self._host, self._port)
        except OSError:  # the server is away
            writer.close()
            return
        except asyncio.CancelledError:
            writer.transport.abort()
            raise
        await asyncio.gather(self._pass(reader, to_server, self._asked), self._pass(from_server, writer, _nothing))

    async def _pass(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, passed: Callable[[bytes], None]
    ) -> None:
        try:
            while data := await source.read(1 << 16):
                await self._is_whole.wait()
                if source.exception() is not None:
                    break
                passed(data)
                sink.write(data)
                await sink.drain()
            await self._is_whole.wait()
        except OSError:  # one side has broken the connection
            pass
        finally:
            sink.close()
