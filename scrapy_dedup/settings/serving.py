"""Settings of the server: dashboard, REST and MCP."""

from dataclasses import dataclass

from scrapy_dedup.settings.domains import DomainSettings
from scrapy_dedup.settings.parsers import SWITCH, boolean, expressions, integer, setting, text


@dataclass(frozen=True, slots=True)
class ServingSettings(DomainSettings):
    """Of `scrapy dedup serve` and `scrapy dedup mcp`."""

    serve_host: str = setting(
        "127.0.0.1", text, "Address on which `serve` and `mcp --http` listen; one beyond this machine needs a token."
    )
    serve_port: int = setting(8642, integer(0, 65_535), "Port of `serve`; 0: one that is free.", allowed="0 to 65535")
    serve_token: str = setting(
        "", text, "The token that `serve` and `mcp --http` ask for; empty: a new one at each start, which is printed."
    )
    serve_allowed_hosts: tuple[str, ...] = setting(
        (),
        expressions,
        "Names besides the loopback's by which browsers and clients may call the server, such as `crawls.example.org`.",
        allowed="a list; as text: JSON, or one a line",
    )
    serve_rate: int = setting(
        1_200,
        integer(1, 1_000_000),
        "Requests a minute that the server answers to one client; beyond it 429.",
        allowed="1 to 1000000 requests",
    )
    serve_max_body_bytes: int = setting(
        1_000_000,
        integer(1_000, 10**9),
        "Bytes of a request's body; beyond it 413.",
        allowed="1000 to 10**9 bytes",
    )
    mcp_port: int = setting(
        8643, integer(0, 65_535), "Port of `mcp --http`; 0: one that is free.", allowed="0 to 65535"
    )
    mcp_blacklist: bool = setting(
        False, boolean, "Gives MCP clients the tool `blacklist_domain`; without it they only read.", allowed=SWITCH
    )
