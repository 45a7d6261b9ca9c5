"""The benchmark of evenkeel's costs; ``docs/performance.md`` explains the figures. Run by ``python -m bench``."""
