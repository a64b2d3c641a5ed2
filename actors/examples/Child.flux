{
  "comment": "Shows: a service that Parent runs. It is an ordinary service, and can be started alone.\nSend: curl --json '{\"fluxName\":\"Child\",\"input\":{\"question\":\"How many seats?\"}}' localhost:8080/flux-api/examples/execute\nThen: curl --json '{\"event\":\"answer\",\"input\":{\"text\":\"two\"}}' 'localhost:8080/flux-api/event?contextId=1'\nSee: it is COMPLETED, and its output `answer` is \"How many seats? two\".",
  "input": [{ "name": "question", "type": "string", "required": true, "allowNull": false }],
  "output": [{ "name": "answer", "type": "string" }],
  "states": [
    {
      "name": "WaitForAnswer", "x": 100, "y": 200, "waiting": true,
      "input": [{ "name": "text", "type": "string", "required": true, "allowNull": false }],
      "action": { "lines": [{ "type": "set", "expression": "`${question} ${text}`", "evaluate": true, "to": ["answer"] }] },
      "transitions": [{ "event": "answer", "to": "Answered" }]
    },
    { "name": "Answered", "x": 300, "y": 200 }
  ]
}
