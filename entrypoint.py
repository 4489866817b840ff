"""The image's entry point: `rageval action`, whatever else is on the command line."""

import sys

from rageval_action.cli import main

if __name__ == "__main__":
    sys.argv[1:] = ["action"]
    main()
