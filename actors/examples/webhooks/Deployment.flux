{
  "comment": "Shows: a longer service that a webhook starts. It waits until somebody approves it, or gives up.\nSend: curl --json '{\"fluxName\":\"webhooks.Deployment\",\"input\":{\"repository\":\"ada/engine\",\"commit\":\"1a2b3c\"}}' localhost:8080/flux-api/examples/execute\nThen: curl --json '{\"event\":\"approve\",\"tags\":[\"ada/engine\"]}' localhost:8080/flux-api/event\nSee: the context has the repository as its tag and waits for a day; the event with that tag finds it.",
  "tags": ["${repository}"],
  "input": [
    { "name": "repository", "type": "string", "required": true, "allowNull": false },
    { "name": "commit", "type": "string", "required": true, "allowNull": false }
  ],
  "output": [{ "name": "deployed", "type": "string" }],
  "states": [
    {
      "name": "WaitForApproval", "x": 100, "y": 100, "waiting": true,
      "transitions": [
        { "event": "approve", "to": "Deployed" },
        { "wait": "duration:86400", "to": "GivenUp" }
      ]
    },
    { "name": "Deployed", "x": 320, "y": 40, "action": { "lines": [{ "from": ["commit"], "to": ["deployed"] }] } },
    { "name": "GivenUp", "x": 320, "y": 180 }
  ]
}
