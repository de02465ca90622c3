"""Finds the hosts, users and directories that a text names, and replaces them with pseudonyms.

Two passes: ``Finder`` collects what all texts name, ``Pseudonyms`` replaces. So a pseudonym does not depend on what is
written or in which order, and a user known from one path is found as a bare word elsewhere.
"""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Final
from urllib.parse import unquote

from stepscope.facts.redaction import redaction_facts

_FACTS: Final = redaction_facts()
_HOMES: Final = "|".join(_FACTS.homes)
_PART: Final = r"""[^/\\\s"'<>|,;:*]+"""  # of a path in running text
_INNER: Final = rf"{_PART}(?: {_PART}){{0,3}}(?=/)"  # one that is followed by others may contain blanks
_LAST_DIRECTORY: Final = r"""[^/\\\s"'<>|,;:*.()\[\]{}]+"""  # without an ending it is no file
_WIDE_PART: Final = r"""[^\\/:*?"'<>|,;\r\n]+"""  # may contain blanks
_ROOT: Final = r"(?:/|[A-Za-z]:[\\/])"
_END: Final = r"""(?=[/\\\s"'<>|,;:)\]}]|$)"""
_BARE: Final = r"""(?<![^\s"'=:,(])/(?P<bare>[A-Za-z_][\w.\-]*)(?=[\s"',;)]|:[/\s]|$)"""  # one part below the root
_ENDINGS: Final = "|".join(_FACTS.file_endings)
_SOME_FILE: Final = rf"(?=[\w.\-]+\.(?:{_ENDINGS})\b)"
_RELATIVE: Final = rf"(?<![\w/\\.:~)\]}}\-])(?:(?:[\w.][\w.\-]*/)+|(?:[\w.][\w.\-]*\\)+){_SOME_FILE}"
# Behind a port or a path a rarer ending will do.
_DOMAINS: Final = (
    rf"(?:{'|'.join(map(re.escape, _FACTS.domains))})(?![\w\-]|\.\w)"
    rf"|(?:{'|'.join(map(re.escape, _FACTS.domains_with_port))})(?=:\d{{2,5}}\b|:/)"
)
_VARIABLE: Final = (
    rf"(?P<variable>(?<![A-Za-z0-9_])(?P<key>{'|'.join((*_FACTS.user_variables, *_FACTS.host_variables))})=[\"']?)"
    r"(?P<named>(?!\w+://)[^\s\"',;|<>/\\]+)"
)
_IN_HOME: Final = "(?:" + "|".join(rf"(?<=[\\/]{home}[\\/])|(?<=[\\/]{home}\\\\)" for home in _FACTS.homes) + ")"


def _location_pattern(known: Iterable[str]) -> re.Pattern[str]:
    """Where a piece of text names a location; ``known`` directories first.

    In a path that nobody knows, blanks are part of it only where something shows where it ends: a line number, quotes.
    """
    directories = [
        rf"(?:{'|'.join(map(re.escape, sorted(known, key=len, reverse=True)))})(?:(?:/{_PART}(?=/))*/|{_END})",
        rf"^{_ROOT}[^\"]*?[\\/](?=[^\\/\"]*?(?:\(\d+\)|\.\w{{1,4}}:\d+))",
        rf"(?<=[\"']){_ROOT}[^\"']*[\\/](?=[^\"'\\/]*[\"'])",
        rf"(?<=\(){_ROOT}[^()\"]*?[\\/](?=[^\\/()\"]*:\d+\))",
        rf"(?<![A-Za-z0-9])[A-Za-z]:[\\/]+(?:{_WIDE_PART}[\\/]+)+(?:{_IN_HOME}{_WIDE_PART})?",
        rf"(?<![\\\w])\\\\\w[^\\/\s\"':<>|]*\\+(?:{_WIDE_PART}[\\/]+)*",
        rf"/(?:{_HOMES})/+{_PART}(?: {_PART}(?=/)){{0,3}}(?:/+{_INNER})*(?:/+{_LAST_DIRECTORY}{_END})?/*",
        r"(?:(?<![\w.)\]}/*+~\\])|(?<=\\[nrt])|(?<=^-[A-Z])|(?<=[\s\"']-[A-Z]))"
        rf"(?:~[\w.\-]+/+(?:{_PART}/+)*|~?/+(?:(?:{_INNER}/+)+(?:{_IN_HOME}{_PART}|{_LAST_DIRECTORY}{_END})?|root{_END}))",
    ]
    return re.compile(
        rf"(?P<scheme>\b[A-Za-z][A-Za-z0-9+.\-]{{0,20}}://)(?P<authority>[^/\\\s\"'<>|,;]*)"
        rf"(?P<below>(?:/{_INNER})*/(?:{_IN_HOME}{_PART})?)?"
        r"|(?P<address>(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?=%|:\d{2,5}\b)|\[[0-9A-Fa-f]*:[0-9A-Fa-f:.]*(?:%\w+)?\](?=:\d))"
        rf"|{_VARIABLE}"
        r"|(?P<login>(?<![\w.+\-])[^\W\d][\w.+\-]*)@(?P<machine>\w[\w.\-]*\w)(?::(?P<cloned>(?:[\w.\-]+/)+))?"
        rf"|(?P<domain>(?<![\w.@/\\\-])(?:\w[\w\-]*\.)+(?:{_DOMAINS}))"
        r"|(?P<bare_address>(?<![\w.\-])(?:\d{1,3}\.){3}\d{1,3}(?![\w.\-])"
        r"|(?<![\w:])(?i:fe80|f[cd][0-9a-f]{2}|[23][0-9a-f]{3})(?::[0-9A-Fa-f]{0,4}){2,7}(?![\w:]))"
        rf"|(?P<directory>{'|'.join(directories if known else directories[1:])})|(?P<relative>{_RELATIVE})|{_BARE}"
    )


_USER: Final = re.compile(rf"(?:(?:^|/)(?:{_HOMES})/|^~|/(?:{'|'.join(_FACTS.before_user)}))([^/]+)")
_PACKAGES: Final = re.compile(rf".*[\\/](?=(?:{'|'.join(_FACTS.packages)})(?:[\\/]|$))", re.DOTALL)
_HOST_IN_NAME: Final = [re.compile(pattern) for pattern in _FACTS.host_in_name]
_VERSION_BEFORE: Final = re.compile(rf"(?:{'|'.join(_FACTS.version_words)})[\w.]*[\s:=\"']*$", re.IGNORECASE)
_PORT: Final = re.compile(r":\d+$")
_CAPTURE_ENDING: Final = re.compile(rf"(?:\.pt)?(?:\.trace)?(?:\.(?:{_ENDINGS}))+$|_ascend_(?:pt|ms)$", re.IGNORECASE)
_USUAL_IN_NAMES: Final = frozenset((*_FACTS.plain_words, *_FACTS.capture_words))
_DOTTED: Final = re.compile(r"(?:[\w\-]+\.)+[^\W\d_]{2,}")
_FILE: Final = re.compile(rf"\.(?:{_ENDINGS})$")
_NUMBERED_NODE: Final = re.compile(rf"(?i:{'|'.join(_FACTS.node_words)})[\-_]?\d+")
_ENCODED: Final = re.compile(r"%2F|%5C|^file://.*%", re.IGNORECASE)


@dataclass
class Finder:
    """Collects; ``hosts`` come in the order in which they are told, ``known`` directories need not be found."""

    known: frozenset[str] = frozenset()
    hosts: dict[str, None] = field(default_factory=dict)
    addresses: set[str] = field(default_factory=set)
    users: set[str] = field(default_factory=set)
    directories: set[str] = field(default_factory=set)
    files: set[str] = field(default_factory=set)  # names of captures, without endings, that may name somebody

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        return _location_pattern(self.known)

    def host(self, name: str) -> None:
        """Collect a name that is known to be a host's."""
        if name and name.lower() not in _FACTS.plain_hosts:
            self.hosts.setdefault(name.lower())

    def capture(self, name: str) -> None:
        """Collect the name of a captured file or directory, which may begin with a host or be chosen by a user."""
        for pattern in _HOST_IN_NAME:
            if match := pattern.match(name):
                if match["host"].lower() not in _FACTS.plain_words:
                    self.host(match["host"])
                return
        stem = _CAPTURE_ENDING.sub("", name)
        if any(word.lower() not in _USUAL_IN_NAMES for word in re.findall(r"[^\W\d_]+", stem)):
            self.files.add(stem)

    def piece(self, text: str) -> None:
        """Collect what a piece of text names."""
        text = _decoded(text)
        for sibling in self._siblings.findall(text):
            self.host(sibling)
        for match in self.pattern.finditer(text.lstrip()):
            if match["machine"] and _is_login(match):
                self.addresses.add(match["machine"].lower())
                self.users.add(match["login"])
            if match["named"]:
                (self.users.add if match["key"] in _FACTS.user_variables else self.host)(_without_port(match["named"]))
            if match["domain"]:
                self.addresses.add(match["domain"].lower())
            if directory := match["directory"] or match["below"] or match["cloned"]:
                self.users.update(_USER.findall(_normal(directory)))
                if not _PACKAGES.match(directory):
                    self.directories.add(_normal(directory))
            if (bare := match["bare"]) and bare.lower() not in _FACTS.plain_roots:
                self.directories.add(f"/{bare}")
            if (relative := match["relative"]) and not _is_of_package(relative):
                self.directories.add(_normal(relative))
            if address := match["address"] or match["authority"]:
                self.addresses.add(_PORT.sub("", address).lower())
            if match["bare_address"] and _names_a_host(match):
                self.addresses.add(match["bare_address"].lower())

    @cached_property
    def _siblings(self) -> re.Pattern[str]:
        """Other nodes of the machines that are known: of the same domain, or of the same name with another number."""
        domains = {host.partition(".")[2] for host in self.hosts if not _is_address(host)}
        named = rf"[A-Za-z0-9\-]+\.(?:{_any(domain for domain in domains if '.' in domain)})"
        numbered = "|".join(self.numbered_names) or r"(?!)"
        return re.compile(rf"(?<![A-Za-z0-9])(?i:{named}|{numbered})(?![A-Za-z0-9])")

    @cached_property
    def numbered_names(self) -> list[str]:
        """Patterns of names of nodes that differ from a known host in their number.

        A word that also stands for parts of a machine (gpu0) is a host's only with as many digits as the known one has.
        """
        patterns = set()
        for host in self.hosts:
            match = re.fullmatch(r"(.*\D)(\d+)", host.partition(".")[0])
            if match is None or len(match[1]) < _FACTS.least_letters:
                continue
            word = match[1].rstrip("-_")
            if word not in _FACTS.plain_words or word in _FACTS.node_words:
                patterns.add(rf"{re.escape(match[1])}\d+")
            elif len(match[2]) > 1:
                patterns.add(rf"{re.escape(match[1])}\d{{{len(match[2])}}}")
        return sorted(patterns)


def pieces(text: str) -> Iterator[str]:
    """What to look at, one by one: texts are many, but stacks, line by line or in a row, repeat the same frames."""
    for line in text.split("\n"):
        yield from line.split(";")


class Pseudonyms:
    """Replaces what a finder has collected: ``host-1``, ``user-1``, ``dir-1``."""

    def __init__(self, finder: Finder) -> None:
        self._pattern = finder.pattern
        told = [host for host in finder.hosts if not _is_local(host)]
        full_name = {host.partition(".")[0]: host for host in told if "." in host and not _is_address(host)}
        others = sorted(address for address in finder.addresses - set(told) if not _is_local(address))
        self._hosts = _numbered("host", [*(host for host in told if host not in full_name), *others])
        self._hosts |= {short: self._hosts[full] for short, full in full_name.items()}
        self._directories = _numbered("dir", sorted(finder.directories))
        self._files = _numbered("capture", sorted(finder.files))
        self._file = re.compile(rf"(?<![A-Za-z0-9])(?:{_any(self._files)})(?![A-Za-z0-9])")
        named = sorted({name.lower() for name in finder.users})
        users = {name: number for name, number in _numbered("user", named).items() if _is_telling(name)}
        # The authority of a URL need not be a host: s3://bucket.
        sure = {host: name for host, name in self._hosts.items() if host not in others or "." in host}
        hosts = {host: name for host, name in sure.items() if _is_telling(host)}
        self._users = _numbered("user", named)
        self._words = users | hosts
        self._word = re.compile(rf"(?<![A-Za-z0-9])(?i:{_any(self._words)})(?![A-Za-z0-9])")
        self._known_piece = lru_cache(maxsize=1 << 16)(self._piece)

    @property
    def words(self) -> list[str]:
        """What is replaced wherever it stands."""
        return [*self._words, *self._files]

    def host(self, name: str) -> str:
        """The pseudonym of a host."""
        return self._hosts.get(name.lower(), name)

    def text(self, text: str) -> str:
        """The text without names."""
        return "\n".join(";".join(map(self._known_piece, line.split(";"))) for line in text.split("\n"))

    def _piece(self, piece: str) -> str:
        text = _decoded(piece).lstrip()
        blanks = piece[: len(piece) - len(piece.lstrip())]
        text = self._file.sub(lambda match: self._files[match[0]], text)
        return blanks + self._word.sub(self._name, self._pattern.sub(self._location, text))

    def _name(self, match: re.Match[str]) -> str:
        return self._words[match[0].lower()]

    def _location(self, match: re.Match[str]) -> str:
        if match["directory"]:
            return self._directory(match["directory"])
        if match["bare"]:
            return self._directories.get(match[0], match[0])
        if match["relative"]:
            return match[0] if _is_of_package(match[0]) else self._directory(match[0])
        if match["bare_address"]:
            return self.host(match[0]) if _names_a_host(match) else match[0]
        if match["address"]:
            return self.host(match["address"])
        if match["named"]:
            return match["variable"] + self._of_variable(match["key"], match["named"])
        if match["domain"]:
            return self.host(match[0])
        if match["machine"]:
            return self._login(match)
        port = _PORT.search(match["authority"])
        host = self.host(_PORT.sub("", match["authority"])) + (port[0] if port else "")
        below = f"/{self._directory(match['below'])}" if match["below"] and _normal(match["below"]) else match["below"]
        return match["scheme"] + host + (below or "")

    def _of_variable(self, key: str, named: str) -> str:
        name = _without_port(named)
        if name.lower() in (*_FACTS.plain_hosts, *_FACTS.plain_words):
            return named
        known = self._users if key in _FACTS.user_variables else self._hosts
        return known.get(name.lower(), "name") + named[len(name) :]

    def _login(self, match: re.Match[str]) -> str:
        """Of what only may be a login, the place alone is replaced: ``a@b`` may as well be a product of matrices."""
        if not _is_login(match):
            return "user@host" if _may_be_login(match) else match[0]
        cloned = f":{self._directory(match['cloned'])}" if match["cloned"] else ""
        return f"{self._users.get(match['login'].lower(), 'user')}@{self.host(match['machine'])}{cloned}"

    def _directory(self, directory: str) -> str:
        if package := _PACKAGES.match(directory):
            return directory[package.end() :]
        if not _normal(directory):
            return directory
        return self._directories.get(_normal(directory), "dir") + ("/" if directory[-1] in "/\\" else "")


def _is_of_package(relative: str) -> bool:
    """Whether a path begins with a package that everybody may have, rather than with somebody's own directory."""
    first = relative.replace("\\", "/").partition("/")[0]
    return first in _FACTS.packages or first in _FACTS.known_packages or first in sys.stdlib_module_names


def _names_a_host(match: re.Match[str]) -> bool:
    """Whether four numbers are an address: each fits a byte, and nothing before them says that it is a version."""
    numbers = match["bare_address"]
    if ":" in numbers:
        return True
    return all(int(part) < 256 for part in numbers.split(".")) and not _VERSION_BEFORE.search(
        match.string, max(0, match.start() - 40), match.start()
    )


def _is_login(match: re.Match[str]) -> bool:
    """Whether ``login@machine`` is an account of somebody: Ascend joins the names of layers and calls that way too."""
    machine = match["machine"]
    if _DOTTED.fullmatch(machine):
        return not _FILE.search(machine)
    follows = match.string[match.end("machine") : match.end("machine") + 2]
    is_prompt = follows[:1] == ":" and not follows[1:].isspace() and not re.search("[a-z][A-Z]", machine)
    return (is_prompt and not machine.isdigit()) or _NUMBERED_NODE.fullmatch(machine) is not None


def _may_be_login(match: re.Match[str]) -> bool:
    login, machine = match["login"], match["machine"]
    return (
        min(len(login), len(machine)) >= _FACTS.least_letters
        and login.islower()
        and machine.islower()
        and machine not in _FACTS.no_machines
        and not _FILE.search(machine)
    )


def _without_port(name: str) -> str:
    return _PORT.sub("", name) if name.count(":") == 1 else name


def _decoded(text: str) -> str:
    """The text of which a path was written with percent signs for its slashes."""
    return unquote(text) if _ENCODED.search(text) else text


def _normal(directory: str) -> str:
    """A directory in one spelling; empty for the root, which tells nothing."""
    path = re.sub(r"[\\/]+", "/", directory).rstrip("/")
    return "" if re.fullmatch(r"(?:[A-Za-z]:)?", path) else path


def _numbered(kind: str, names: Iterable[str]) -> dict[str, str]:
    return dict(zip(filter(None, names), (f"{kind}-{number}" for number in itertools.count(1)), strict=False))


def _any(words: Iterable[str]) -> str:
    """Matches each of the words, the longest that fits; nothing where there are none."""
    return "|".join(re.escape(word) for word in sorted(words, key=lambda word: (-len(word), word))) or r"(?!)"


def _is_address(name: str) -> bool:
    return re.fullmatch(r"[\d.]+", name) is not None


def _is_local(name: str) -> bool:
    return not name or name in _FACTS.plain_hosts or name.startswith("127.")


def _is_telling(word: str) -> bool:
    """Whether a word in running text means the host or user of that name."""
    return (
        len(word) >= _FACTS.least_letters
        and word.lower() not in _FACTS.plain_words
        and (_is_address(word) or re.search(r"[^\W\d_]", word) is not None)
    )
