"""Bundled plugins of the SchedulerType slot: ``sched/<name>`` lies in ``<name>.py``."""
