"""WebShop: shop for what an instruction describes, in a text environment without Java.

`WebShopEnv` is the environment. The rest stands on its own: `open_shop` prepares and opens a data
folder, `Site` shows its pages, `score` judges a purchase.
"""

from sampo_envs.webshop.catalogue import Product
from sampo_envs.webshop.data import data_folder
from sampo_envs.webshop.env import WebShopEnv
from sampo_envs.webshop.goals import Goal
from sampo_envs.webshop.pages import Site, Visit
from sampo_envs.webshop.prompt import CompactPrompt, WebShopPrompt
from sampo_envs.webshop.reward import Score, score
from sampo_envs.webshop.shop import Shop, open_shop

__all__ = [
    "CompactPrompt",
    "Goal",
    "Product",
    "Score",
    "Shop",
    "Site",
    "Visit",
    "WebShopEnv",
    "WebShopPrompt",
    "data_folder",
    "open_shop",
    "score",
]
