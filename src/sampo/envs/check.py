"""The checker that comes with the environment contract.

`check_env` plays a few short episodes and raises one clear sentence for the first law that does
not hold. Meant for a test of every environment; it needs no model. Laws that no test can prove
(that equal state keys mean equal futures) are probed only.
"""

from __future__ import annotations

import copy
import random
import warnings
from collections.abc import Sequence
from itertools import islice

from gymnasium.utils.env_checker import check_env as check_gymnasium_env

from sampo.envs.base import TextEnv
from sampo.envs.prompt import PromptFormat, PromptView
from sampo.envs.protocol import EnvReply
from sampo.envs.replays import Record, check_other_process, check_repetition, play
from sampo.envs.slots import one_line
from sampo.errors import EnvFailure

GARBAGE = (
    "",
    " \n\t",
    "x" * 10_000,
    "日本語 \u202e \x00 🚪",
    "<think></think><action>go</action>",
    "<action><action></think>",
    "{0} %s ${HOME} \\",
)
"""Actions that no world understands and every world has to bear."""

_SPLITS = ("train", "val", "test")
_MOST_TASKS = 10_000


def check_env(env: TextEnv, *, split: str = "train", episodes: int = 4, seed: int = 0) -> None:
    """Check an environment against gymnasium's rules and the laws of `TextEnv`.

    The environment itself is left alone; copies are played.

    Args:
        env: The prototype.
        split: Split whose tasks are played.
        episodes: Episodes per check; also the most tasks that an expert is tried on.
        seed: Of the tasks, of the resets and of the random actions.

    Raises:
        EnvFailure: A law does not hold; the message says which one, and where.
    """
    try:
        _check_attributes(env)
        tasks = _check_tasks(env, split)
        _check_with_gymnasium(env)
        rng = random.Random(seed)
        chosen = [tasks[rng.randrange(len(tasks))] for _ in range(episodes)]
        for task in chosen:
            record = play(env, task, seed, lambda reply: _random_action(reply, rng))
            _check_prompts(env.prompt_format, record)
            check_repetition(env, record)
        check_other_process(env, play(env, chosen[0], seed, lambda r: _random_action(r, rng)))
        for garbage in GARBAGE:
            play(env, chosen[0], seed, lambda _, garbage=garbage: garbage)
        _check_expert(env, chosen, seed)
    except EnvFailure as failure:
        raise EnvFailure(f"{type(env).__name__} breaks its contract: {failure}.") from failure


def _check_attributes(env: TextEnv) -> None:
    if not isinstance(env, TextEnv):
        raise EnvFailure("it is not a subclass of sampo.envs.TextEnv")
    try:
        prompt_format, max_turns = env.prompt_format, env.max_turns
    except AttributeError as error:
        raise EnvFailure(f"{error}; set it in __init__") from error
    if not isinstance(prompt_format, PromptFormat):
        raise EnvFailure(f"prompt_format is {prompt_format!r}, which is not a PromptFormat")
    if not isinstance(max_turns, int) or max_turns < 1:
        raise EnvFailure(f"max_turns is {max_turns!r}, which is not a positive int")


def _check_tasks(env: TextEnv, split: str) -> Sequence[str]:
    seen: dict[str, str] = {}
    for name in _SPLITS:
        tasks = list(islice(iter(env.tasks(name)), _MOST_TASKS))
        if tasks != list(islice(iter(env.tasks(name)), _MOST_TASKS)):
            raise EnvFailure(f"tasks({name!r}) has no fixed order")
        for task in tasks:
            if not isinstance(task, str):
                raise EnvFailure(f"tasks({name!r}) holds {task!r}, which is not a str")
            if task in seen:
                raise EnvFailure(f"the task {task!r} of {name} is also one of {seen[task]}")
            seen[task] = name
    tasks = env.tasks(split)
    if not len(tasks):
        raise EnvFailure(f"tasks({split!r}) is empty")
    return tasks


def _check_with_gymnasium(env: TextEnv) -> None:
    env = copy.deepcopy(env)
    # Other render modes can only be tried on registered environments.
    skip_render = env.spec is None or env.render_mode is None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            check_gymnasium_env(env, skip_render_check=skip_render)
        except EnvFailure:
            raise
        except Exception as error:
            # Broad on purpose: whatever the environment or gymnasium's checker raises is the news.
            raise EnvFailure(f"gymnasium's check says: {one_line(error)}") from error
    for warning in caught:
        if "WARN:" in str(warning.message):
            raise EnvFailure(f"gymnasium's check warns: {' '.join(str(warning.message).split())}")
    env.close()


def _check_prompts(prompt: PromptFormat, record: Record) -> None:
    first = record.replies[0]
    history: list[tuple[str, str]] = []
    for turn, reply in enumerate(record.replies):
        view = PromptView(
            observation=reply.observation,
            first_observation=first.observation,
            history=tuple(history[-2:]),
            turn=turn,
            admissible_actions=reply.admissible_actions,
        )
        for text in (prompt.message(view), prompt.followup(view)):
            if not isinstance(text, str):
                raise EnvFailure(f"prompt_format made a message of type {type(text).__name__}")
        actions = dict.fromkeys(reply.admissible_actions or ())
        if reply.expert_action is not None:
            actions[reply.expert_action] = None
        for action in actions:
            parsed = prompt.parse(prompt.reply(action), reply.admissible_actions)
            if parsed.action != action or not parsed.valid:
                raise EnvFailure(
                    f"prompt_format reads {prompt.reply(action)!r}, its own reply for the action "
                    f"{action!r}, as {parsed}"
                )
        if turn < len(record.actions):
            history.append((reply.observation, record.actions[turn]))
    for garbage in GARBAGE:
        prompt.parse(garbage, first.admissible_actions)


def _check_expert(env: TextEnv, tasks: Sequence[str], seed: int) -> None:
    records = [play(env, task, seed, lambda reply: reply.expert_action) for task in tasks]
    asked = [record for record in records if record.actions]
    if asked and not any(record.replies[-1].success for record in asked):
        raise EnvFailure(f"expert_action() solved none of the tasks {sorted(set(tasks))}")


def _random_action(reply: EnvReply, rng: random.Random) -> str:
    """Return an admissible action; now and then the expert's, or garbage."""
    if reply.expert_action is not None and rng.random() < 0.3:
        return reply.expert_action
    if reply.admissible_actions and rng.random() < 0.9:
        return rng.choice(reply.admissible_actions)
    return rng.choice(GARBAGE)
