"""Rules of security: which users may read or silence, and what a browser is allowed to do with a page."""
