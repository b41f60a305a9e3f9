"""Every episode of a rollout is recorded once, with what became of it."""

from sampo.data.group_rollout import Rollout
from sampo.data.rollout_records import rollout_records
from sampo.episode import Episode, EpisodeGroup, StopReason, Turn


def episode(name: str, task: str, *, turns: int = 2) -> Episode:
    turn = Turn(observation="o", reply="r", action="a", reward=0.0)
    return Episode(
        task=task,
        seed=1,
        turns=(turn,) * turns,
        success=False,
        stop_reason=StopReason.TERMINATED,
        task_type=name,
    )


def group(task: str, *names: str) -> EpisodeGroup:
    return EpisodeGroup(task=task, seed=1, episodes=tuple(episode(n, task) for n in names))


ROLLOUT = Rollout(
    update=4,
    groups=(group("t0", "a", "b"), group("t1", "c")),
    dropped=((group("t2", "d"), "all_failed"),),
    rejected=((episode("x", "t0", turns=5), 0, "overlong"), (episode("y", "t2"), 2, "void_turn")),
    baselines=(episode("g", "t1"),),
    failed=(episode("f", "t3"),),
    num_filled=1,
)


def test_order_groups_and_reasons():
    told = [(r.episode.task_type, r.group, r.drop_reason) for r in rollout_records(ROLLOUT)]
    assert told == [
        ("a", 0, None),
        ("b", 0, None),
        ("x", 0, "overlong"),
        ("c", 1, None),
        ("d", 2, "all_failed"),
        ("y", 2, "void_turn"),
        ("g", 1, "greedy_baseline"),
        ("f", -1, "failed"),
    ]
    assert {r.update for r in rollout_records(ROLLOUT)} == {4}
    assert all(r.kept == (r.drop_reason is None) for r in rollout_records(ROLLOUT))


def test_the_last_groups_were_filled_in():
    assert [r.episode.task_type for r in rollout_records(ROLLOUT) if r.filled] == ["c"]


def test_advantages_go_to_the_turns_that_are_trained_on():
    # Episodes a, b and c have two turns each; x, between them, is not trained on.
    records = rollout_records(ROLLOUT, [0.1, 0.2, 0.3, None, 0.5])
    advantages = {r.episode.task_type: r.advantages for r in records if r.advantages}
    assert advantages == {"a": (0.1, 0.2), "b": (0.3, None), "c": (0.5, None)}
