"""`python -m ci_agent`."""

import sys

from ci_agent.cli import main

if __name__ == "__main__":
    sys.exit(main())
