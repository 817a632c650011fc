"""Programs for the Python of a cluster.

Their folder stands first on the path of that Python: no file here has the name of a library.
"""
