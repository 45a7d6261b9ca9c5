"""Whether an installation is as it must be: each thing is fine, wrong, or not known. Nothing is written."""
