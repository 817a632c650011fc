"""What checks share that read the sources of the target and import none of them.

Python 3.8, standard library only.
"""
