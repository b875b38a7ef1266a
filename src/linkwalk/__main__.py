"""``python -m linkwalk`` is the command line."""

from linkwalk.cli import main

if __name__ == "__main__":
    main()
