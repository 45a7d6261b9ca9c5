"""Destinations of pages, one kind a file. A sink sends one message; the notifier decides what is sent when."""
