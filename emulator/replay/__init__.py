"""A log of a real Slurm run again on a configuration, and what came of it beside what really happened."""
