"""Who may read, who may silence, and what a browser is allowed to do with a page."""
