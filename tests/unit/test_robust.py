"""What goes wrong ends in words, and keeps what happened before."""
