"""One collector of several asks each cluster, and another one takes over when it ends."""
