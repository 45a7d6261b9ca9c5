"""Handlers that turn a request into the values of a page."""
