"""What the pages show, as JSON, under ``/api/v1``."""
