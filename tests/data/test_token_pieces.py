"""Token texts put together are the text, whatever a tokenizer does with spaces."""

import pytest
from tokenizers import Tokenizer, decoders, models
from transformers import PreTrainedTokenizerFast

from sampo.data.token_pieces import TokenPieces
from sampo.models.loading import load_tokenizer


def sentencepiece_like():
    """A tokenizer that writes a space before words and drops it at the beginning."""
    words = {"<s>": 0, "▁go": 1, "▁left": 2, "ward": 3}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<s>"))
    tokenizer.decoder = decoders.Metaspace()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>")


def test_spaces_that_depend_on_the_token_before():
    tokenizer = sentencepiece_like()
    assert TokenPieces(tokenizer)([1, 2, 3]) == ("go", " left", "ward")
    assert tokenizer.decode([1, 2, 3]) == "go leftward"


def test_special_tokens_are_shown():
    tokenizer = load_tokenizer("nano-sokoban")
    ids = tokenizer.encode("<|im_start|>user\nplayer a4<|im_end|>", add_special_tokens=False)
    pieces = TokenPieces(tokenizer)(ids)
    assert pieces[0] == "<|im_start|>"
    assert pieces[-1] == "<|im_end|>"
    assert "".join(pieces) == "<|im_start|>user\nplayer a4<|im_end|>"


def test_parts_of_a_letter_are_replacement_characters():
    tokenizer = load_tokenizer("nano-sokoban")
    ids = tokenizer.encode("大", add_special_tokens=False)
    assert len(ids) > 1
    pieces = TokenPieces(tokenizer)(ids)
    assert len(pieces) == len(ids)
    assert all(piece.strip(" ") in ("", "\ufffd") and piece for piece in pieces)


@pytest.mark.parametrize("ids", [(), (5,)])
def test_few_tokens(ids):
    assert len(TokenPieces(load_tokenizer("nano-sokoban"))(ids)) == len(ids)
