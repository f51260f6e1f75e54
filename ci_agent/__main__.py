"""`python -m ci_agent`."""

import gc
import os
import sys

# Both are for events that start nothing. A start allocates much and frees nothing, so collecting is put off until a
# conversation begins (`answer.converse`); and there are no pydantic plugins here that would have to be looked for.
gc.disable()
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1")

from ci_agent.cli import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
