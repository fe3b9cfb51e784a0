"""An MCP server for tests over standard input and output, or over HTTP: standard library alone, so that it
starts fast.

Its one argument is JSON, or `@` and the file with it: `tools` by name, each with `description`, `schema`,
`annotations`, `more` (further members), and what a call does: `text`, `content`, `structured`, `error`,
`steps` of progress, `adds` (a tool that appears, announced before the result), `asks` (an elicitation), `env`
(a variable whose value is told), `sleep_s`, `logs` (a file that
its arguments are appended to). Beside them: `silent` (answers nothing), `exit` (a code, at
once), `slow_s`, `noise` (lines before the first frame), `lingers` (does not end with its input), `forks`,
`deaf` (methods that are never answered), `resources` (texts by URI), `templates` (of URIs), `prompts` (names,
or by name an `entry` and `messages`), `completes` (values of arguments), `instructions`, `stderr_mb`,
`writes` (a file that it tries to make),
`redirect` and `heard` (HTTP: where to, and a file for headers), `note` (a file that each start appends its
process id to), `port_file` (serve HTTP, and write the port there), `wants` (headers that have to be sent).
"""

import json
import os
import subprocess
import sys
import threading
import time

argument = sys.argv[1]
if argument.startswith("@"):
    with open(argument[1:], encoding="utf-8") as file:
        argument = file.read()
WHAT = json.loads(argument)
TOOLS = dict(WHAT.get("tools", {}))
LOCK = threading.Lock()


def send(message):
    with LOCK:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()


def listed(name, tool):
    schema = tool.get("schema", {"type": "object", "properties": {}})
    entry = {"name": name, "description": tool.get("description", ""), "inputSchema": schema}
    if "annotations" in tool:
        entry["annotations"] = tool["annotations"]
    entry.update(tool.get("more", {}))
    return {key: value for key, value in entry.items() if value != "ABSENT"}


def called(params, tell):
    name = params["name"]
    tool = TOOLS.get(name)
    if tool is None:
        return {"content": [{"type": "text", "text": f"no tool {name}"}], "isError": True}
    if "logs" in tool:
        with open(tool["logs"], "a", encoding="utf-8") as file:
            file.write(json.dumps(params.get("arguments", {})) + "\n")
    token = params.get("_meta", {}).get("progressToken")
    for step in range(tool.get("steps", 0)):
        update = {
            "progressToken": token,
            "progress": step + 1,
            "total": tool["steps"],
            "message": f"step {step + 1}",
        }
        tell({"jsonrpc": "2.0", "method": "notifications/progress", "params": update})
    if "sleep_s" in tool:
        time.sleep(tool["sleep_s"])
    if "adds" in tool:
        for more in tool["adds"]:
            TOOLS[more] = tool["adds"][more]
        for _ in range(tool.get("tells", 1)):
            tell({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
    if "prompts" in tool:
        WHAT["prompts"] = tool["prompts"]
        tell({"jsonrpc": "2.0", "method": "notifications/prompts/list_changed"})
    if "drops" in tool:
        TOOLS.pop(tool["drops"], None)
        tell({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
    if "content" in tool:
        content = tool["content"]
    elif "env" in tool:
        content = [{"type": "text", "text": os.environ.get(tool["env"], "(unset)")}]
    else:
        text = tool.get("text", json.dumps(params.get("arguments", {}), sort_keys=True))
        content = [{"type": "text", "text": text * tool.get("times", 1)}]
    result = {"content": content, "isError": bool(tool.get("error"))}
    if "structured" in tool:
        result["structuredContent"] = tool["structured"]
    return result


def filled(prompt, arguments):
    """The messages of a prompt, `{name}` in a text being an argument."""
    messages = []
    for message in prompt["messages"]:
        content = dict(message["content"])
        for name, value in arguments.items():
            content["text"] = content.get("text", "").replace("{" + name + "}", value)
        messages.append({"role": message["role"], "content": content})
    return {"description": prompt.get("entry", {}).get("description", ""), "messages": messages}


ANSWERS = {}


def answer(method, params, tell):
    if method == "initialize":
        capabilities = {"tools": {"listChanged": True}}
        if "resources" in WHAT:
            capabilities["resources"] = {}
        if "prompts" in WHAT:
            capabilities["prompts"] = {"listChanged": True}
        if "completes" in WHAT:
            capabilities["completions"] = {}
        return {
            "protocolVersion": params.get("protocolVersion", "2025-11-25"),
            "capabilities": capabilities,
            "serverInfo": {"name": WHAT.get("name", "test server"), "version": "1"},
            **({"instructions": WHAT["instructions"]} if "instructions" in WHAT else {}),
        }
    if method == "tools/list":
        return {"tools": [listed(name, tool) for name, tool in TOOLS.items()]}
    if method == "tools/call":
        return called(params, tell)
    if method == "resources/list":
        return {"resources": [{"uri": uri, "name": "r"} for uri in WHAT["resources"]]}
    if method == "resources/templates/list":
        return {"resourceTemplates": [{"uriTemplate": uri, "name": "t"} for uri in WHAT.get("templates", [])]}
    if method == "resources/read":
        text = WHAT["resources"].get(params["uri"])
        return None if text is None else {"contents": [{"uri": params["uri"], "text": text}]}
    if method == "prompts/list":
        more = WHAT["prompts"] if isinstance(WHAT["prompts"], dict) else {}
        return {
            "prompts": [{"name": name, **more.get(name, {}).get("entry", {})} for name in WHAT["prompts"]]
        }
    if method == "prompts/get":
        prompt = WHAT["prompts"].get(params["name"])
        return None if prompt is None else filled(prompt, params.get("arguments", {}))
    if method == "completion/complete" and "completes" in WHAT:
        begun = params["argument"]["value"]
        known = params.get("context", {}).get("arguments", {})
        values = [value for value in WHAT["completes"] if value.startswith(begun)]
        return {"completion": {"values": [*values, *known.values()]}}
    if method == "ping":
        return {}
    return None


def asked(message, tool):
    """Ask the client in the midst of a call, and tell what it answered."""
    method = tool.get("asks_by", "elicitation/create")
    asking = {"jsonrpc": "2.0", "id": "ask", "method": method, "params": tool["asks"]}
    event = threading.Event()
    ANSWERS["ask"] = [event, None]
    send(asking)
    event.wait(30)
    text = json.dumps(ANSWERS["ask"][1])
    send({"jsonrpc": "2.0", "id": message["id"], "result": {"content": [{"type": "text", "text": text}]}})


def handle(message, tell):
    method = message.get("method")
    if method is None:
        waiting = ANSWERS.get(message.get("id"))
        if waiting is not None:
            waiting[1] = message.get("result") or message.get("error")
            waiting[0].set()
        return None
    if "id" not in message or method in WHAT.get("deaf", ()):
        return None
    if method == "tools/call" and "asks" in TOOLS.get(message["params"]["name"], {}):
        threading.Thread(target=asked, args=(message, TOOLS[message["params"]["name"]]), daemon=True).start()
        return None
    result = answer(method, message.get("params") or {}, tell)
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    if result is None:
        return {**reply, "error": {"code": -32601, "message": f"no method {method}"}}
    return {**reply, "result": result}


def serve_pipes():
    for line in sys.stdin:
        if WHAT.get("silent"):
            continue
        reply = handle(json.loads(line), send)
        if reply is not None:
            send(reply)
    while WHAT.get("lingers"):
        time.sleep(60)


def serve_http():
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if "heard" in WHAT:
                with open(WHAT["heard"], "a", encoding="utf-8") as file:
                    file.write(f"{dict(self.headers)}\n")
            if "redirect" in WHAT:
                self.send_response(307)
                self.send_header("Location", WHAT["redirect"])
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            wanted = WHAT.get("wants", {})
            if any(self.headers.get(name) != value for name, value in wanted.items()):
                self.answer(401, b"")
                return
            reply = handle(json.loads(body), lambda message: None)
            if reply is None:
                self.answer(202, b"")
            else:
                self.answer(200, json.dumps(reply).encode())

        def do_GET(self):
            self.answer(405, b"")

        do_DELETE = do_GET  # noqa: N815 - the name that is looked for

        def answer(self, status, body):
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    with open(WHAT["port_file"] + ".part", "w", encoding="utf-8") as file:
        file.write(str(server.server_port))
    os.replace(WHAT["port_file"] + ".part", WHAT["port_file"])
    server.serve_forever()


if "note" in WHAT:
    with open(WHAT["note"], "a", encoding="utf-8") as file:
        file.write(f"{os.getpid()}\n")
if "writes" in WHAT:
    try:
        with open(WHAT["writes"], "w", encoding="utf-8") as file:
            file.write("out\n")
    except OSError:
        pass
if WHAT.get("lingers"):
    import signal

    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if WHAT.get("forks"):
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    with open(WHAT["note"], "a", encoding="utf-8") as file:
        file.write(f"{child.pid}\n")
if "exit" in WHAT:
    sys.stderr.write(WHAT.get("said", ""))
    sys.exit(WHAT["exit"])
if "stderr_mb" in WHAT:
    sys.stderr.write(("x" * 1023 + "\n") * 1024 * WHAT["stderr_mb"])
if "slow_s" in WHAT:
    time.sleep(WHAT["slow_s"])
if "noise" in WHAT:
    sys.stdout.write(WHAT["noise"])
    sys.stdout.flush()
serve_http() if "port_file" in WHAT else serve_pipes()
