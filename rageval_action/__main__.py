"""`python -m rageval_action` is the command `rageval`."""

from rageval_action.cli import main

if __name__ == "__main__":
    main()
