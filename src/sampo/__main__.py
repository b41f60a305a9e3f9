"""`sampo` and `python -m sampo`.

A page about a run reads files only, and an arena starts processes: neither imports torch.
"""

import sys


def main() -> None:
    """Run the command line."""
    if sys.argv[1:2] == ["view"]:  # `sampo.cli.main` knows it, too, but takes seconds to import
        from sampo.view.command import main as view

        view(sys.argv[2:])
    elif sys.argv[1:2] == ["arena"]:
        from sampo.arena.command import main as arena

        arena(sys.argv[2:])
    else:
        from sampo.cli import main as run

        run()


if __name__ == "__main__":
    main()
