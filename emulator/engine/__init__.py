"""Event heap, clock, loop, and the only code that changes state."""
