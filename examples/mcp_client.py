"""A client of the Model Context Protocol: any other is told to run `stitch mcp --memory agent.memory` alike."""

import asyncio
import sys

from mcp import Client, StdioServerParameters


async def main() -> None:
    server = StdioServerParameters(command=sys.executable, args=["-m", "stitch", "mcp", "--memory", "agent.memory"])
    async with Client(server) as client:
        await client.call_tool("remember", {"content": "Ann lives in Porto.", "role": "user"})
        found = await client.call_tool("search", {"query": "Where does Ann live?"})
        print(found.structured_content["context"])


asyncio.run(main())
