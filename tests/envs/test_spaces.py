import pickle

from gymnasium.spaces import Text

from sampo.envs import AnyText


def test_contains_every_string_up_to_the_bound():
    space = AnyText(5)
    for text in ("", "go", "日本", "\x00\n", "🚪" * 5):
        assert text in space
    for other in ("123456", b"go", 3, None, ["g"]):
        assert other not in space


def test_samples_are_seeded_members_and_short():
    first, second = AnyText(seed=3), AnyText()
    second.seed(3)
    drawn = [first.sample() for _ in range(200)]
    assert drawn == [second.sample() for _ in range(200)]
    assert all(text in first for text in drawn)
    # Lengths 0 to 16, each about 12 times in 200: both ends are seen, and never more.
    assert {len(text) for text in drawn} == set(range(17))
    assert all(len(AnyText(2).sample()) <= 2 for _ in range(50))


def test_equality_looks_at_kind_and_bound_only():
    assert AnyText(5, seed=1) == AnyText(5, seed=2) and hash(AnyText(5)) == hash(AnyText(5))
    assert AnyText(5) != AnyText(6)
    assert AnyText(5) != Text(5, min_length=0)


def test_pickling_keeps_the_space_and_its_generator():
    space = AnyText(5, seed=1)
    again = pickle.loads(pickle.dumps(space))
    assert again == space and [again.sample() for _ in range(9)] == [
        space.sample() for _ in range(9)
    ]
