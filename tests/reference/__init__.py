"""Slow schedulers, written from the specification alone: what the product must agree with."""
