"""Bundled plugins of the WalltimeType slot: ``walltime/<name>`` lies in ``<name>.py``."""
