"""The machine that honours Slurm's semantics and calls the hooks."""
