"""Destinations of pages, one kind a file. A sink sends one message; what is sent when is the notifier's business."""

from streaming.sinks.sink import Message, Sink

__all__ = ["Message", "Sink"]
