"""WebShop as a text environment: turns, rewards, tasks and the expert around the pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import gymnasium

from sampo.envs import PromptFormat, TextEnv, task_of
from sampo.errors import ConfigError, EnvFailure, did_you_mean
from sampo_envs.splits import LazyNames, TaskNames
from sampo_envs.webshop.data import MADE_UP, data_folder
from sampo_envs.webshop.expert import advise
from sampo_envs.webshop.goals import Goal
from sampo_envs.webshop.pages import SEARCH, Site, Visit
from sampo_envs.webshop.prompt import WebShopPrompt
from sampo_envs.webshop.reward import Score, score
from sampo_envs.webshop.shop import Shop, open_shop
from sampo_envs.webshop.splits import (
    PAPER_TRAIN_SEEDS,
    PAPER_VAL_SEEDS,
    SPLITS,
    paper_order,
    paper_tasks,
)

SUCCESS_REWARD = 10.0
"""For buying exactly what was asked for."""
GOALS, SPLIT_RULES = ("synthetic", "human"), ("products", "paper_shuffled")


class WebShopEnv(TextEnv):
    """Find and buy a product that an instruction describes.

    Description:
        The text environment of WebShop: a shop with a search page, pages of results, pages of
        products with options and sub-pages, and a button that buys. Rules, pages, goals and
        ranking are the original's.

    Actions:
        `search[words]`, on every page, and `click[text]` for what the page offers; capitals and
        outer white space are ignored. Other text is a turn in which nothing happens.
        `info["admissible_actions"]` lists the clicks and, on the search page, the placeholder
        `search[<your query>]`.

    Observations:
        The visible texts of the page, joined by ` [SEP] `, character for character as in the
        original. The prompt formats shorten and cut them, see `WebShopPrompt`.

    Reward:
        10 for a purchase with a task score of 1, else 0, as in the paper. The task score and its
        parts are in `info["metrics"]`: type * (attributes + options + price) / (their number).

    Episode end:
        Terminated by a purchase (`success`: its task score is 1), else truncated after `max_turns`
        turns.

    State key:
        `(goal, page, query, page number, asin, chosen options)`.

    Differences from the original:
        Prices and price limits are drawn with a seed of their own (there, with whatever state
        Python's generator is in). The searches `<r>` (50 random products) and `<a>` (which fails
        there) are ordinary words. There are no ratings and reviews, as in the original's data, and
        the page of attributes, which it hides by default, is left out. The observation after a
        purchase is the original's; the paper's code shows the first page of another goal.

    Version history:
        1: first version.

    Args:
        data: `made-up` for the catalogue that comes with the package; `fetched` for the folder
            that `$SAMPO_WEBSHOP_DATA` names, or where `python -m sampo_envs.webshop.fetch` puts
            the real data; or the path of a folder.
        goals: `synthetic` (the paper's) or `human`.
        split: `products`: no product's goals are in two splits. `paper_shuffled`: what the paper's
            code does, in which training sees almost all validation goals; for reproduction only.
        price_seed: Seed of prices and price limits; 42 gives those of the recorded sessions.
        max_turns: Most turns of an episode.
        prompt_format: How it is talked to; None is `WebShopPrompt`.

    Raises:
        ConfigError: A setting that cannot work.
    """

    def __init__(
        self,
        *,
        data: str = MADE_UP,
        goals: Literal["synthetic", "human"] = "synthetic",
        split: Literal["products", "paper_shuffled"] = "products",
        price_seed: int = 42,
        max_turns: int = 15,
        prompt_format: PromptFormat | None = None,
    ) -> None:
        _check_choice("goals", goals, GOALS)
        _check_choice("split", split, SPLIT_RULES)
        if max_turns < 1:
            raise ConfigError(f"WebShop: max_turns is {max_turns}; it must be at least 1.")
        self.max_turns = max_turns
        self.prompt_format = prompt_format or WebShopPrompt()
        self._data, self._goals, self._price_seed = data, goals, price_seed
        self._split = split
        self._folder: Path | None = None
        self._goal: Goal | None = None
        self._visit = Visit()
        self._score: Score | None = None
        self._turn = 0

    def tasks(self, split: str) -> LazyNames:
        """Return the tasks of a split: `goal/index`, or with `paper_shuffled` `split/seed/index`.

        Raises:
            MissingDataError: The data are not there.
        """
        _check_choice("split of tasks", split, SPLITS)
        shop = self._shop()
        if self._split == "paper_shuffled":
            return paper_tasks(split, shop.num_goals)
        return TaskNames(shop.goals_of(SPLITS.index(split)), "goal")

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Open the search page with the goal of `options["task"]`; `seed` changes nothing.

        Raises:
            ConfigError: There is no such task.
            MissingDataError: The data are not there.
        """
        gymnasium.Env.reset(self, seed=seed)
        task = task_of(options, "") or self.tasks("train")[0]
        self._goal = self._shop().goal(self._goal_index(task))
        self._visit, self._score, self._turn = Visit(), None, 0
        return self._answer()

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Follow a link, search, buy, or waste a turn.

        Raises:
            EnvFailure: There is no episode, or it has ended.
        """
        goal = self._playing()
        if self._score is not None or self._turn >= self.max_turns:
            raise EnvFailure("WebShop: the episode has ended. Call reset before the next step.")
        self._turn += 1
        self._visit = self._site(goal).follow(self._visit, action.strip().lower())
        if self._visit.page == "done":
            self._score = self._judge(goal)
        terminated = self._score is not None
        truncated = not terminated and self._turn >= self.max_turns
        observation, info = self._answer()
        reward = SUCCESS_REWARD if info["success"] else 0.0
        return observation, reward, terminated, truncated, info

    def state_key(self) -> tuple[Any, ...]:
        """Return `(goal, page, query, page number, asin, chosen options)`."""
        goal, visit = self._playing(), self._visit
        return (goal.index, *visit[:-1], tuple(sorted(visit.options)))

    def expert_action(self) -> str | None:
        """Return the next step towards buying the goal's product with its options.

        That purchase does not always have a task score of 1: see the figures in the README.
        """
        return advise(self._visit, self._playing(), self._shop().search)

    def render(self) -> str:
        """Return the texts of the page, one per line."""
        return self._text(self._playing()).replace(" [SEP] ", "\n")

    def _answer(self) -> tuple[str, dict[str, Any]]:
        """Return the observation and the info of the present page."""
        goal = self._playing()
        clicks = [f"click[{text}]" for text in self._site(goal).clickables(self._visit)]
        if self._visit.page == "start":
            clicks = ["search[<your query>]", *clicks]
        got = self._score
        return self._text(goal), {
            "admissible_actions": [text for text in clicks if text != f"click[{SEARCH.lower()}]"],
            "success": got is not None and got.total == 1.0,
            "task_type": goal.product.category,
            "metrics": {
                "task_score": got.total if got else 0.0,
                "type_score": got.type_factor if got else 0.0,
                "attribute_score": got.attributes if got else 0.0,
                "option_score": got.options if got else 0.0,
                "price_score": got.price if got else 0.0,
            },
        }

    def _text(self, goal: Goal) -> str:
        return self._site(goal).text(self._visit, self._score.total if self._score else None)

    def _judge(self, goal: Goal) -> Score:
        visit, shop = self._visit, self._shop()
        assert visit.asin is not None
        chosen = [value for _, value in visit.options]
        return score(shop.product(visit.asin), chosen, shop.price(visit.asin), goal)

    def _site(self, goal: Goal) -> Site:
        shop = self._shop()
        return Site(goal.instruction, product=shop.product, search=shop.search)

    def _shop(self) -> Shop:
        """Return the shop; it is one per process, and not part of this object's state."""
        if self._folder is None:
            self._folder = data_folder(self._data)
        return open_shop(self._folder, self._goals, self._price_seed)

    def _goal_index(self, task: str) -> int:
        """Return the goal of a task."""
        shop = self._shop()
        kind, *numbers = task.split("/")
        if all(number.isdecimal() for number in numbers):
            places = [int(number) for number in numbers]
            if len(places) == 1 and kind == "goal" and places[0] < shop.num_goals:
                return places[0]
            seeds = {"train": PAPER_TRAIN_SEEDS, "val": PAPER_VAL_SEEDS}.get(kind, ())
            if len(places) == 2 and places[0] in seeds and places[1] < shop.num_goals:
                return paper_order(places[0], shop.num_goals)[places[1]]
        raise ConfigError(
            f"WebShop: there is no task {task!r}. Tasks are 'goal/0' to 'goal/{shop.num_goals - 1}'"
            ", or 'train/seed/index' and 'val/seed/index' of the split paper_shuffled."
        )

    def _playing(self) -> Goal:
        """Return the goal of the episode, which must have been started."""
        if self._goal is None:
            raise EnvFailure("WebShop: there is no episode yet. Call reset first.")
        return self._goal


def _check_choice(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ConfigError(
            f"WebShop: there is no {name} {value!r}; there are {', '.join(known)}."
            f"{did_you_mean(value, known)}"
        )
