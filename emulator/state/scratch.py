"""What is no state of a simulation."""


class Scratch:
    """What is worked out again when it is wanted, or is of this process only: a snapshot does not look into it.

    It has to be there from the beginning.
    """
