{
  "comment": "Waits for an answer, for so long; then a function in a process of its own looks at it.",
  "input": [{ "name": "round", "type": "integer" }, { "name": "seconds", "type": "double", "defaultValue": 5 }],
  "output": [{ "name": "reply", "type": "string" }],
  "states": [
    {
      "name": "Listen", "waiting": true,
      "input": [{ "name": "token", "type": "integer" }],
      "action": { "lines": [{ "type": "set", "expression": "`answer ${token}`", "evaluate": true, "to": ["reply"] }] },
      "transitions": [{ "event": "answer", "to": "Check" }, { "wait": "duration:${seconds}", "to": "Late" }]
    },
    {
      "name": "Check",
      "action": {
        "type": "invokeCode", "className": "work", "methodName": "work", "timeout": 15, "isolate": true,
        "inputs": [{ "from": ["reply"], "to": ["token"] }, { "from": ["round"], "to": ["round"] }],
        "outputs": [{ "type": "set", "expression": "`${reply}, ${result}`", "evaluate": true, "to": ["reply"] }]
      },
      "transitions": [{ "to": "Done" }]
    },
    { "name": "Late", "action": { "lines": [{ "type": "set", "expression": "late", "to": ["reply"] }] }, "transitions": [{ "to": "Done" }] },
    { "name": "Done" }
  ]
}
