#!/usr/bin/env python3
"""Sends real hook payloads of each coding agent to the commands that `bd setup` installs, and runs two subagents on one MCP server.

Usage: agents_hooks.py BD DIRECTORY. Everything happens below DIRECTORY.
"""

import atexit
import json
import subprocess
import sys
from pathlib import Path

BD, WORK = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
checks = 0


def check(holds, what):
    global checks
    checks += 1
    if not holds:
        sys.exit(f"FAILED: {what}")


class Project:
    """A repository with one coding agent set up, isolated from the outside."""

    def __init__(self, client):
        self.client = client
        self.root = WORK / client
        self.repo = self.root / "repo"
        for name in ("repo", "home", "bin", "run"):
            (self.root / name).mkdir(parents=True, mode=0o700)
        (self.root / "bin" / "bd").symlink_to(BD)
        self.env = {
            "PATH": f"{self.root / 'bin'}:/usr/bin:/bin",
            "HOME": str(self.root / "home"),
            "BD_RUNTIME_DIR": str(self.root / "run"),
            "USER": "ann",
        }
        subprocess.run(["git", "init", "-q", str(self.repo)], check=True)
        atexit.register(self.close)

    def bd(self, *args, session=None, ok=True):
        env = dict(self.env, **({"BD_SESSION": session} if session else {}))
        done = subprocess.run([str(BD), *args], cwd=self.repo, env=env, capture_output=True, text=True, timeout=60)
        check(done.returncode == 0 or not ok, f"{self.client}: bd {args}: {done}")
        return done.stdout

    def bead(self, id):
        return json.loads(self.bd("show", id, "--json"))[0]

    def hook(self, command, payload, cwd=None, raw=None):
        """Runs an installed command as the agent's program does, with its payload on standard input."""
        text = json.dumps(payload) if raw is None else raw
        done = subprocess.run(
            ["sh", "-c", command], cwd=cwd or self.repo, env=self.env, input=text, capture_output=True, text=True, timeout=20
        )
        check(done.returncode == 0, f"{self.client}: {command} exits with {done.returncode}: {done.stderr}")
        check(done.stderr == "", f"{self.client}: {command} prints {done.stderr} on standard error")
        return json.loads(done.stdout) if done.stdout.strip() else None

    def close(self):
        """Stops the daemon, even if a check failed."""
        command = [str(BD), "daemon", "stop"]
        subprocess.run(command, cwd=self.repo, env=self.env, capture_output=True, timeout=60)


def grouped(path):
    """Reads events with groups of hooks, the format of Claude Code, Codex and Gemini CLI."""

    def read(project):
        hooks = json.loads((project.repo / path).read_text())["hooks"]
        return {event: groups[0]["hooks"][0]["command"] for event, groups in hooks.items()}

    return read


def flat(path, field):
    """Reads events with lists of commands, the format of Cursor and Copilot."""

    def read(project):
        file = json.loads((project.repo / path).read_text())
        check(file["version"] == 1, f"{path} has version 1")
        return {event: entries[0][field] for event, entries in file["hooks"].items()}

    return read


def claude(event, session, cwd, **more):
    common = {
        "session_id": session,
        "transcript_path": "/home/ann/.claude/projects/x/00893aaf.jsonl",
        "cwd": cwd,
        "permission_mode": "default",
        "hook_event_name": event,
    }
    return {**common, **more}


def codex(event, session, cwd, **more):
    common = {
        "session_id": session,
        "turn_id": "turn-1",
        "transcript_path": None,
        "cwd": cwd,
        "hook_event_name": event,
        "model": "gpt-5",
        "permission_mode": "default",
    }
    return {**common, **more}


def gemini(event, session, cwd, **more):
    common = {
        "session_id": session,
        "transcript_path": "/home/ann/.gemini/tmp/x/logs.json",
        "cwd": cwd,
        "hook_event_name": event,
        "timestamp": "2026-11-17T12:00:00.000Z",
    }
    return {**common, **more}


def cursor(event, session, cwd, **more):
    common = {
        "conversation_id": session,
        "generation_id": "26b45fb6-bdea-439c-b2dc-5e97ee00ecea",
        "model": "auto",
        "hook_event_name": event,
        "cursor_version": "3.7.21",
        "workspace_roots": [cwd],
        "user_email": None,
    }
    return {**common, **more}


def named(path):
    """Reads a named group of events with lists of commands, the format of Antigravity."""

    def read(project):
        group = json.loads((project.repo / path).read_text())["beads"]
        return {event: handlers[0]["command"] for event, handlers in group.items()}

    return read


def antigravity(session, cwd, **more):
    common = {
        "conversationId": session,
        "workspacePaths": [cwd],
        "transcriptPath": "/home/ann/.gemini/antigravity-cli/brain/x/transcript.jsonl",
        "artifactDirectoryPath": "/home/ann/.gemini/antigravity-cli/brain/x",
        "modelName": "gemini-3-pro",
    }
    return {**common, **more}


def copilot(event, session, cwd, **more):
    return {"hook_event_name": event, "session_id": session, "timestamp": "2026-11-17T12:00:00.000Z", "cwd": cwd, **more}


def in_hook_output(answer):
    return answer["hookSpecificOutput"]["additionalContext"]


def blocked(answer):
    check(answer.get("decision") == "block", f"not blocked: {answer}")
    return answer["reason"]


def continued(answer):
    check(answer.get("decision") == "continue", f"not continued: {answer}")
    return answer["reason"]


# For each program: where its hooks are, its payloads, and how it reads the answers.
PROGRAMS = {
    "claude": {
        "commands": grouped(".claude/settings.json"),
        "start": ("SessionStart", lambda s, c: claude("SessionStart", s, c, source="startup", model="opus")),
        "context": in_hook_output,
        "stop": ("Stop", lambda s, c, again: claude("Stop", s, c, stop_hook_active=again, last_assistant_message="Done")),
        "reason": blocked,
        "end": ("SessionEnd", lambda s, c: claude("SessionEnd", s, c, reason="prompt_input_exit")),
        "subagents": lambda event, s, c, agent, **more: claude(event, s, c, agent_id=agent, agent_type="Explore", **more),
    },
    "codex": {
        "commands": grouped(".codex/hooks.json"),
        "start": ("SessionStart", lambda s, c: codex("SessionStart", s, c, source="startup")),
        "context": in_hook_output,
        "stop": ("Stop", lambda s, c, again: codex("Stop", s, c, stop_hook_active=again, last_assistant_message=None)),
        "reason": blocked,
        "end": None,
        "subagents": lambda event, s, c, agent, **more: codex(event, s, c, agent_id=agent, agent_type="default", **more),
    },
    "gemini": {
        "commands": grouped(".gemini/settings.json"),
        "start": ("SessionStart", lambda s, c: gemini("SessionStart", s, c, source="startup")),
        "context": in_hook_output,
        "stop": (
            "AfterAgent",
            lambda s, c, again: gemini("AfterAgent", s, c, prompt="go", prompt_response="ok", stop_hook_active=again),
        ),
        "reason": blocked,
        "end": ("SessionEnd", lambda s, c: gemini("SessionEnd", s, c, reason="exit")),
        "subagents": None,
    },
    "cursor": {
        "commands": flat(".cursor/hooks.json", "command"),
        "start": ("sessionStart", lambda s, c: cursor("sessionStart", s, c, session_id=s, is_background_agent=False)),
        "context": lambda answer: answer["additional_context"],
        "stop": ("stop", lambda s, c, again: cursor("stop", s, c, status="completed", loop_count=int(again))),
        "reason": lambda answer: answer["followup_message"],
        "end": ("sessionEnd", lambda s, c: cursor("sessionEnd", s, c, session_id=s, reason="completed", duration_ms=1)),
        "subagents": None,
    },
    "antigravity": {
        "commands": named(".agents/hooks.json"),
        "start": ("PreInvocation", lambda s, c: antigravity(s, c, invocationNum=0, initialNumSteps=1)),
        "context": lambda answer: answer["injectSteps"][0]["ephemeralMessage"],
        # Its payload does not say whether it continued because of a hook.
        "stop": (
            "Stop",
            lambda s, c, again: antigravity(s, c, executionNum=0, terminationReason="NO_TOOL_CALL", error="", fullyIdle=True),
        ),
        "reason": continued,
        "end": None,
        "subagents": None,
    },
    "copilot": {
        "commands": flat(".github/hooks/beads.json", "bash"),
        "start": ("SessionStart", lambda s, c: copilot("SessionStart", s, c, source="startup")),
        "context": lambda answer: answer["additionalContext"],
        # Its payload does not say whether it continued because of a hook.
        "stop": ("Stop", lambda s, c, again: copilot("Stop", s, c, transcript_path="/x", stop_reason="end_turn")),
        "reason": blocked,
        "end": ("SessionEnd", lambda s, c: copilot("SessionEnd", s, c, reason="user_exit")),
        "subagents": None,
    },
}


def run(client):
    program, project = PROGRAMS[client], Project(client)
    project.bd("create", "Draw the map", "--id", "bd-map")
    project.bd("setup", client)
    project.bd("setup", client, "--check")
    commands, here, session = program["commands"](project), str(project.repo), f"{client}-019d1afb-b2c7"

    event, payload = program["start"]
    primed = program["context"](project.hook(commands[event], payload(session, here)))
    check("# Work is tracked with bd" in primed and "1 ready" in primed, f"{client}: {primed}")

    project.bd("claim", "bd-map", session=session)
    event, payload = program["stop"]
    stop = lambda again: project.hook(commands[event], payload(session, here, again))
    reason = program["reason"](stop(False))
    check("You still hold bd-map (Draw the map)" in reason and "bd unclaim bd-map" in reason, f"{client}: {reason}")
    check(stop(True) == {} and stop(False) == {}, f"{client}: the stop hook never blocks twice")
    other = project.hook(commands[event], payload("another-session", here, False))
    check(other == {}, f"{client}: a session is not reminded of another session's claims: {other}")

    if program["subagents"]:
        subagents(project, program, commands, session)
    if program["end"]:
        event, payload = program["end"]
        project.hook(commands[event], payload("another-session", here))
        check(project.bead("bd-map")["status"] == "in_progress", f"{client}: the end of another session releases nothing")
        project.hook(commands[event], payload(session, here))
        bead = project.bead("bd-map")
        check((bead["status"], bead["assignee"]) == ("open", None), f"{client}: the end releases: {bead}")

    # Our hooks never stop a program, whatever it sends and wherever it runs.
    for command in commands.values():
        for raw in ("", "{", "null", '"x"', '{"session_id": 7}', "\u0000", json.dumps({"session_id": "x" * 5000})):
            answer = project.hook(command, None, raw=raw)
            check("decision" not in (answer or {}) and "followup_message" not in (answer or {}), f"{command}: {answer}")
        check(project.hook(command, payload_of(program), cwd=project.root / "home") in (None, {}), f"{command} outside")

    project.bd("setup", client, "--remove")
    left = sorted(path.name for path in project.repo.iterdir())
    check(left == [".git"], f"{client}: after --remove, {left} is left")


def payload_of(program):
    return program["start"][1]("elsewhere", "/")


def subagents(project, program, commands, session):
    """A subagent gets its own name, is reminded once, and its claims are released when it stops."""
    here, agent = str(project.repo), "a0f3c9e2"
    project.bd("create", "Walk the map", "--id", "bd-walk")
    payload = program["subagents"]
    text = in_hook_output(project.hook(commands["SubagentStart"], payload("SubagentStart", session, here, agent)))
    check(f'"agent": "{agent}"' in text, f"{project.client}: {text}")
    actor = text.split("--actor '")[1].split("'")[0]
    project.bd("--actor", actor, "claim", "bd-walk", session=session)

    def stop(again, name=agent):
        return project.hook(commands["SubagentStop"], payload("SubagentStop", session, here, name, stop_hook_active=again))

    check(stop(False, "b1") == {}, f"{project.client}: another subagent holds nothing")
    check("bd-walk" in blocked(stop(False)), f"{project.client}: the subagent is reminded")
    check(project.bead("bd-walk")["status"] == "in_progress", f"{project.client}: it continues and still holds the bead")
    check(stop(True) == {}, f"{project.client}: the subagent may stop the second time")
    check(project.bead("bd-walk")["status"] == "open", f"{project.client}: its claim is released")


class Server:
    """`bd mcp` as a client sees it."""

    def __init__(self, project):
        env = dict(project.env, BD_ACTOR="ann")
        self.process = subprocess.Popen(
            [str(BD), "mcp"], cwd=project.repo, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        atexit.register(self.process.kill)
        self.last = 0
        info = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "suite", "version": "1"}}
        self.ask("initialize", info)

    def ask(self, method, params):
        self.last += 1
        message = {"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()
        while True:
            answer = json.loads(self.process.stdout.readline())
            if answer.get("id") == self.last:
                return answer["result"]

    def call(self, tool, **arguments):
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        return result["content"][0]["text"], result.get("isError", False)

    def close(self):
        self.process.stdin.close()
        self.process.wait(30)


def two_subagents():
    """Two subagents share one server but have separate claims."""
    project = Project("mcp")
    for name in ("one", "two"):
        project.bd("create", f"Task {name}", "--id", f"bd-{name}")
    server = Server(project)
    first, _ = server.call("next", agent="a1")
    second, _ = server.call("next", agent="a2")
    check(first.startswith("bd-one ") and second.startswith("bd-two "), f"each gets another bead: {first} {second}")
    refused, failed = server.call("next", id="bd-one", agent="a2")
    check(failed and "ann/a1" in refused, f"a2 cannot take what a1 holds: {refused}")
    for agent, id in (("a1", "bd-one"), ("a2", "bd-two")):
        status, _ = server.call("status", agent=agent)
        check(status.startswith(f"{id} ACTIVE") and "mine 1" in status, f"{agent}: {status}")
    refused, failed = server.call("done", id="bd-one", reason="mine", agent="a2")
    check(failed, f"a2 cannot close what a1 holds: {refused}")
    done, failed = server.call("done", reason="drawn", agent="a1")
    check(not failed and done.startswith("bd-one DONE"), done)
    check(project.bead("bd-one")["closed_by"] == "ann/a1", "closed by its holder")
    server.close()
    bead = project.bead("bd-two")
    check((bead["status"], bead["assignee"]) == ("open", None), f"the end of the server releases the remaining claim: {bead}")


def server_of_the_session():
    """Claims made through a program's MCP server belong to the session of its hooks."""
    project = Project("server")
    project.bd("create", "Task", "--id", "bd-one")
    project.bd("setup", "claude")
    commands, here = PROGRAMS["claude"]["commands"](project), str(project.repo)
    server = Server(project)
    server.call("next")
    reason = blocked(project.hook(commands["Stop"], claude("Stop", "s1", here, stop_hook_active=False)))
    check("bd-one" in reason, reason)
    project.hook(commands["SessionEnd"], claude("SessionEnd", "s1", here, reason="clear"))
    check(project.bead("bd-one")["status"] == "open", "after a clear the server keeps running, and its claim is released")
    server.close()


def all_together():
    """Clients share files; removing one leaves what another still needs."""
    project = Project("all")
    project.bd("setup", "--all")
    project.bd("setup", "--all", "--check")
    project.bd("setup", "claude", "--remove")
    project.bd("setup", "copilot", "--check")
    check("beads" in json.loads((project.repo / ".mcp.json").read_text())["mcpServers"], "copilot needs .mcp.json")
    check(not (project.repo / ".claude").exists(), "no other client needs .claude")
    project.bd("setup", "--all", "--remove")
    check(sorted(path.name for path in project.repo.iterdir()) == [".git"], "nothing is left")


def antigravity_calls():
    """Antigravity calls its start hook before each call of the model, and its stop hook while background tasks run."""
    project, session = Project("antigravity-calls"), "d8"
    project.bd("create", "Draw the map", "--id", "bd-map")
    project.bd("setup", "antigravity")
    project.env["ANTIGRAVITY_CONVERSATION_ID"] = session
    project.bd("claim", "bd-map")
    # Its hooks run in the directory of their file.
    commands, here = named(".agents/hooks.json")(project), project.repo / ".agents"
    later = antigravity(session, str(project.repo), invocationNum=1, initialNumSteps=4)
    check(project.hook(commands["PreInvocation"], later, cwd=here) == {}, "antigravity: only the first call is primed")
    stop = {"executionNum": 0, "terminationReason": "NO_TOOL_CALL", "error": "", "fullyIdle": False}
    busy = antigravity(session, str(project.repo), **stop)
    check(project.hook(commands["Stop"], busy, cwd=here) == {}, "antigravity: background tasks are not interrupted")
    idle = antigravity(session, str(project.repo), **{**stop, "fullyIdle": True})
    check("bd-map" in continued(project.hook(commands["Stop"], idle, cwd=here)), "antigravity: claims of its shell are known")


def opencode():
    """Loads the plugin as opencode does, and sends it the events of a session."""
    project = Project("opencode")
    project.bd("setup", "opencode")
    project.bd("create", "Write the parser", "--id", "bd-one")
    project.bd("claim", "bd-one", session="ses_1")
    host = Path(__file__).with_name("opencode_host.mjs")
    plugin = project.repo / ".opencode/plugins/beads.js"
    env = dict(project.env, PATH=f"{project.root / 'bin'}:/usr/local/bin:/usr/bin:/bin")
    events = [
        {"type": "session.created", "properties": {"info": {"id": "ses_1"}}},
        {"type": "session.created", "properties": {"info": {"id": "ses_2", "parentID": "ses_1"}}},
        {"type": "session.idle", "properties": {"sessionID": "ses_2"}},
        {"type": "session.idle", "properties": {"sessionID": "ses_1"}},
        {"type": "session.idle", "properties": {"sessionID": "ses_1"}},
        {"type": "file.edited", "properties": {"file": "a"}},
        {"type": "session.deleted", "properties": {"info": {"id": "ses_1"}}},
    ]
    done = subprocess.run(
        ["node", str(host), str(plugin), str(project.repo)], env=env, input=json.dumps(events), capture_output=True, text=True, timeout=120
    )
    check(done.returncode == 0, f"opencode: {done}")
    said = json.loads(done.stdout)
    check([one["id"] for one in said["prompts"]] == ["ses_1", "ses_1"], f"opencode: primed and reminded once: {said}")
    primed, reminded = said["prompts"]
    check(primed["noReply"] is True and "bd-one" in primed["text"], f"opencode: the start shows what it holds: {primed}")
    check(reminded["noReply"] is False and "bd-one" in reminded["text"], f"opencode: the stop reminds: {reminded}")
    check(said["env"] == {"BD_SESSION": "ses_1"}, f"opencode: commands act as their session: {said}")
    check(project.bead("bd-one")["status"] == "open", "opencode: the end of a session releases its claim")
    project.bd("setup", "opencode", "--remove")
    check(not (project.repo / ".opencode").exists(), "opencode: nothing is left")


for name in PROGRAMS:
    run(name)
    print(f"{name}: start, stop, end and subagent hooks answer as it expects")
antigravity_calls()
print("antigravity: only the first call is primed, and background tasks are not interrupted")
opencode()
print("opencode: its plugin primes, reminds once, names the session and releases")
two_subagents()
print("mcp: two subagents on one server have separate claims")
server_of_the_session()
print("claude: claims through its MCP server belong to the session of its hooks")
all_together()
print("setup: removing one client leaves what another needs")
print(f"{checks} checks")
