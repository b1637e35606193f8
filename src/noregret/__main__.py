"""`python -m noregret` is the program `noregret`."""

from noregret.cli.main import main

if __name__ == "__main__":
    main()
