"""What evenkeel tells Prometheus of itself and of the groups: the catalogue, the text format and its HTTP server."""
