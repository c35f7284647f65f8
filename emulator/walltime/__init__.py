"""Walltime adjustment judged on a log, without simulation: what would each scheme have predicted?"""
