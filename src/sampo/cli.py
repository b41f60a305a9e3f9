"""The command line: Lightning's, with sampo's subcommands, configs by name, and plain errors."""

from __future__ import annotations

import logging
import signal
import sys
import warnings
from pathlib import Path
from typing import Any

from lightning.pytorch.cli import LightningArgumentParser, LightningCLI
from lightning.pytorch.utilities.exceptions import SIGTERMException
from transformers.utils.logging import disable_progress_bar

from sampo.arena.command import main as arena
from sampo.cli_configs import ConfigParser, NamedConfigFile
from sampo.cli_failures import explain_failure, making_failed
from sampo.cloning import CloningModule
from sampo.data.datamodule import RolloutDataModule
from sampo.data.demonstration_data import DemonstrationDataModule
from sampo.module import SampoModule
from sampo.ranks import end_with_launcher, fail_as_rank
from sampo.resources import find_config
from sampo.trainer import SampoTrainer
from sampo.view.command import main as view
from sampo.world import lost_peer

_LIGHTNING_ARGS = {"model", "train_dataloaders", "val_dataloaders", "dataloaders", "datamodule"}
_BASES = {"clone": "base_clone"}
_ALONE = {"view": view, "arena": arena}
"""Subcommands that take no config of a run."""
_EPILOG = "A page about a run: sampo view --help. Methods compared: sampo arena --help."


class SampoCLI(LightningCLI):
    """`sampo fit | doctor | validate | evaluate | collect | clone | export`."""

    def __init__(self, args: list[str] | None = None) -> None:
        bases = {
            name: {"default_config_files": [str(find_config(_BASES.get(name, "base")))]}
            for name in self.subcommands()
        }
        super().__init__(
            SampoModule,
            RolloutDataModule,
            trainer_class=SampoTrainer,
            save_config_kwargs={"overwrite": True},
            seed_everything_default=0,
            auto_configure_optimizers=False,
            parser_kwargs={**bases, "epilog": _EPILOG},
            args=args,
        )

    @staticmethod
    def subcommands() -> dict[str, set[str]]:
        """Return the subcommands and the arguments that are not options."""
        names = ("fit", "doctor", "validate", "evaluate", "collect", "clone", "explain", "export")
        return dict.fromkeys(names, _LIGHTNING_ARGS)

    def init_parser(self, **kwargs: Any) -> LightningArgumentParser:
        """Return a parser that knows `--config NAME` and answers mistakes in one sentence."""
        parser = ConfigParser(allow_abbrev=False, **kwargs)
        parser.add_argument(
            "-c",
            "--config",
            "--engine",
            action=NamedConfigFile,
            help="A config file, or the name of a shipped one; later ones override earlier ones. "
            "`--engine openai` is short for `--config engines/openai`.",
        )
        return parser

    def add_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        """Link what must agree: tokenizer with policy, training with how was sampled."""
        parser.link_arguments("model.policy", "data.tokenizer")
        if self._model_class is SampoModule:
            for name in ("temperature", "max_new_tokens"):
                parser.link_arguments(f"data.sampling.{name}", f"model.{name}")
            parser.link_arguments("data.max_staleness", "model.max_staleness")

    def _prepare_subcommand_parser(
        self, klass: type, subcommand: str, **kwargs: Any
    ) -> LightningArgumentParser:
        self._choose_classes(subcommand)
        return super()._prepare_subcommand_parser(klass, subcommand, **kwargs)

    def _add_instantiators(self) -> None:
        self._choose_classes(str(self.subcommand))
        super()._add_instantiators()

    def _choose_classes(self, subcommand: str) -> None:
        """Cloning has a model and data of its own; all other subcommands share theirs."""
        cloning = subcommand == "clone"
        self._model_class = CloningModule if cloning else SampoModule
        self._datamodule_class = DemonstrationDataModule if cloning else RolloutDataModule

    def instantiate_classes(self) -> None:
        """Make everything that the config asks for, or say in one sentence what cannot be made."""
        try:
            super().instantiate_classes()
        except Exception as error:
            failure = making_failed(error)
            if failure is None:
                raise
            raise failure from error

    def _parse_ckpt_path(self) -> None:
        """Do nothing: Lightning would let the checkpoint override the command line."""


def main(args: list[str] | None = None) -> None:
    """Run the command line. Returns None, because a console script exits with what it returns."""
    given = sys.argv[1:] if args is None else args
    if given and given[0] in _ALONE:
        _ALONE[given[0]](given[1:])
        return
    _quieten()
    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))  # environments of one's own lie in the current folder
    end_with_launcher()
    try:
        cli = SampoCLI(args)
    except Exception as error:
        told = lost_peer(error) or error
        sentence = explain_failure(told)
        if sentence is None:
            raise
        fail_as_rank(sentence, told)
    except SIGTERMException:
        terminated = True
    else:
        terminated = cli.trainer.received_sigterm
    if terminated:
        sys.exit(128 + signal.SIGTERM)  # so that a scheduler does not take it for a finished run


def _quieten() -> None:
    """Silence messages of Lightning and transformers that say nothing to a user of sampo."""
    disable_progress_bar()
    logging.getLogger("lightning.pytorch.utilities.rank_zero").addFilter(
        lambda record: not record.getMessage().startswith(("GPU available", "TPU available", "💡"))
    )
    for message in (
        ".*does not have many workers.*",
        ".*IterableDataset` has `__len__` defined.*",
        ".*isinstance.treespec, LeafSpec.*",
        ".*Found .* module.s. in eval mode.*",
        ".*Trying to infer the `batch_size`.*",
        ".*The number of training batches .* is smaller than the logging interval.*",
        ".*recommended to use `self.log.*sync_dist=True.*",  # all ranks log the same
    ):
        warnings.filterwarnings("ignore", message=message)
