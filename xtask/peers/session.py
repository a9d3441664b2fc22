"""`countersign mcp` on one tree, for scripts that compare what its tools answer."""

import json
import os
import subprocess


class Session:
    """One process; `tool` may be called as often as one likes."""

    def __init__(self, binary, tree, folder, tool):
        config = os.path.join(folder, "countersign.yaml")
        with open(config, "w", encoding="utf-8") as file:
            json.dump({"root": tree, "data_dir": os.path.join(folder, "data"),
                       "limits": {"rate_per_minute": {tool: 0}, "timeout": {"default": "120s"}}}, file)
        self.process = subprocess.Popen([binary, "mcp", "--config", config], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, encoding="utf-8")
        self.tool, self.id = tool, 0
        client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "peer", "version": "1"}}
        self.ask("initialize", client)
        self.send({"method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        self.id += 1
        self.send({"id": self.id, "method": method, "params": params})
        while True:
            answer = json.loads(self.process.stdout.readline())
            if answer.get("id") == self.id:
                return answer["result"]

    def call(self, arguments):
        return self.ask("tools/call", {"name": self.tool, "arguments": arguments})

    def close(self):
        self.process.stdin.close()
        self.process.wait(30)
