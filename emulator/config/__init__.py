"""Configuration: options of a simulation, experiment files."""
