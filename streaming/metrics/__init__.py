"""The metrics of evenkeel and of the groups for Prometheus: the catalogue, the text format and its HTTP server."""
