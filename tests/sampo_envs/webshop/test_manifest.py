"""The manifest fixes goals and splits: a change in the code must not move them."""

from sampo_envs.webshop import Shop
from sampo_envs.webshop.manifest import describe, name_of, read_manifest


def test_the_made_up_catalogue_is_as_written(shop: Shop) -> None:
    assert describe(shop) == read_manifest()["made-up"]


def test_the_real_set_is_as_written(real_shop: Shop) -> None:
    assert name_of(describe(real_shop)) == "the 1,000-product set"


def test_others_have_no_name() -> None:
    assert name_of({"goals": 3}) is None
