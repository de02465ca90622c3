"""How a server was started: where it listens, what it may read, and who may ask."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass
from pathlib import Path

from stepscope.facts.server import server_facts
from stepscope.store.location import default_root


def is_loopback(host: str) -> bool:
    """Whether an address or name can only be reached from this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def most_upload_bytes() -> int:
    """The largest file that may be dropped onto the page."""
    return int(server_facts().most_upload_bytes)


@dataclass(frozen=True)
class Settings:
    """``roots`` are resolved paths; nothing outside them is opened. A token is needed off this machine."""

    roots: tuple[Path, ...]
    host: str = "127.0.0.1"
    port: int = 8080
    base_path: str = ""
    token: str | None = None
    allowed_hosts: tuple[str, ...] = ()
    store: Path | None = None
    form: str | None = None
    most_upload_bytes: int = 0  # 0 stands for the usual limit

    @property
    def upload_limit(self) -> int:
        return self.most_upload_bytes or most_upload_bytes()

    @property
    def uploads(self) -> Path:
        """Where dropped files lie while they are read."""
        return (self.store or default_root()).expanduser() / "uploads"

    @property
    def cookie(self) -> str:
        """Cookies do not tell ports apart, so their names do."""
        return f"stepscope_{self.port}"

    def answers_for(self, host: str) -> bool:
        """Whether a Host header names this server; its port is not looked at, because tunnels change it."""
        name = _without_port(host).lower()
        known = {self.host.lower(), *(each.lower() for each in self.allowed_hosts)}
        if name in known or is_loopback(name):
            return True
        if not _is_wildcard(self.host):
            return False
        # Bound to all addresses: any of them may be named, but a foreign name is how rebinding attacks come in.
        return _is_address(name) or name in {socket.gethostname().lower(), socket.getfqdn().lower()}


def normal_base_path(text: str) -> str:
    """A prefix with a slash before and none after it; empty for none.

    >>> normal_base_path("proxy/8080/"), normal_base_path("/")
    ('/proxy/8080', '')
    """
    trimmed = text.strip().strip("/")
    return f"/{trimmed}" if trimmed else ""


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0] if host.count(":") == 1 else host


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _is_wildcard(host: str) -> bool:
    return host in ("0.0.0.0", "::", "")
