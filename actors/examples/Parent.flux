{
  "comment": "Shows: a service that runs another one, Child, and waits for its end.\nSend: curl --json '{\"fluxName\":\"Parent\",\"input\":{\"question\":\"How many seats?\"}}' localhost:8080/flux-api/examples/execute\nFind the child: curl 'localhost:8080/flux-api/contexts?fluxName=Child'\nAnswer it: curl --json '{\"event\":\"answer\",\"input\":{\"text\":\"two\"}}' 'localhost:8080/flux-api/event?contextId=2'\nSee: the child is COMPLETED, and so is the parent, whose `reply` is \"How many seats? two\". Terminate the child instead (curl -X DELETE 'localhost:8080/flux-api/terminate?contextId=2'): the parent ends in NoAnswer. Terminate the parent: the child ends with it.",
  "input": [{ "name": "question", "type": "string", "required": true, "allowNull": false }],
  "output": [
    { "name": "reply", "type": "string" },
    { "name": "problem", "type": "string" }
  ],
  "states": [
    {
      "name": "Ask", "x": 100, "y": 200, "comment": "The inputs are the child's, the outputs see the child's outputs. The parent is RUNNING meanwhile.",
      "action": {
        "type": "invokeFlux", "name": "Child",
        "inputs": [{ "from": ["question"], "to": ["question"] }],
        "outputs": [{ "from": ["answer"], "to": ["reply"] }]
      },
      "transitions": [
        { "to": "Answered" },
        { "event": "$exception", "to": "NoAnswer", "lines": [{ "from": ["$fluxException", "message"], "to": ["message"] }] }
      ]
    },
    { "name": "Answered", "x": 300, "y": 200 },
    {
      "name": "NoAnswer", "x": 300, "y": 340, "comment": "The child failed or was terminated.",
      "input": [{ "name": "message", "type": "string" }],
      "action": { "lines": [{ "from": ["message"], "to": ["problem"] }] }
    }
  ]
}
