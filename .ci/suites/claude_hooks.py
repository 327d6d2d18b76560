#!/usr/bin/env python3
"""Runs Claude Code on the files that `bd setup claude` writes, with a model on loopback that claims a bead and then stops.

Usage: claude_hooks.py BD DIRECTORY. `claude` is on the PATH.
"""

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

BD, WORK = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
asked = []


def answer_to(request):
    """Calls the tool `next` of the MCP server once, then always ends its turn."""
    tools = {tool.get("name") for tool in request.get("tools", [])}
    called = "tool_result" in json.dumps(request["messages"])
    if "mcp__beads__next" in tools and not called:
        return {"type": "tool_use", "id": "toolu_1", "name": "mcp__beads__next", "input": {}}, "tool_use"
    return {"type": "text", "text": "All done."}, "end_turn"


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, text, kind="application/json"):
        body = text.encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.reply("{}")

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        if "/messages" not in self.path or "count_tokens" in self.path:
            return self.reply('{"input_tokens": 1}')
        asked.append(json.dumps(request.get("messages", []), ensure_ascii=False))
        block, reason = answer_to(request)
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": request.get("model"), "content": []}
        message |= {"stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
        if not request.get("stream"):
            return self.reply(json.dumps(message | {"content": [block], "stop_reason": reason}))
        if block["type"] == "text":
            empty, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            empty, delta = block, {"type": "input_json_delta", "partial_json": "{}"}
        events = [
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": empty},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": {"output_tokens": 3}},
            {"type": "message_stop"},
        ]
        lines = (f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
        self.reply("".join(lines), "text/event-stream")


def check(holds, what):
    if not holds:
        sys.exit(f"FAILED: {what}")


def main():
    for name in ("repo", "home/.claude", "bin", "run"):
        (WORK / name).mkdir(parents=True, mode=0o700)
    (WORK / "bin" / "bd").symlink_to(BD)
    (WORK / "home/.claude/settings.json").write_text('{"enabledMcpjsonServers": ["beads"]}')
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    env = {
        "PATH": f"{WORK / 'bin'}:{os.environ['PATH']}",
        "HOME": str(WORK / "home"),
        "BD_RUNTIME_DIR": str(WORK / "run"),
        "USER": "ann",
        "TERM": "dumb",
        "ANTHROPIC_API_KEY": "none",
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{server.server_port}",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        # Makes the server's tools available from the first request on.
        "ENABLE_TOOL_SEARCH": "false",
        "MCP_CONNECTION_NONBLOCKING": "false",
    }

    def run(*command, timeout=120):
        done = subprocess.run(command, cwd=WORK / "repo", env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout)
        check(done.returncode == 0, f"{command}: {done}")
        return done.stdout

    try:
        run("git", "init", "-q", ".")
        run(str(BD), "create", "Draw the map", "--id", "bd-map")
        run(str(BD), "setup", "claude")
        run("claude", "-p", "work", "--allowedTools", "mcp__beads__next")
        last = max(asked, key=len)
        check("# Work is tracked with bd" in last and "1 ready" in last, f"the start hook reached the model: {last}")
        check("bd-map P2 task Draw the map ACTIVE" in last, f"the model claimed a bead: {last}")
        check(last.count("You still hold bd-map (Draw the map)") == 1, f"it was reminded once: {last}")
        bead = json.loads(run(str(BD), "show", "bd-map", "--json"))[0]
        check((bead["status"], bead["assignee"]) == ("open", None), f"the end of the session released it: {bead}")
        print(f"claude: primed, reminded once, and released at the end, in {len(asked)} requests to the model")
    finally:
        subprocess.run([str(BD), "daemon", "stop"], cwd=WORK / "repo", env=env, capture_output=True, timeout=60)


main()
