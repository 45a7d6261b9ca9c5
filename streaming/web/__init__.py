"""``evenkeel web``: the contents of the tables in a browser. It shows the same facts as pages and ``explain``."""
