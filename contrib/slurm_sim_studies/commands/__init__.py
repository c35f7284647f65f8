"""The commands that studies add to ``slurm-sim``."""

from slurm_sim_studies.commands import (
    reproduce_migration,
    reproduce_optimum,
    reproduce_realtime,
    reproduce_walltime,
)
from slurm_sim_studies.commands.reproduce import reproduce

reproduce.add_command(reproduce_walltime.walltime)
reproduce.add_command(reproduce_optimum.optimum)
reproduce.add_command(reproduce_realtime.realtime)
reproduce.add_command(reproduce_migration.migration)
