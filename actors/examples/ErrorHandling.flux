{
  "comment": "Shows: a function that fails, is tried again after growing pauses (1 s, 2 s), and, if it fails for good, the $exception transition that takes over.\nSend: curl --json '{\"fluxName\":\"ErrorHandling\",\"input\":{\"failures\":2}}' localhost:8080/flux-api/examples/execute\nSee: after about 3 seconds it is COMPLETED with the answer of the third attempt. With {\"failures\":3} all attempts fail: the history shows Repair, and the outputs say what happened and where. Without the $exception transition the context would be FAILED, and its `error` would say the same.",
  "input": [
    { "name": "failures", "type": "integer", "defaultValue": 2, "min": 0, "comments": "how often the function fails before it succeeds" }
  ],
  "output": [
    { "name": "answer", "type": "string" },
    { "name": "attempts", "type": "integer" },
    { "name": "problem", "type": "string" },
    { "name": "problemType", "type": "string" },
    { "name": "trace", "type": "object", "array": true }
  ],
  "states": [
    {
      "name": "Call", "x": 100, "y": 200, "comment": "At most three attempts, each of at most 5 seconds. What a failed action wrote is dropped.",
      "action": {
        "type": "invokeCode", "className": "remote", "methodName": "ask",
        "retry": { "maxAttempts": 3, "delay": 1, "factor": 2, "maxDelay": 10 },
        "timeout": 5,
        "inputs": [{ "from": ["failures"], "to": ["failures"] }],
        "outputs": [
          { "from": ["answer"], "to": ["answer"] },
          { "from": ["attempts"], "to": ["attempts"] }
        ]
      },
      "transitions": [
        { "to": "Done" },
        {
          "event": "$exception", "to": "Repair",
          "comments": "These lines, and no others, see $fluxException.",
          "lines": [
            { "from": ["$fluxException", "message"], "to": ["message"] },
            { "from": ["$fluxException", "type"], "to": ["type"] },
            { "from": ["$fluxException", "fluxStackTrace"], "to": ["trace"] }
          ]
        }
      ]
    },
    {
      "name": "Repair", "x": 300, "y": 340, "comment": "Goes on with an answer of its own.",
      "input": [
        { "name": "message", "type": "string" },
        { "name": "type", "type": "string" },
        { "name": "trace", "type": "object", "array": true }
      ],
      "action": {
        "lines": [
          { "from": ["message"], "to": ["problem"] },
          { "from": ["type"], "to": ["problemType"] },
          { "from": ["trace"], "to": ["trace"] },
          { "type": "set", "expression": "42, as always", "to": ["answer"] }
        ]
      },
      "transitions": [{ "to": "Done" }]
    },
    { "name": "Done", "x": 500, "y": 200 }
  ]
}
