"""How nodes are wired, by the names of ``TopologyPlugin``: ``topology/<name>`` lies in ``<name>.py``."""
