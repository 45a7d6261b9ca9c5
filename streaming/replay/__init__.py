"""A recording, or a file of events, through the whole pipeline from end to end."""
