"""Does a transcript only grow, or does the chat template rewrite what was already said?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sampo.doctor.check import Check, CheckResult
from sampo.doctor.equal_starts import EqualStarts
from sampo.doctor.inputs import DoctorInputs
from sampo.doctor.loading import TokenizerLoads
from sampo.doctor.worlds import first_replies
from sampo.envs.protocol import EnvReply
from sampo.episode import Completion, FinishReason
from sampo.rollout.conversation import WindowContext


@dataclass(frozen=True, kw_only=True)
class ChatTemplate(Check):
    """Each prompt of a transcript begins with everything before it, as the template renders it.

    Where a template rewrites history, training stays right but loses what a transcript is for:
    every turn becomes a row of its own and nothing is kept in the engine's cache.
    """

    name: ClassVar[str] = "chat template"
    fix: ClassVar[str] = (
        "Set data.context to WindowContext, or a chat template that keeps history as it was "
        "written (data.chat.template_kwargs may have a switch for it)."
    )
    needs: ClassVar[tuple[type[Check], ...]] = (TokenizerLoads, EqualStarts)
    turns: int = 3

    def __call__(self, inputs: DoctorInputs) -> CheckResult:
        """Talk through a few turns with the environment's first observation."""
        context, renderer = inputs.data.player.context, inputs.data.renderer
        if isinstance(context, WindowContext):
            return self.skipped(
                "WindowContext writes a fresh prompt for every turn, so there is no prefix to keep"
            )
        with inputs.pool(num_workers=1) as pool:
            (shown,) = first_replies(pool, inputs.requests(1))
        for closed in (True, False):
            if problem := self._problem(inputs, shown, closed=closed):
                return self.failed(problem)
        thoughts = "kept" if renderer.keeps_thoughts else "dropped: a reply with one ends the row"
        return self.ok(
            f"the prefix is kept over {self.turns} turns; old <think> blocks: {thoughts}"
        )

    def _problem(self, inputs: DoctorInputs, shown: EnvReply, *, closed: bool) -> str:
        """Return what is wrong in a conversation, or an empty string.

        Args:
            inputs: tokenizer, prompt format and context.
            shown: an answer of the environment; every turn shows it.
            closed: whether replies end with the end-of-sequence token, or are cut off before it.
        """
        player, renderer = inputs.data.player, inputs.data.renderer
        conversation = player.context.start(renderer, player.prompt_format)
        action = (shown.admissible_actions or ("act",))[0]
        ids = renderer.reply_ids(player.prompt_format.reply(action))
        completion = Completion(
            token_ids=ids if closed else ids[:-1],
            logprobs=(0.0,) * (len(ids) if closed else len(ids) - 1),
            finish_reason=FinishReason.STOP if closed else FinishReason.LENGTH,
            policy_version=0,
        )
        kind = "a reply" if closed else "a reply that was cut off"
        for turn in range(self.turns):
            before = conversation.row
            prompt = conversation.observe(shown.observation, shown.admissible_actions)
            if turn and (prompt.starts_row or prompt.ids[: len(before)] != before):
                return f"turn {turn}: the template renders {kind} otherwise than it was written"
            rendered = renderer.opening(conversation.messages)
            # As text: where a reply begins, encoding the whole may merge what was sampled apart.
            decode = renderer.tokenizer.decode
            if decode(list(prompt.ids)) != decode(list(rendered)):
                return f"turn {turn}: after {kind}, the template renders another text than the row"
            conversation.act(completion)
        return ""
