"""Metrics of hand-made episodes, also over ranks that saw different things."""

import math
from socket import create_server
from threading import Barrier, Thread

import pytest
import torch

from sampo.episode import Episode, StopReason, Turn
from sampo.evaluation import EpisodeMetrics


def turn(reward=0.0, tokens=2, **kwargs):
    return Turn(
        observation="o", reply="r", action="a", reward=reward, action_ids=(7,) * tokens, **kwargs
    )


def episode(turns, success=False, stop=StopReason.MAX_TURNS, **kwargs):
    return Episode(
        task="t", seed=0, turns=tuple(turns), success=success, stop_reason=stop, **kwargs
    )


QUICK = episode([turn(10.0, tokens=4)], success=True, stop=StopReason.TERMINATED, task_type="pick")
LONG = episode(
    [
        turn(-1.0),
        turn(-1.0, action_valid=False, penalty=0.1),
        turn(0.0, action_valid=False, format_valid=False, penalty=0.1),
    ],
    task_type="look",
)
FULL = episode([], stop=StopReason.CONTEXT, task_type="pick")
BROKEN = episode([turn(99.0, tokens=50)], stop=StopReason.ERROR, error="boom", task_type="heat")


def compute(*batches):
    metrics = EpisodeMetrics()
    for batch in batches:
        metrics.update(batch)
    return {name: float(value) for name, value in metrics.compute().items()}


def test_hand_worked_numbers():
    result = compute([QUICK, LONG], [FULL, BROKEN])
    assert result == pytest.approx(
        {
            "success_rate": 1 / 3,
            "reward": (10 - 2 + 0) / 3,
            "score": (10 - 2.2 + 0) / 3,
            # 1 turn of an episode worth 10, 3 turns of an episode worth -2: (10 - 6) / 4.
            "turn_weighted_score": 1.0,
            "turns": 4 / 3,
            "valid_action_rate": 2 / 4,
            "valid_format_rate": 3 / 4,
            "reply_tokens": (4 + 2 + 2 + 2) / 4,
            "episodes": 3,
            "failed_episodes": 1,
            "stop_terminated": 1 / 3,
            "stop_max_turns": 1 / 3,
            "stop_context": 1 / 3,
            "success_rate/look": 0.0,
            "success_rate/pick": 1 / 2,
        }
    )


def test_failed_episodes_are_counted_and_nothing_else():
    without, with_broken = compute([QUICK, LONG]), compute([QUICK, BROKEN, LONG])
    assert with_broken.pop("failed_episodes") == 1
    assert without.pop("failed_episodes") == 0
    assert with_broken == without


def test_a_ratio_over_nothing_is_nan():
    result = compute([BROKEN])
    assert math.isnan(result["success_rate"])
    assert math.isnan(result["valid_action_rate"])
    assert result["failed_episodes"] == 1


def test_reset_starts_from_nothing():
    metrics = EpisodeMetrics()
    metrics.update([QUICK, BROKEN])
    metrics.reset()
    metrics.update([LONG])
    result = metrics.compute()
    assert result["episodes"] == 1
    assert result["failed_episodes"] == 0
    assert "success_rate/pick" not in result


def test_type_names_survive_in_any_script():
    result = compute([episode([turn()], success=True, task_type="zwölf/大")])
    assert result["success_rate/zwölf/大"] == 1.0


def over_ranks(*batches):
    """Compute on one thread per rank, with torchmetrics' own reduction over a fake gather."""
    barrier = Barrier(len(batches))
    posted: dict[int, torch.Tensor] = {}
    results: dict[int, dict[str, torch.Tensor]] = {}

    def run(rank):
        def gather(tensor, group):
            posted[rank] = tensor
            barrier.wait()
            gathered = [posted[number] for number in range(len(batches))]
            barrier.wait()
            assert len({(part.dtype, part.ndim) for part in gathered}) == 1
            return gathered

        metrics = EpisodeMetrics(
            dist_sync_fn=gather, distributed_available_fn=lambda: True, sync_on_compute=True
        )
        metrics.update(batches[rank])
        results[rank] = metrics.compute()

    threads = [Thread(target=run, args=(rank,)) for rank in range(len(batches))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    return [results[rank] for rank in range(len(batches))]


def test_ranks_reduce_to_the_metrics_of_all_episodes():
    everything = compute([QUICK, LONG, FULL, BROKEN, QUICK])
    # Rank 1 sees a type that rank 0 lacks; rank 2 sees no episode at all.
    for result in over_ranks([QUICK, QUICK], [LONG, FULL, BROKEN], []):
        assert {name: float(value) for name, value in result.items()} == pytest.approx(everything)


def _rank_process(rank, port, queue):
    torch.distributed.init_process_group(
        "gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2
    )
    metrics = EpisodeMetrics()
    metrics.update([QUICK, LONG, LONG] if rank == 0 else [])
    queue.put({name: float(value) for name, value in metrics.compute().items()})
    torch.distributed.destroy_process_group()


@pytest.mark.slow
def test_real_processes_with_an_empty_rank():
    context = torch.multiprocessing.get_context("fork")
    queue = context.Queue()
    with create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    processes = [context.Process(target=_rank_process, args=(r, port, queue)) for r in range(2)]
    for process in processes:
        process.start()
    results = [queue.get(timeout=120) for _ in processes]
    for process in processes:
        process.join()
    assert results == [pytest.approx(compute([QUICK, LONG, LONG]))] * 2
