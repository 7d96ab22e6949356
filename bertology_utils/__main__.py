"""`python -m bertology_utils` is the command line. Depends on cli only."""

import sys

from bertology_utils.cli import main

if __name__ == "__main__":  # worker processes import this module again
    sys.exit(main())
