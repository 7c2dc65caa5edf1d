# SPDX-License-Identifier: Apache-2.0
"""Reads the EDN of scenarios.edn: maps, vectors, lists, sets, keywords, strings, numbers, booleans and nil; no tags.

A keyword becomes a str without its colon, a vector or list a list, a set a frozenset.
"""

import re
from pathlib import Path
from typing import Any

from lab.deadline import LabError

TOKEN = re.compile(r'(?:[\s,]|;[^\n]*)*(#\{|[\[\](){}]|"(?:[^"\\]|\\.)*"|[^\s,;\[\](){}"]+|$)')
CLOSING = {"{": "}", "#{": "}", "[": "]", "(": ")"}
WORDS = {"true": True, "false": False, "nil": None}
ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}


class _Reader:
    def __init__(self, text: str, name: str) -> None:
        self.text = text
        self.name = name
        self.at = 0

    def refuse(self, what: str) -> LabError:
        line = self.text.count("\n", 0, self.at) + 1
        return LabError(f"{self.name}:{line}: {what}; allowed: one form of plain EDN")

    def token(self) -> str:
        found = TOKEN.match(self.text, self.at)
        if not found:
            raise self.refuse("a string does not end")
        self.at = found.end()
        return found[1]

    def form(self, token: str) -> Any:
        if token in CLOSING:
            return self.collection(token)
        if not token or token in "])}":
            raise self.refuse(f"'{token or 'the end'}' in place of a value")
        if token[0] == '"':
            return re.sub(r"\\(.)", lambda escaped: ESCAPES.get(escaped[1], escaped[1]), token[1:-1])
        if token[0] == ":" and len(token) > 1:
            return token[1:]
        if token in WORDS:
            return WORDS[token]
        try:
            return float(token) if re.search(r"[.eE]", token) else int(token)
        except ValueError:
            raise self.refuse(f"unknown token '{token}'") from None

    def collection(self, opening: str) -> Any:
        items = []
        while (token := self.token()) != CLOSING[opening]:
            items.append(self.form(token))
        if opening == "{":
            if len(items) % 2:
                raise self.refuse("a map has a key without a value")
            return dict(zip(items[::2], items[1::2], strict=True))
        return frozenset(items) if opening == "#{" else items


def parse(text: str, name: str = "EDN") -> Any:
    """The one form in `text`; LabError with the line of the mistake."""
    reader = _Reader(text, name)
    value = reader.form(reader.token())
    if rest := reader.token():
        raise reader.refuse(f"'{rest}' after the end")
    return value


def load(path: Path) -> Any:
    try:
        return parse(path.read_text(), str(path))
    except OSError as error:
        raise LabError(f"{path} cannot be read: {error.strerror}") from error
