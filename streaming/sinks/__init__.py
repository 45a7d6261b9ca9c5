"""Where pages go: one destination a file. A sink takes a message or says why not; when and what is not its business."""

from streaming.sinks.sink import Message, Sink

__all__ = ["Message", "Sink"]
