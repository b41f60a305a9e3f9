"""What the documentation names is there, and what is there is documented."""

import re
from inspect import isabstract
from pydoc import locate
from typing import Any, get_args

import torch
from jsonargparse import Namespace

import sampo.advantages
import sampo.filtering
import sampo.losses
from doc_pages import DOCS, EXAMPLE, OBJECTIVE, ROOT, text
from fit_parser import parse_fit
from sampo.advantages import AdvantageEstimator, BatchAdvantage, RewardShaping
from sampo.data.group_rollout import Rollout
from sampo.data.rollout_stats import rollout_stats, shaping_stats
from sampo.episode import Episode, EpisodeGroup, StopReason, Turn
from sampo.filtering import EpisodeFilter, GroupFilter, GroupSelector
from sampo.losses import LossInputs, PolicyLoss, SequenceMask, Surrogate
from sampo.losses.aggregation import AggregationKind
from sampo.resources import list_configs
from sampo.update_log import UpdateLog


def named(pattern: str) -> list[tuple[str, str]]:
    """Return (page, name) of everything of a kind that is named outside of examples."""
    found = {
        (page, n) for page in OBJECTIVE for n in re.findall(pattern, EXAMPLE.sub("", text(page)))
    }
    assert len(found) > 20
    return sorted(found)


def test_links_lead_somewhere() -> None:
    pages = [*DOCS.glob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    for page in pages:
        for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
            target = link.split("#")[0]
            if target and "://" not in link:
                assert (page.parent / target).exists(), f"{page.name} links to {link}"


def test_files_are_there() -> None:
    roots = (ROOT, ROOT / "src", ROOT / "src" / "sampo")
    for page, name in named(r"(?<![\w/.])(?:\w+/)+\w+\.(?:py|yaml)\b"):
        assert any((root / name).is_file() for root in roots), f"{page} names {name}"


def test_settings_are_there() -> None:
    config = parse_fit("--config=quickstart")
    for page, name in named(r"(?<![\w.])(?:model|data|trainer)\.[a-z_]+(?:\.[a-z_]+)*"):
        node: Any = config
        for key in name.split("."):
            if isinstance(node, Namespace) and "class_path" in node:
                node = node.init_args
            if node is None:  # a group that is off: what it would hold is not known here
                break
            assert key in node, f"{page} names {name}"
            node = node[key]


def test_classes_are_there() -> None:
    for page, name in named(r"\bsampo(?:\.\w+)+\.[A-Z]\w+"):
        assert locate(name) is not None, f"{page} names {name}"


def test_every_implementation_is_on_the_page_of_its_dial() -> None:
    homes = {
        "dial-2-ratio-and-clipping": (sampo.losses, (Surrogate, SequenceMask)),
        "dial-3-advantage": (
            sampo.advantages,
            (AdvantageEstimator, BatchAdvantage, RewardShaping),
        ),
        "dial-4-filtering": (sampo.filtering, (GroupFilter, EpisodeFilter, GroupSelector)),
    }
    for page, (package, bases) in homes.items():
        classes = [
            c for c in vars(package).values() if isinstance(c, type) and issubclass(c, bases)
        ]
        concrete = [c for c in classes if not isabstract(c)]
        assert len(concrete) > 5
        for part in concrete:
            assert f"`{part.__name__}`" in text(page), f"{page} lacks {part.__name__}"


def test_every_aggregation_is_on_the_page_of_its_dial() -> None:
    for kind in get_args(AggregationKind):
        assert f"| `{kind}` |" in text("dial-1-aggregation")


def test_every_fragment_is_in_the_equations() -> None:
    fragments = {n.removeprefix("algorithms/") for n in list_configs() if "algorithms/" in n}
    cells = re.findall(r"^\|(.*)\|$", text("equations"), re.M)
    assert fragments <= set(re.findall(r"`(\w+)`", " ".join(cells)))


def rollout_names() -> set[str]:
    turn = Turn(observation="", reply="", action="a", reward=1.0)
    episode = Episode(
        task="t", seed=0, turns=(turn,), success=True, stop_reason=StopReason.TERMINATED
    )
    group = EpisodeGroup(task="t", seed=0, episodes=(episode,))
    rollout = Rollout(
        update=0,
        groups=(group,),
        dropped=((group, "all_solved"),),
        rejected=((episode, 0, "overlong"),),
        baselines=(episode,),
    )
    return {*rollout_stats(rollout, max_new_tokens=4), *shaping_stats((group,), (group,))}


def update_names() -> set[str]:
    ids, some = torch.tensor([[0, 1]]), torch.zeros(1, 2)
    inputs = LossInputs(
        logprobs=some,
        old_logprobs=some,
        advantages=some + 1,
        action_mask=ids >= 0,
        turn_ids=ids,
        episode_ids=ids,
        weights=some,
        ref_logprobs=some,
        entropy=some,
        sampling_logprobs=some,
        keep=ids >= 0,
        values=some,
        returns=some,
    )
    log = UpdateLog(epoch_steps=1, clip_range=(0.8, 1.2))
    log.start_step()
    log.add(PolicyLoss(kl_coef=0.0)(inputs))
    return {f"train/{name}" for name in log.values}


def test_every_metric_is_in_the_glossary() -> None:
    glossary = set(re.findall(r"`([^`]+)`", text("glossary")))
    cells = r"(train/cells(?:_\w+)?)/.*"
    for name in rollout_names() | update_names():
        kind = re.sub(r"^(rollout/(?:dropped|rejected|stop))_\w+$", r"\1_REASON", name)
        kind = re.sub(cells, lambda found: f"{found[1]}/CELL/...", kind)
        assert kind in glossary or kind.replace("/CELL", "") in glossary, (
            f"the glossary lacks {kind}"
        )
    for name in {name for name in update_names() if "cells/" in name}:
        assert f"`{name.rsplit('/', 1)[1]}`" in text("kl-and-entropy")
