"""What the documentation says of the tools is what they are."""

import re
from pathlib import Path

from tests.commands.running import Shop
from tests.mcp_server.speaking import tools_of

DOCS = Path(__file__).parents[2] / "docs" / "mcp.md"


def test_the_table_has_every_tool_with_its_arguments(filled_shop: Shop) -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \|", DOCS.read_text(), re.MULTILINE)

    found = {name: re.findall(r"`(\w+)`", arguments) for name, arguments in rows}
    tools = tools_of(filled_shop, with_blacklist=True)
    assert found == {name: list(tool.input_schema["properties"]) for name, tool in tools.items()}
