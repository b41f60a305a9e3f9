"""Episodes: texts as the plain engine's, states kept apart, keys."""

from collections.abc import Iterable
from random import Random

import pytest
import textworld
from alfworld.agents.environment.alfred_tw_env import AlfredDemangler
from textworld.envs import PddlEnv

from sampo_envs.alfworld import Game, open_games, read_game
from sampo_envs.alfworld.engine import Board, Play, ground


def start(game: Game) -> Play:
    return Play(Board(game.domain, game.grammar, ground(game.domain, game.problem)))


def compare(game: Game, walks: int) -> int:
    """Play a game in TextWorld's own environment and here, and return the turns compared."""
    plain = AlfredDemangler(
        PddlEnv(textworld.EnvInfos(won=True, admissible_commands=True)), shuffle=False
    )
    plain.load({"pddl_domain": game.domain, "grammar": game.grammar, "pddl_problem": game.problem})
    turns = 0
    for walk in range(walks + 1):
        state, play, rng = plain.reset(), start(game), Random(walk)
        assert (state["feedback"], state["admissible_commands"]) == (play.feedback, play.commands)
        commands: Iterable[str | None] = game.walkthrough if walk == 0 else [None] * 12
        for wanted in commands:
            command = wanted or rng.choice([*play.commands, "dance"])
            state, _, _ = plain.step(command)
            play.step(command)
            told = (state["feedback"], state["admissible_commands"], state["won"])
            assert told == (play.feedback, play.commands, play.won), command
            turns += 1
        assert walk > 0 or play.won
    return turns


def test_transcripts_equal_those_of_the_plain_engine(one_of_each: list[str]) -> None:
    games = open_games("generated")
    for name in one_of_each[:2]:
        assert compare(read_game(games, name), walks=1) > 12


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_transcripts_equal_on_fifty_real_games(real_data: str) -> None:
    games = open_games(real_data)
    names = [*games.splits["train"][:25], *games.splits["valid_seen"][:25]]
    assert sum(compare(read_game(games, name), walks=1) for name in names) > 50 * 14


def test_episodes_of_several_games_do_not_disturb_each_other(one_of_each: list[str]) -> None:
    games = [read_game(open_games("generated"), name) for name in one_of_each[:3]]
    alone = []
    for game in games:
        play = start(game)
        transcript = [play.feedback]
        for command in game.walkthrough:
            play.step(command)
            transcript.append(play.feedback)
        alone.append(transcript)
    # Two episodes of each game, a step of each in turn, the second one a step behind.
    plays = [(game, start(game)) for game in games for _ in range(2)]
    told: list[list[str]] = [[play.feedback] for _, play in plays]
    for turn in range(-1, 12):
        for number, (game, play) in enumerate(plays):
            now = turn + number % 2
            if 0 <= now < len(game.walkthrough):
                play.step(game.walkthrough[now])
                told[number].append(play.feedback)
    assert all(play.won for _, play in plays)
    assert told == [transcript for transcript in alone for _ in range(2)]


def test_a_digest_tells_states_apart_and_nothing_else(one_of_each: list[str]) -> None:
    play = start(read_game(open_games("generated"), one_of_each[0]))
    begin = play.digest()
    for harmless in ("look", "inventory", "help", "dance", "go to nowhere 1"):
        play.step(harmless)
        assert play.digest() == begin
    first, second = [one for one in play.commands if one.startswith("go to ")][:2]
    play.step(first)
    there = play.digest()
    assert there != begin
    play.step(second)
    elsewhere = play.digest()
    play.step(first)
    assert (play.digest(), elsewhere != there) == (there, True)


def test_the_facts_have_the_names_of_the_texts(one_of_each: list[str]) -> None:
    game = read_game(open_games("generated"), one_of_each[0])
    play = start(game)
    places = {place for place, _ in play.facts("receptacleatlocation")}
    assert {f"go to {place}" for place in places} == {
        one for one in play.commands if one.startswith("go to ")
    }
    assert play.facts("holds") == []
