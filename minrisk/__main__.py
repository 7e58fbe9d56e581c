"""`python -m minrisk` is the command `minrisk`."""

from minrisk.cli import main

if __name__ == "__main__":
    main()
