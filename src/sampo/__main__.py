"""`sampo` and `python -m sampo`.

A page about a run reads files only, and an arena starts processes: neither imports torch.
"""

import sys

_WRONG_TORCHVISION = (
    "sampo: error: torchvision does not fit torch ({}). pip takes one made for CUDA, even where "
    "torch is a CPU build. sampo needs none: pip uninstall -y torchvision torchaudio torchcodec "
    "triton"
)


def main() -> None:
    """Run the command line."""
    if sys.argv[1:2] == ["view"]:  # `sampo.cli.main` knows it, too, but takes seconds to import
        from sampo.view.command import main as view

        view(sys.argv[2:])
    elif sys.argv[1:2] == ["arena"]:
        from sampo.arena.command import main as arena

        arena(sys.argv[2:])
    else:
        try:
            from sampo.cli import main as run
        except RuntimeError as error:
            if "torchvision::" not in str(error):
                raise
            sys.exit(_WRONG_TORCHVISION.format(error))
        run()


if __name__ == "__main__":
    main()
