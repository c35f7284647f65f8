"""Constraints: expressions over the features of nodes.

``a&b`` and ``a|b`` choose nodes; ``[a|b]`` wants all nodes of a job to share one of the
features; ``[a*2&b*1]`` or ``[(a&c)*2&b*1]`` wants counts of nodes of each, and no others; ``a*2`` so many nodes of
one feature, beside any others. A comma is an ``&``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from slurm_sim_plugins.errors import InputError
from slurm_sim_plugins.nodes import Choice, Mask

TOKEN = re.compile(r"\s*([&|()\[\]]|[^&|()\[\]\s]+)")


def choices(
    constraint: str, features: Sequence[frozenset[str]], *, unknown: bool = False, bracketed: bool = False
) -> list[Choice]:
    """The ways to satisfy a constraint, in the order in which they are tried.

    Args:
        constraint: as for ``sbatch --constraint``; empty for none.
        features: of each node.
        unknown: whether features may be named that no node has.
        bracketed: whether counts stand in brackets, but for one alone; else features without counts beside them say
            nothing outside of brackets (22.05).

    Raises:
        InputError: it is not an expression, or names a feature that no node has.
    """
    if not constraint:
        return [Choice(np.ones(len(features), dtype=bool))]
    return _Parser(constraint, features, unknown, bracketed).parse()


class _Parser:
    """Reads an expression from left to right; Slurm gives ``&`` and ``|`` the same rank."""

    def __init__(self, text: str, features: Sequence[frozenset[str]], unknown: bool, bracketed: bool) -> None:
        self._unknown = unknown
        self._counts_bracketed = bracketed
        self._text = text
        self._tokens = TOKEN.findall(text.rstrip(",").replace(",", "&"))
        self._index = 0
        self._features = features
        self._known = frozenset().union(*features)
        self._counts: list[tuple[Mask, int]] = []
        self._alternatives: list[Mask] = []

    def parse(self) -> list[Choice]:
        mask = self._expression()
        if self._index < len(self._tokens):
            raise self._wrong()
        if self._alternatives:
            return [Choice(mask & alternative) for alternative in self._alternatives]
        inside = self._tokens[0] == "[" and self._tokens[-1] == "]"
        terms = _terms(_at_top(self._tokens[1:-1] if inside else self._tokens))
        if self._counts and "[" not in self._tokens and len(terms) > 1 and self._counts_bracketed:
            raise InputError("Invalid feature specification")
        if self._counts and (len(terms) == 1 or "[" not in self._tokens):
            mask = np.ones(len(self._features), dtype=bool)  # other nodes are any
        return [Choice(mask, tuple(self._counts))]

    def _expression(self) -> Mask:
        mask = self._term()
        while self._next() in ("&", "|"):
            operator = self._take()
            before = len(self._counts)
            other = self._term()
            if len(self._counts) > before and before:
                mask = mask | other  # counts of several features: any node that helps with one of them
            else:
                mask = mask & other if operator == "&" else mask | other
        return mask

    def _term(self) -> Mask:
        word = self._take()
        if word == "(":
            mask = self._expression()
            self._expect(")")
            return self._counted(mask, self._take()) if self._next().startswith("*") else mask
        if word == "[":
            return self._brackets()
        if word in ("&", "|", ")", "]"):
            raise self._wrong()
        return self._feature(word)

    def _brackets(self) -> Mask:
        end = self._tokens.index("]", self._index) if "]" in self._tokens[self._index :] else -1
        if end < 0:
            raise self._wrong()
        inner = self._tokens[self._index : end]
        if "|" in inner and not any("*" in token for token in inner):
            alternatives = []
            while self._next() != "]":
                alternatives.append(self._term())
                if self._next() == "|":
                    self._take()
            self._expect("]")
            self._alternatives = alternatives
            return np.asarray(np.logical_or.reduce(alternatives), dtype=bool)
        if "&" in _at_top(inner) and not all(map(_has_count, _terms(_at_top(inner)))):
            raise InputError("Invalid feature specification")  # in brackets, what goes together is counted
        mask = self._expression()
        self._expect("]")
        return mask

    def _feature(self, token: str) -> Mask:
        name, star, count = token.partition("*")
        if name not in self._known and not self._unknown:
            raise InputError("Invalid feature specification")
        mask: Mask = np.array([name in of for of in self._features], dtype=bool)
        return self._counted(mask, star + count) if star else mask

    def _counted(self, mask: Mask, count: str) -> Mask:
        """So many nodes have to be of these, as ``*2`` says."""
        number = count[1:]
        if not number.isdigit() or not int(number):
            raise self._wrong()
        self._counts.append((mask, int(number)))
        return mask

    def _next(self) -> str:
        return self._tokens[self._index] if self._index < len(self._tokens) else ""

    def _take(self) -> str:
        token = self._next()
        if not token:
            raise self._wrong()
        self._index += 1
        return token

    def _expect(self, token: str) -> None:
        if self._take() != token:
            raise self._wrong()

    def _wrong(self) -> InputError:
        return InputError(f"Invalid feature specification: {self._text!r} is not an expression of features")


def _at_top(tokens: Sequence[str]) -> list[str]:
    """An expression with what is in parentheses left out."""
    depth, found = 0, []
    for word in tokens:
        depth -= word == ")"
        if not depth:
            found.append(word)
        depth += word == "("
    return found


def _terms(tokens: Sequence[str]) -> list[str]:
    """Its features, and the parentheses with what follows them, without the operators between them."""
    return [term for term in re.split("[&|]", "".join(tokens)) if term]


def _has_count(term: str) -> bool:
    return "*" in term
