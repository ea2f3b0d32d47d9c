"""Statistics of human ratings: arrays and columns in, tidy frames out.

Examples in docstrings take ``numpy`` as ``np``, ``pandas`` as ``pd`` and the names of their module
as imported. The tests run them.
"""
