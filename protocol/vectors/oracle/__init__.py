# SPDX-License-Identifier: Apache-2.0
"""The protocol once more, deliberately naive and independent of every other implementation: what tests compare with."""


class RefusedError(Exception):
    """Something read is malformed; the argument is the word that protocol/README.md has for it."""


def refuse_if(wrong: object, word: str) -> None:
    if wrong:
        raise RefusedError(word)
