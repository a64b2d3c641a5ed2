{
  "comment": "Runs one child after the other, and keeps what became of each.",
  "input": [{ "name": "token", "type": "integer" }, { "name": "rounds", "type": "integer", "defaultValue": 2 }, { "name": "seconds", "type": "double", "defaultValue": 5 }],
  "output": [{ "name": "replies", "type": "string", "array": true, "defaultValue": [] }],
  "states": [
    {
      "name": "Ask",
      "action": {
        "type": "invokeFlux", "name": "Child", "timeout": 30,
        "inputs": [{ "type": "set", "expression": "replies.length", "evaluate": true, "to": ["round"] }, { "from": ["seconds"], "to": ["seconds"] }],
        "outputs": [
          { "type": "set", "expression": "[...replies, reply]", "evaluate": true, "to": ["replies"] },
          { "type": "set", "expression": "replies.length >= rounds ? 'enough' : 'more'", "evaluate": true, "to": ["$fluxEvent"] }
        ]
      },
      "transitions": [
        { "event": "more", "to": "Ask" }, { "event": "enough", "to": "Done" },
        { "event": "$exception", "to": "Lost", "lines": [{ "from": ["$fluxException", "type"], "to": ["type"] }] }
      ]
    },
    {
      "name": "Lost",
      "input": [{ "name": "type", "type": "string" }],
      "action": {
        "lines": [
          { "type": "set", "expression": "[...replies, type]", "evaluate": true, "to": ["replies"] },
          { "type": "set", "expression": "replies.length >= rounds ? 'enough' : 'more'", "evaluate": true, "to": ["$fluxEvent"] }
        ]
      },
      "transitions": [{ "event": "more", "to": "Ask" }, { "event": "enough", "to": "Done" }]
    },
    { "name": "Done" }
  ]
}
