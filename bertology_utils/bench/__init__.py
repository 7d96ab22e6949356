"""Speed beside the peers: every benchmark does the same work the plain way and ours in one run, and checks that they
agree. `measure` times, `registry` lists, the other modules prepare the work.
"""
