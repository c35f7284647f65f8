"""Workloads: readers, filters and models."""
