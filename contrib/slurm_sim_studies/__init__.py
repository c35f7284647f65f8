"""Studies that were made with the emulator: papers made again, and best schedules beside those of policies.

They use :mod:`emulator`; nothing of it uses them. Their commands are loaded when they are called.
"""
