"""Bundled plugins of the SelectType slot: ``select/<name>`` lies in ``<name>.py``."""
