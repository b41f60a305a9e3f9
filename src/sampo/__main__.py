"""`python -m sampo`."""

from sampo.cli import main

if __name__ == "__main__":
    main()
