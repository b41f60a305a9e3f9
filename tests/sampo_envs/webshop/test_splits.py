"""Who owns which goals."""

import pickle

import pytest

from sampo_envs.webshop import Shop
from sampo_envs.webshop.splits import SPLITS, paper_order, paper_tasks, split_of


def test_owners_do_not_change() -> None:
    owners = [split_of(f"B0000000{n:02}") for n in range(12)]
    assert owners == [0, 0, 0, 0, 0, 0, 2, 0, 1, 0, 0, 0]


def check_disjoint(shop: Shop) -> None:
    owned = [shop.goals_of(number) for number in range(len(SPLITS))]
    assert sorted(index for goals in owned for index in goals) == list(range(shop.num_goals))
    products = [{shop.goal(index).product.asin for index in goals} for goals in owned]
    assert all(products)
    assert sum(map(len, products)) == len(set.union(*products))


def test_no_product_is_in_two_splits(shop: Shop) -> None:
    check_disjoint(shop)


def test_no_real_product_is_in_two_splits(real_shop: Shop) -> None:
    check_disjoint(real_shop)


def test_the_papers_tasks_overlap_as_its_code_makes_them() -> None:
    train, val = paper_tasks("train", 6910), paper_tasks("val", 6910)
    assert (len(train), len(val), len(paper_tasks("test", 6910))) == (16 * 6410, 128 * 500, 0)
    assert (train[0], train[-1], val[500]) == ("train/0/500", "train/15/6909", "val/1001/0")
    one_worker = set(paper_order(0, 6910)[500:])
    some_val = set(paper_order(1000, 6910)[:500])
    assert len(some_val & one_worker) / 500 == pytest.approx(0.926, abs=0.02)


def test_task_names_travel_between_processes() -> None:
    names = paper_tasks("train", 600)
    assert list(pickle.loads(pickle.dumps(names))[:3]) == list(names)[:3]
