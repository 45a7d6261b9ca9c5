"""The JSON API under ``/api/v1``: the contents of the pages as JSON."""
