"""The commands that studies add to ``slurm-sim``."""
