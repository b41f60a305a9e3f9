"""Tool-integrated reasoning in the sandbox, graded, as an episode and through the collector."""

import pytest

from sampo.envs import check_env
from sampo.envs.process import worker_start
from sampo.episode import Episode, StopReason
from sampo.filtering import RejectVoidTurns
from sampo.rollout.agents import EngineAgent
from sampo.rollout.chat import ChatRenderer
from sampo.rollout.collector import Collector, EpisodeRequest, EpisodeSettings
from sampo.rollout.conversation import TranscriptContext
from sampo.rollout.engine import SamplingParams
from sampo.rollout.scripted_engine import ScriptedEngine
from sampo.rollout.workers import EnvPool
from sampo_envs.tir_math import (
    GeneratedProblems,
    Limits,
    LocalSandbox,
    MathGrader,
    PythonTool,
    TirMathEnv,
)
from tiny import tiny_tokenizer

pytest.importorskip("math_verify", reason="grading needs the extra sampo[math]")
pytestmark = pytest.mark.filterwarnings("ignore:SANDBOX ISOLATION")  # where it has no bubblewrap

TASK = "train/3"


def block(program: str) -> str:
    return f"```python\n{program}\n```"


@pytest.fixture(scope="module")
def env() -> TirMathEnv:
    return TirMathEnv(problems=GeneratedProblems(levels=(1, 2, 3)))


def test_keeps_the_contract(env: TirMathEnv) -> None:
    check_env(env)


def test_is_picklable_without_having_started_anything() -> None:
    assert worker_start(TirMathEnv())


def test_code_its_result_and_the_answer(env: TirMathEnv) -> None:
    env.reset(options={"task": TASK})
    answer = env.question(TASK).answer
    observation, reward, terminated, _, _ = env.step(block("print(2**64)"))
    assert (observation, reward, terminated) == (f"Code execution result: {2**64}", 0.0, False)
    observation, *_ = env.step(block("print(1/0)"))
    assert observation.endswith("ZeroDivisionError: division by zero")
    _, reward, terminated, _, info = env.step(f"\\boxed{{{answer}.0}}")
    assert (reward, terminated, info["success"]) == (1.0, True, True)
    metrics = {"calls": 2.0, "failed_calls": 1.0, "void_turns": 0.0, "tool_used": 1.0}
    assert info["metrics"] == metrics
    assert info["task_type"] == env.question(TASK).kind


def test_a_program_may_give_the_answer(env: TirMathEnv) -> None:
    env.reset(options={"task": TASK})
    _, reward, terminated, _, _ = env.step(block(f"final_answer({env.question(TASK).answer})"))
    assert (reward, terminated) == (1.0, True)


def test_variables_survive_only_if_so_set(env: TirMathEnv) -> None:
    for keep, shown in ((True, "3"), (False, "NameError: name 'x' is not defined")):
        playing = TirMathEnv(tool=PythonTool(keep_state=keep))
        playing.reset()
        playing.step(block("x = 3"))
        assert playing.step(block("print(x)"))[0].endswith(shown)


def test_long_results_are_cut(env: TirMathEnv) -> None:
    env.reset(options={"task": TASK})
    observation, *_ = env.step(block("print('x' * 5000)"))
    assert len(observation) <= len("Code execution result: ") + 512
    assert "characters left out" in observation


def test_a_program_that_hangs_costs_its_turn_only() -> None:
    tool = PythonTool(sandbox=LocalSandbox(packages=(), limits=Limits(wall_s=0.5)))
    hanging = TirMathEnv(tool=tool)
    hanging.reset()
    observation, _, terminated, _, _ = hanging.step(block("while True:\n    pass"))
    assert observation == "Code execution result: Stopped: it took too long." and not terminated


def test_the_experts_program_solves_every_kind(env: TirMathEnv) -> None:
    kinds = set()
    for task in env.tasks("val")[:40]:
        _, info = env.reset(options={"task": task})
        kinds.add(info["task_type"])
        observation, *_ = env.step(env.expert_action() or "")
        assert observation == f"Code execution result: {env.question(task).answer}"
        assert env.step(env.expert_action() or "")[1] == 1.0
    assert len(kinds) == 6


def test_where_it_shall_err_the_expert_answers_at_once_and_is_wrong() -> None:
    env = TirMathEnv(problems=GeneratedProblems(levels=(3,), guess_share=1.0))
    env.reset(options={"task": TASK})
    _, reward, terminated, _, info = env.step(env.expert_action() or "")
    assert (reward, terminated, info["metrics"]["tool_used"]) == (0.0, True, 0.0)


def rolled_out(env: TirMathEnv, replies: list[str]) -> Episode:
    """Play one episode with scripted replies, as training does."""
    chat = ChatRenderer(tiny_tokenizer())
    engine = ScriptedEngine(replies)
    engine.bind(chat.tokenizer)
    settings = EpisodeSettings(
        renderer=chat,
        prompt_format=env.prompt_format,
        context=TranscriptContext(),
        context_length=4000,
        max_new_tokens=200,
    )
    with EnvPool(env, num_workers=0) as pool:
        agent = EngineAgent(engine, SamplingParams(max_new_tokens=200))
        request = EpisodeRequest(task=TASK, env_seed=0, sampling_seed=0)
        return Collector(pool, agent, settings).run([request])[0]


def test_an_episode_is_one_row_and_results_are_not_the_policys_tokens(env: TirMathEnv) -> None:
    answer = env.question(TASK).answer
    replies = [f"Compute.\n{block('print(40 + 2)')}\n", f"So \\boxed{{{answer}}}."]
    episode = rolled_out(env, replies)
    assert episode.success and episode.reward == 1.0 and episode.score == 1.0
    assert [turn.starts_row for turn in episode.turns] == [True, False]
    text = ChatRenderer(tiny_tokenizer()).text
    assert "Code execution result: 42" in text(episode.turns[1].prompt_ids)
    assert [text(turn.action_ids) for turn in episode.turns] == replies


def test_void_turns_end_the_episode_and_can_be_filtered(env: TirMathEnv) -> None:
    episode = rolled_out(env, ["I would rather not."])
    assert [turn.action for turn in episode.turns] == [None]
    assert not episode.success and episode.metrics["void_turns"] == 1.0
    assert (episode.reward, episode.turns[0].penalty) == (0.0, 0.1)
    assert RejectVoidTurns()(episode).reason == "void_turn"


def test_an_answer_that_cannot_be_compared_fails_the_episode_and_is_no_zero() -> None:
    env = TirMathEnv(grader=MathGrader(timeout_s=1))
    episode = rolled_out(env, [r"\boxed{9^{9^{9^{9}}} + \sqrt{2}}"])
    assert episode.stop_reason is StopReason.ERROR
    assert episode.error is not None and "could not be compared" in episode.error
