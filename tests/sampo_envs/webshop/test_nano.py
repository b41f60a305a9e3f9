"""The shipped clone `nano-webshop` is where the nano experiment starts from."""

from sampo.envs import PromptView
from sampo.models.policy import load_tokenizer
from sampo_envs.webshop import CompactPrompt, WebShopEnv


def test_what_is_copied_from_a_page_has_the_same_tokens_in_an_action() -> None:
    """So a policy of two layers can copy it; and pages fit into the context of 512 tokens."""
    tokenizer, prompt = load_tokenizer("nano-webshop"), CompactPrompt(page_chars=1200)
    env = WebShopEnv()
    first, _ = env.reset(options={"task": env.tasks("val")[0]})
    page, _, _, _, info = env.step("search[gluten free protein bars]")
    view = PromptView(
        observation=page, first_observation=first, history=(), turn=1, admissible_actions=None
    )
    shown = tokenizer(prompt.message(view))["input_ids"]
    assert len(shown) + 48 < 400
    asins = [action for action in info["admissible_actions"] if action.startswith("click[b")][1:]
    assert len(asins) == 10
    for action in asins:
        named = tokenizer(action.removeprefix("click[").removesuffix("]"))["input_ids"]
        assert any(shown[i : i + len(named)] == named for i in range(len(shown)))
