"""``evenkeel web``: what the tables tell, for a browser. It shows the same facts as pages and ``explain``."""
