"""Names, numbers and times as people read them. Pure. Control characters in names are made visible."""
