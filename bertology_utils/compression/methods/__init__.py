"""Every row of Table 1 re-enacted at pocket size by one engine; `registry.METHODS` lists them.

`lesson` is what a method is given and gives back, `problems` the tasks, `traces` the inside of a network; the other
modules hold the methods, a family each.
"""
