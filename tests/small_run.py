"""Options of a `sampo` command that make any run small: the corridor, two updates, no workers."""

from pathlib import Path


def small(policy: str, folder: str | Path, epochs: int = 1) -> list[str]:
    """Return the options; they come after those of a config."""
    return [
        f"--model.policy={policy}",
        f"--trainer.max_epochs={epochs}",
        f"--trainer.logger.init_args.save_dir={folder}",
        "--data.env=sampo.envs.Corridor",
        "--data.env.length=3",
        "--data.env.max_turns=2",
        "--data.groups_per_update=1",
        "--data.group_size=2",
        "--data.updates_per_epoch=2",
        "--data.sampling.max_new_tokens=2",
        "--data.eval_sampling.max_new_tokens=2",
        "--data.evaluation.num_tasks=1",
        "--data.workers.num_workers=0",
        "--data.context_length=1024",
    ]
