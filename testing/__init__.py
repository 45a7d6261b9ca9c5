"""What tests, benchmarks and scripts share. It is not in the package that users install."""
