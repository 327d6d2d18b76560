use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::sandbox::Sandbox;

/// A client that has completed the handshake.
#[derive(Debug)]
pub struct Client {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    last_id: u64,
}

#[allow(clippy::needless_pass_by_value, reason = "a literal reads better without a reference")]
impl Client {
    pub fn start(sandbox: &Sandbox) -> Self {
        Self::start_with(sandbox.command(&["mcp"]))
    }

    pub fn start_with(command: Command) -> Self {
        let mut client = Self::spawn(command);
        let hello = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "robot", "version": "1"},
        });
        let answer = client.ask("initialize", hello);
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25", "{answer}");
        client.notify("notifications/initialized", json!({}));
        client
    }

    pub fn spawn(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output, last_id: 0 }
    }

    pub fn send(&mut self, message: &Value) {
        self.input.as_mut().unwrap().write_all(format!("{message}\n").as_bytes()).unwrap();
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Returns the next message of the server, or `None` if the server has closed its output.
    pub fn receive(&mut self) -> Option<Value> {
        let mut line = String::new();
        let read = self.output.read_line(&mut line).unwrap();
        (read > 0).then(|| serde_json::from_str(&line).unwrap())
    }

    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        let mut answer = self.receive().unwrap();
        while answer["method"] == "notifications/message" {
            answer = self.receive().unwrap();
        }
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Returns the text of a tool call that must succeed.
    pub fn call(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.ask("tools/call", json!({"name": tool, "arguments": arguments}))["result"].take();
        assert!(result.get("isError").is_none(), "{tool}: {result}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// Returns the text of a tool call that must fail.
    pub fn fail(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.ask("tools/call", json!({"name": tool, "arguments": arguments}))["result"].take();
        assert_eq!(result["isError"], true, "{tool}: {result}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// Runs a command line that a portal suggested, without changes.
    pub fn run(&mut self, command: &str) -> String {
        let (tool, arguments) = command.split_once(' ').unwrap_or((command, "{}"));
        self.call(tool, serde_json::from_str(arguments).unwrap())
    }

    /// Kills the server.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Closes the server's input. The server may still answer.
    pub fn close_input(&mut self) {
        drop(self.input.take());
    }

    /// Closes the server's input and returns its remaining answers. It must exit without an error.
    pub fn finish(mut self) -> Vec<Value> {
        self.close_input();
        let mut rest = Vec::new();
        while let Some(message) = self.receive() {
            rest.push(message);
        }
        assert!(self.child.wait().unwrap().success());
        rest
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}
