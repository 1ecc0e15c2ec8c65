"""Keep passwords, tokens and keys out of what is written down.

What is masked: the value of anything named like a secret (`--token X`, `--token=X`, `db.password=X`, `Authorization:
X`, `{"api_key": "X"}`), the user and password of an address (`https://user:password@host`), and values in the
well-known forms of access tokens. When in doubt the rest of an argument is masked too. A secret under an innocent name,
in no known form, cannot be recognised.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

MASK = "***"

_NAME = (
    r"(?:token(?!i[sz])|secret|passw(?:or)?d|passphrase|pwd|credential|bearer|cookie|auth(?!ors?(?![a-z]))"
    r"|(?:api|access|private|account|encryption|signing|storage)[-_. ]?key)"
)
_SECRET_NAME = re.compile(_NAME, re.IGNORECASE)
_SECRET_PAIR = re.compile(rf"([\w.-]*{_NAME}[\w.-]*[\"']?\s*[=:]\s*)(.+)", re.IGNORECASE | re.DOTALL)
_OPTION = re.compile(r"--?[A-Za-z][\w.-]*")
_SHORT_OPTION = re.compile(r"-[A-Za-z]")
# `--max-tokens 512` counts tokens; it does not hold one.
_COUNT = re.compile(r"\d{1,9}(?:\.\d+)?[kKmMbB]?")
_USER_OF_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://)[^/?#\s]*@")
_QUERY_OF_ADDRESS = re.compile(r"[?#].*", re.DOTALL)
_KNOWN_FORMS = re.compile(
    r"\b(?:gh[oprsu]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|hf_\w{20,}|sk-[\w-]{20,}|xox[a-z]-[\w-]{10,}"
    r"|A[KS]IA[0-9A-Z]{16}|eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*)"
)


def is_secret_name(name: str) -> bool:
    """Tell whether a variable or an option of this name is likely to hold a secret."""
    return _SECRET_NAME.search(name) is not None


def mask_arguments(arguments: Iterable[str]) -> list[str]:
    """Give the arguments of a command with every value masked that looks like a secret."""
    masked: list[str] = []
    waiting = False  # the argument before was an option that takes a secret
    for argument in arguments:
        is_option = argument.startswith("--") or _SHORT_OPTION.fullmatch(argument) is not None
        masked.append(MASK if waiting and not is_option and not _COUNT.fullmatch(argument) else mask_text(argument))
        waiting = _OPTION.fullmatch(argument) is not None and is_secret_name(argument)
    return masked


def mask_text(text: str) -> str:
    """Mask what looks like a secret inside a text."""
    text = _USER_OF_ADDRESS.sub(rf"\1{MASK}@", text)
    text = _SECRET_PAIR.sub(_mask_pair, text)
    return _KNOWN_FORMS.sub(MASK, text)


def public_address(address: str) -> str:
    """Take user, password and query out of the address of a remote.

    The user of the short form `git@host:path` stays: that form has no place for a password.
    """
    if "://" not in address:
        return address
    return _QUERY_OF_ADDRESS.sub("", _USER_OF_ADDRESS.sub(r"\1", address))


def _mask_pair(pair: re.Match[str]) -> str:
    name, value = pair.groups()
    return pair[0] if _COUNT.fullmatch(value) else name + MASK
