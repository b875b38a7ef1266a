"""What ships with the package to try things on: a small wiki of the Solar System."""
