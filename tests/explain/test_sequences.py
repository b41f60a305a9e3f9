"""Denominators, and what a sequence is."""

from sampo.explain.sequences import denominators, sequences
from sampo.losses import Aggregation, Clip, PolicyLoss, Ratio, SequenceMask, SoftGate
from sampo.rollout.conversation import ContextPolicy, TranscriptContext, WindowContext


def test_the_count_is_named_and_taken_over_the_mini_batch(make_run) -> None:
    first, second, last = denominators(make_run())
    assert first.startswith("The weights are divided by the number of turns, and in each")
    assert "whole mini-batch" in second and "16,384 tokens" in second
    assert "advantage 0" in last


def test_a_fixed_length_and_tokens(make_run) -> None:
    fixed = Aggregation(kind="sum_over_max_length", level="episode", max_length=99)
    assert (
        "number of episodes, and every token by 99"
        in denominators(make_run(PolicyLoss(aggregation=fixed)))[0]
    )
    tokens = PolicyLoss(aggregation=Aggregation(kind="token_mean"))
    assert "number of action tokens" in denominators(make_run(tokens))[0]


def test_masked_sequences_leave_the_counts_or_stay(make_run) -> None:
    text = " ".join(denominators(make_run(PolicyLoss(masking=SequenceMask()))))
    assert "Turns that the mask rejects leave the surrogate's counts." in text
    assert "The mask does not touch the KL term." in text
    mask = SequenceMask(denominator="all", level="episode")
    text = " ".join(denominators(make_run(PolicyLoss(masking=mask, kl_coef=0.0))))
    assert "Episodes that the mask rejects count 0 but stay in the counts." in text
    assert "does not touch" not in text


def test_other_terms_may_be_counted_another_way(make_run) -> None:
    rule = Aggregation(kind="token_mean")
    loss = PolicyLoss(regulariser_aggregation=rule, entropy_coef=0.1)
    assert denominators(make_run(loss))[1].startswith(
        "Those of the KL term and the entropy bonus are divided by the number of action tokens"
    )


def test_a_window_row_is_a_turn(make_run) -> None:
    row, ratio, levels = sequences(make_run(context=WindowContext(history=1)))
    assert row.startswith("WindowContext: a row is one turn, a fresh prompt with the last 1 turn.")
    assert ratio.startswith("Ratio per turn: one mean for all its tokens")
    assert levels == "A sequence is: turn for the aggregation."


def test_a_transcript_row_is_an_episode(make_run) -> None:
    row = sequences(make_run(context=TranscriptContext()))[0]
    assert row.startswith("TranscriptContext: a row is one episode")
    assert "a turn is a segment of it" in row


def test_an_episode_ratio_spans_window_rows(make_run) -> None:
    loss = PolicyLoss(ratio=Ratio(level="episode", length_normalise=False))
    lines = sequences(make_run(loss))
    assert "one product over all its rows for all its tokens" in lines[1]
    assert lines[-1] == (
        "All rows of an episode, up to 15, lie in one micro-batch and one mini-batch."
    )
    assert "over all its rows" not in sequences(make_run(loss, context=TranscriptContext()))[1]


def test_a_mask_over_episodes_holds_mini_batches_together(make_run) -> None:
    loss = PolicyLoss(masking=SequenceMask(level="episode"))
    assert sequences(make_run(loss))[-1].endswith("lie in one mini-batch.")


def test_levels_of_other_parts_are_said(make_run) -> None:
    loss = PolicyLoss(
        ratio=Ratio(level="token"),
        surrogate=SoftGate(sequence="episode"),
        masking=SequenceMask(),
        aggregation=Aggregation(kind="token_mean"),
    )
    lines = sequences(make_run(loss))
    assert lines[1].startswith("Ratio per token")
    assert lines[2] == "A sequence is: turn for the sequence mask, episode for SoftGate."
    plain = PolicyLoss(
        ratio=Ratio(level="token"), surrogate=Clip(), aggregation=Aggregation(kind="token_mean")
    )
    assert len(sequences(make_run(plain))) == 2


class Diary(ContextPolicy):
    """Keeps a diary."""

    def prompt(self, conversation):
        raise NotImplementedError


def test_a_context_of_ones_own_is_named(make_run) -> None:
    assert sequences(make_run(context=Diary()))[0] == "Diary. Keeps a diary."
