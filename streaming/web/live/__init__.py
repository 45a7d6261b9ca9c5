"""The current data of the pages, read from the tables in a separate thread."""
