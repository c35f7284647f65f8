"""Bundled plugins of the PreemptType slot: ``preempt/<name>`` lies in ``<name>.py``."""
