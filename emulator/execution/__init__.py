"""How a running job progresses: work left and a rate."""
