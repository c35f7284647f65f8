"""Slurm's controller: what happens around its plugins. Modules are named as in Slurm's own tree, where it has one."""
