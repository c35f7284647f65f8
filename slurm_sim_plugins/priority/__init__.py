"""Bundled plugins of the PriorityType slot: ``priority/<name>`` lies in ``<name>.py``."""
