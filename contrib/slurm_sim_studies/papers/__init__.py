"""Papers: what was run, what they printed, and what comes out here.

A preset is an experiment file, named ``papers/pv_easy`` and so on wherever an experiment
file is. A module for each paper makes its tables again.
"""
