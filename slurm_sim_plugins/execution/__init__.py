"""Bundled plugins of the ExecutionType slot: ``execution/<name>`` lies in ``<name>.py``."""
