"""Drives beads-mcp over standard input and output: SERVER DIRECTORY-OF-BD REPOSITORY WAY.

WAY is how the server learns its workspace, according to its documentation: `context` (a tool call first), `workspace_root`
(a parameter of every call, without any variable), or `working_dir` (the variable BEADS_WORKING_DIR)."""

import asyncio
import json
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

server, bin_directory, repository, way = sys.argv[1:]
passed = 0
called = set()


def check(what, holds, found):
    global passed
    if not holds:
        sys.exit(f"FAILED: {what}: {found}")
    passed += 1
    print(f"ok: {what}")


async def main(session):
    await session.initialize()

    async def ask(tool, arguments):
        called.add(tool)
        if way == "workspace_root" and tool not in ("discover_tools", "get_tool_info"):
            arguments = {**arguments, "workspace_root": repository}
        return await session.call_tool(tool, arguments)

    async def call(tool, **arguments):
        result = await ask(tool, arguments)
        texts = [block.text for block in result.content if block.type == "text"]
        if result.isError:
            sys.exit(f"FAILED: {tool} {arguments}: {texts}")
        if result.structuredContent is not None:
            value = result.structuredContent
            return value["result"] if set(value) == {"result"} else value
        values = [json.loads(text) for text in texts]
        return values[0] if len(values) == 1 else values

    async def refused(tool, **arguments):
        result = await ask(tool, arguments)
        return result.isError

    listed_tools = {tool.name for tool in (await session.list_tools()).tools}
    await ask("discover_tools", {})
    await ask("get_tool_info", {"tool_name": "create"})
    # The server's instructions select the project with a tool.
    await ask("context", {"workspace_root": repository} if way == "context" else {"action": "show"})

    first = await call("create", title="Find the leak", issue_type="bug", priority=1, description="It drips.",
                       design="Listen", acceptance="Dry", labels=["plumbing", "urgent"], brief=False)
    check("create", first["title"] == "Find the leak" and first["issue_type"] == "bug", first)
    check("create: labels and texts", first["labels"] == ["plumbing", "urgent"] and first["design"] == "Listen", first)
    second = await call("create", title="Mend the pipe", assignee="ann", external_ref="gh-9", brief=False)
    third = await call("create", title="Paint it", deps=[second["id"]], brief=False)
    brief = await call("create", title="Plumbing", issue_type="epic", id="bd-epic")
    check("create: with a chosen id", brief["id"] == "bd-epic" and brief["action"] == "created", brief)

    listed = await call("list", status="open")
    check("list", {issue["id"] for issue in listed} == {first["id"], second["id"], third["id"], "bd-epic"}, listed)
    listed = await call("list", query="LEAK", labels=["plumbing"], unassigned=True)
    check("list: filtered", [issue["id"] for issue in listed] == [first["id"]], listed)

    await ask("dep", {"issue_id": second["id"], "depends_on_id": first["id"], "dep_type": "blocks"})
    await ask("dep", {"issue_id": second["id"], "depends_on_id": "bd-epic", "dep_type": "parent-child"})
    shown = await call("show", issue_id=second["id"])
    links = {link["id"]: link["dependency_type"] for link in shown["dependencies"]}
    check("dep, show: dependencies are whole issues", links == {first["id"]: "blocks", "bd-epic": "parent-child"}, shown)
    check("show: dependents", [link["id"] for link in shown["dependents"]] == [third["id"]], shown)

    ready = await call("ready", limit=10)
    check("ready", [issue["id"] for issue in ready][0] == first["id"], ready)
    check("ready: blocked ones are not", second["id"] not in [issue["id"] for issue in ready], ready)
    for policy in ["hybrid", "priority", "oldest"]:
        again = await call("ready", limit=10, sort_policy=policy)
        check(f"ready: {policy}", {issue["id"] for issue in again} == {issue["id"] for issue in ready}, again)
    blocked = await call("blocked")
    by = {issue["id"]: issue["blocked_by"] for issue in blocked}
    check("blocked", by == {second["id"]: [first["id"]], third["id"]: [second["id"]]}, blocked)

    claimed = await call("claim", issue_id=first["id"], brief=False)
    check("claim", claimed["status"] == "in_progress" and claimed["assignee"], claimed)

    bullets = "- a wrench\n- a rag"
    updated = await call("update", issue_id=second["id"], notes=bullets, priority=0, title="Mend it",
                         acceptance_criteria="No drip", brief=False)
    check("update", (updated["notes"], updated["priority"]) == (bullets, 0), updated)

    await ask("comment", {"issue_id": first["id"], "text": "- behind the wall"})
    comments = await call("comments", issue_id=first["id"])
    comments = comments if isinstance(comments, list) else [comments]
    check("comment, comments", [comment["text"] for comment in comments] == ["- behind the wall"], comments)
    noted = await ask("note", {"issue_id": third["id"], "text": "- two coats"})
    check("note", not noted.isError, noted)
    shown = await call("show", issue_id=third["id"])
    check("note: appended to the notes", shown["notes"] == "- two coats", shown)

    closed = await call("close", issue_id=first["id"], reason="found", brief=False)
    closed = closed[0] if isinstance(closed, list) else closed
    check("close", closed["status"] == "closed" and closed["closed_at"], closed)
    ready = await call("ready", limit=10)
    check("close: the blocked bead is ready", second["id"] in [issue["id"] for issue in ready], ready)
    reopened = await call("reopen", issue_ids=[first["id"]], reason="drips again", brief=False)
    check("reopen", reopened[0]["status"] == "open", reopened)

    stats = await call("stats")
    check("stats", stats["summary"]["total_issues"] == 4, stats)

    # Queries about the store itself.
    validated = await call("admin", action="validate", fix_all=True)
    check("admin: validate", validated["overall_ok"] is True, validated)
    repaired = await call("admin", action="repair", fix=True)
    check("admin: repair", repaired["orphans_found"] == 0 and repaired["fixed"] == 0, repaired)
    schema = await call("admin", action="schema")
    check("admin: schema", "title" in schema["schema"]["fields"] and len(schema["schema"]["sample_ids"]) == 4, schema)
    migration = await call("admin", action="migration")
    check("admin: migration", migration["needs_migration"] is False, migration)
    check("admin: pollution is refused", await refused("admin", action="pollution"), "no error")
    check("an unknown issue is an error", await refused("show", issue_id="bd-nowhere"), "no error")
    check("every tool was called", called == listed_tools, listed_tools ^ called)


async def run():
    environment = {"PATH": f"{bin_directory}:{os.environ['PATH']}", "HOME": os.path.dirname(bin_directory)}
    if way == "working_dir":
        environment["BEADS_WORKING_DIR"] = repository
    parameters = StdioServerParameters(command=server, env=environment, cwd=os.path.dirname(bin_directory))
    with open(os.devnull, "w") as quiet:
        async with stdio_client(parameters, errlog=quiet) as (read, write):
            async with ClientSession(read, write) as session:
                await main(session)
    print(f"beads-mcp, {way}: {passed} checks passed, {len(called)} tools called")


asyncio.run(run())
