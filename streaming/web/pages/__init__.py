"""From a request to what a page shows."""
