"""The pure core: values in, values out.

May import: the standard library's pure parts, numpy, msgspec, `rageval_action.errors`. No clock, path, network,
global random state or log. To extend: a measure is one function and one line in `measures.MEASURES`.
"""
