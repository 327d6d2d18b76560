"""Runs the plugin that bd setup opencode writes inside the real opencode, with a scripted model on loopback."""
import json, os, pathlib, re, subprocess, sys, threading, time, urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

bd, work = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
INSTALL_S, RUN_S, WAIT_S = 300, 180, 60
CLAIM = "bd claim bd-map && echo session=$BD_SESSION"


def check(holds, what):
    if not holds:
        sys.exit(f"failed: {what}")


def text_of(message):
    content = message.get("content") or ""
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


class Model(BaseHTTPRequestHandler):
    """Answers as a model does that claims a bead and stops without closing it."""

    requests, reminded = [], threading.Event()

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        tools = {tool["function"]["name"] for tool in body.get("tools", [])}
        # Requests without tools are for titles.
        delta = self.answer(body) if "bash" in tools else {"content": "A title"}
        reason = "tool_calls" if "tool_calls" in delta else "stop"
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        for choice in ({"delta": {"role": "assistant", **delta}, "finish_reason": None}, {"delta": {}, "finish_reason": reason}):
            chunk = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "usage": usage}
            self.wfile.write(f"data: {json.dumps({**chunk, 'choices': [{'index': 0, **choice}]})}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")

    def answer(self, body):
        self.requests.append(body)
        messages = [text_of(message) for message in body["messages"]]
        called = sum(len(message.get("tool_calls") or []) for message in body["messages"])
        if called == 0:
            return self.run_command(CLAIM)
        if any("still hold" in text for text in messages[-1:]):
            self.reminded.set()
        return {"content": "Done."}

    @staticmethod
    def run_command(command):
        arguments = json.dumps({"command": command, "description": "Use bd"})
        call = {"index": 0, "id": f"call_{len(Model.requests)}", "type": "function"}
        return {"tool_calls": [{**call, "function": {"name": "bash", "arguments": arguments}}]}


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, **options)
    check(done.returncode == 0, f"{command} exited with {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done


def install():
    target = work / "npm"
    target.mkdir()
    run("npm", "install", "--no-audit", "--no-fund", "--prefix", str(target), "opencode-ai", timeout=INSTALL_S)
    return target / "node_modules/.bin/opencode"


def prepare(port):
    repo, home, runtime, bin_ = (work / name for name in ("repo", "home", "run", "bin"))
    for directory in (repo, home, runtime, bin_):
        directory.mkdir()
    runtime.chmod(0o700)
    (bin_ / "bd").symlink_to(bd)
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("BD_", "BEADS_"))},
        "HOME": str(home), "PWD": str(repo), "BD_RUNTIME_DIR": str(runtime), "PATH": f"{bin_}:{os.environ['PATH']}",
        "BD_ACTOR": "agent@mac", "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1",
    }
    run("git", "init", "-q", cwd=repo)
    run("git", "-c", "user.name=ann", "-c", "user.email=ann@mac", "commit", "-q", "--allow-empty", "-m", "Begin", cwd=repo)
    run("bd", "create", "Draw the map", "--id", "bd-map", cwd=repo, env=environment)
    run("bd", "setup", "opencode", cwd=repo, env=environment)
    config = repo / "opencode.json"
    settings = json.loads(config.read_text())
    model = {"name": "m", "tool_call": True, "limit": {"context": 100_000, "output": 1_000}}
    options = {"baseURL": f"http://127.0.0.1:{port}/v1", "apiKey": "none"}
    settings["provider"] = {"local": {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {"m": model}}}
    settings |= {"model": "local/m", "small_model": "local/m", "autoupdate": False, "share": "disabled"}
    config.write_text(json.dumps(settings))
    return repo, environment


def main():
    opencode = install()
    version = run(str(opencode), "--version", timeout=60).stdout.strip()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    repo, environment = prepare(server.server_port)
    # opencode run alone would exit when the session is idle, before the plugin can answer.
    serve = [str(opencode), "serve", "--hostname", "127.0.0.1", "--port", "0"]
    log = open(work / "serve.log", "w+")
    opened = subprocess.Popen(serve, cwd=repo, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        use(opencode, repo, environment, log, version)
    finally:
        opened.terminate()
        opened.wait(timeout=30)
        run("bd", "daemon", "stop", cwd=repo, env=environment)


def wait_for(what, found):
    """Returns the first result of found that is not empty."""
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end:
        if result := found():
            return result
        time.sleep(0.1)
    sys.exit(f"failed: {what} within {WAIT_S} s")


def use(opencode, repo, environment, log, version):
    address = wait_for("opencode listens", lambda: re.search(r"http://127\.0\.0\.1:\d+", pathlib.Path(log.name).read_text()))
    run(str(opencode), "run", "--attach", address[0], "Draw it", cwd=repo, env=environment, timeout=RUN_S)
    first = [text_of(message) for message in Model.requests[0]["messages"]]
    told = any("You hold nothing. 1 ready." in text for text in first)
    check(told, f"the start hook did not tell the model about its beads: {first[1:]}")
    tools = {tool["function"]["name"] for tool in Model.requests[0]["tools"]}
    check("beads_next" in tools, f"the MCP server was not started: {sorted(tools)}")
    results = [text_of(message) for body in Model.requests for message in body["messages"] if message["role"] == "tool"]
    check(any("session=ses_" in text for text in results), f"the shell does not know its session: {results}")
    check(Model.reminded.wait(WAIT_S), "the stop hook did not remind the model of the bead that it holds")
    session = next(re.search(r"session=(ses_\w+)", text)[1] for text in results if "session=ses_" in text)
    url = f"{address[0]}/session/{session}"
    urllib.request.urlopen(urllib.request.Request(url, method="DELETE"), timeout=30).close()

    def is_released():
        shown = run("bd", "show", "bd-map", "--json", cwd=repo, env=environment).stdout
        return json.loads(shown)[0]["status"] == "open"

    wait_for("the end hook releases the bead", is_released)
    print(f"opencode {version}: the start, stop and end hooks, the MCP server and the session of the shell work")


main()
