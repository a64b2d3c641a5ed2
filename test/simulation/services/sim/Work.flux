{
  "comment": "Calls a function again and again, and keeps what it returned.",
  "input": [{ "name": "token", "type": "integer" }, { "name": "rounds", "type": "integer", "defaultValue": 2 }],
  "output": [{ "name": "results", "type": "string", "array": true, "defaultValue": [] }],
  "states": [
    {
      "name": "Call",
      "action": {
        "type": "invokeCode", "className": "work", "methodName": "work", "timeout": 15,
        "retry": { "maxAttempts": 3, "delay": 1, "factor": 2, "maxDelay": 4 },
        "inputs": [{ "from": ["token"], "to": ["token"] }, { "type": "set", "expression": "results.length", "evaluate": true, "to": ["round"] }],
        "outputs": [
          { "type": "set", "expression": "[...results, result]", "evaluate": true, "to": ["results"] },
          { "type": "set", "expression": "results.length >= rounds ? 'enough' : 'more'", "evaluate": true, "to": ["$fluxEvent"] }
        ]
      },
      "transitions": [{ "event": "more", "to": "Call" }, { "event": "enough", "to": "Done" }, { "event": "$exception", "to": "GaveUp" }]
    },
    { "name": "Done" },
    { "name": "GaveUp" }
  ]
}
