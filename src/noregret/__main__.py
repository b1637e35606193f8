"""`python -m noregret` is the program `noregret`."""

from noregret.cli.start import run

if __name__ == "__main__":
    run()
