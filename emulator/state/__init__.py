"""The state of the simulated cluster, and which changes of it are legal."""
