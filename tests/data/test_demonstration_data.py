"""Batches of demonstrations: a partition per epoch, in a seeded order, that resumes exactly."""

from itertools import chain

import pytest

from sampo.data.demonstration_data import DemonstrationDataModule
from sampo.data.demonstrations import write_demonstrations
from sampo.data.settings import EvaluationSettings, WorkerSettings
from sampo.envs import Corridor
from sampo.episode import Episode, StopReason, Turn
from sampo.errors import ConfigError, MissingDataError
from sampo.rollout.conversation import WindowContext
from sampo.rollout.scripted_engine import ScriptedEngine
from tiny import save_tiny_policy


@pytest.fixture(scope="module")
def policy_folder(tmp_path_factory):
    return save_tiny_policy(tmp_path_factory.mktemp("policy"))


def demonstration(number):
    """Return an episode of one turn that can be told from others by its observation."""
    turn = Turn(
        observation=f"at {number} door 9",
        reply="<action>right</action>",
        action="right",
        reward=0.0,
        admissible_actions=("left", "right"),
    )
    return Episode(
        task=f"{number}>9", seed=0, turns=(turn,), success=True, stop_reason=StopReason.TERMINATED
    )


@pytest.fixture
def make(tmp_path, policy_folder):
    path = tmp_path / "demos.parquet"
    write_demonstrations(path, [demonstration(n) for n in range(7)], policy="expert")

    def build(**options):
        options = {"demonstrations": str(path), "batch_episodes": 3, "seed": 0, **options}
        return DemonstrationDataModule(
            env=Corridor(length=10),
            tokenizer=policy_folder,
            engine=ScriptedEngine(["<action>left</action>"]),
            context=WindowContext(),
            workers=WorkerSettings(num_workers=0),
            evaluation=EvaluationSettings(num_tasks=2),
            **options,
        )

    return build


def epoch(data):
    """Return the numbers of the demonstrations in each batch of the next epoch."""
    batches = []
    for batch in data.train_dataloader():
        texts = data.renderer.tokenizer.batch_decode(batch.token_ids)
        batches.append([int(text.split("at ")[-1].split(" ")[0]) for text in texts])
    return batches


def ready(data):
    data.setup("fit")
    return data


def test_an_epoch_shows_every_demonstration_once_in_even_batches(make):
    data = ready(make())
    batches = epoch(data)
    assert sorted(len(batch) for batch in batches) == [2, 2, 3]
    assert sorted(chain(*batches)) == list(range(7))
    assert len(data.train_dataloader()) == 3


def test_the_order_differs_per_epoch_and_repeats_per_seed(make):
    data, same, other = ready(make()), ready(make()), ready(make(seed=1))
    first, second = epoch(data), epoch(data)
    assert first != second
    assert [epoch(same), epoch(same)] == [first, second]
    assert epoch(other) != first


def test_it_goes_on_in_the_middle_of_an_epoch(make):
    data = ready(make())
    whole = epoch(data) + epoch(data)
    broken = ready(make())
    batches = iter(broken.train_dataloader())
    for _ in range(2):
        next(batches)
    resumed = ready(make(seed=5))
    resumed.load_state_dict(broken.state_dict())
    assert epoch(resumed) + epoch(resumed) == whole[2:]


def test_validation_is_the_rollouts(make):
    data = ready(make())
    (episodes,) = data.val_dataloader()
    assert [episode.task for episode in episodes] == list(Corridor(length=10).tasks("val"))[:2]
    data.teardown("fit")


def test_a_number_of_demonstrations(make):
    assert sorted(chain(*epoch(ready(make(max_demonstrations=4))))) == [0, 1, 2, 3]


def test_demonstrations_that_do_not_fit_are_said(make):
    with (
        pytest.raises(ConfigError, match=r"Raise data\.context_length"),
        pytest.warns(UserWarning, match="7 of 7 demonstrations do not fit"),
    ):
        make(context_length=8).setup("fit")


def test_missing_file_is_said_at_the_start(make):
    with pytest.raises(MissingDataError, match="sampo collect"):
        make(demonstrations="no.parquet").setup("fit")


def test_numbers_are_positive(make):
    with pytest.raises(ConfigError, match="at least 1, got 0 and None"):
        make(batch_episodes=0)
