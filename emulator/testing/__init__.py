"""For tests: of the emulator, and of plugins."""
