{
  "comment": "Shows: a receiver that trusts nobody: it checks the signature over the bytes of the body, and starts a longer service without making the sender wait.\nSend: BODY='{\"repository\":{\"full_name\":\"ada/engine\"},\"after\":\"1a2b3c\"}'; curl -i -H 'X-GitHub-Event: push' -H 'content-type: application/json' -H \"X-Hub-Signature-256: sha256=$(printf %s \"$BODY\" | openssl dgst -sha256 -hmac 'it is a secret to everybody' | sed 's/.* //')\" -d \"$BODY\" localhost:8080/api/github/push\nSee: 202 with the id of the deployment that was started; 200 and no deployment for what isn't a push of a commit, like GitHub's ping; 400 for a push that doesn't tell repository and commit; 401 for a wrong signature. Both content types that GitHub offers are read. For services that sign as Standard Webhooks do, there is the built-in Webhooks.verify.",
  "webhooks": [{ "urlPath": "/github/push", "httpMethods": ["POST"], "timeout": 10 }],
  "output": [{ "name": "answer", "type": "object" }],
  "states": [
    {
      "name": "Check", "x": 100, "y": 180,
      "output": [{ "name": "repository", "type": "string" }, { "name": "commit", "type": "string" }],
      "action": {
        "type": "invokeCode", "className": "webhooks.github", "methodName": "check",
        "inputs": [
          { "type": "set", "expression": "$request.headers['x-hub-signature-256']", "evaluate": true, "to": ["signature"] },
          { "type": "set", "expression": "$request.headers['x-github-event']", "evaluate": true, "to": ["event"] },
          { "from": ["$request", "body"], "to": ["body"] }
        ],
        "outputs": [
          { "from": ["event"], "to": ["$fluxEvent"] },
          { "from": ["repository"], "to": ["repository"] },
          { "from": ["commit"], "to": ["commit"] }
        ]
      },
      "transitions": [
        { "event": "push", "to": "Deploy", "lines": [{ "from": ["repository"], "to": ["repository"] }, { "from": ["commit"], "to": ["commit"] }] },
        { "event": "other", "to": "NothingToDo" },
        { "event": "malformed", "to": "Malformed" },
        { "event": "forged", "to": "Refused" }
      ]
    },
    {
      "name": "Deploy", "x": 320, "y": 0,
      "input": [{ "name": "repository", "type": "string" }, { "name": "commit", "type": "string" }],
      "output": [{ "name": "deployment", "type": "long" }],
      "action": {
        "type": "invokeCode", "className": "webhooks.github", "methodName": "deploy",
        "inputs": [{ "from": ["repository"], "to": ["repository"] }, { "from": ["commit"], "to": ["commit"] }],
        "outputs": [
          { "type": "set", "expression": "202", "evaluate": true, "to": ["$response", "responseCode"] },
          { "type": "set", "expression": "{ deployment: deployment }", "evaluate": true, "to": ["$response", "content"] },
          { "from": ["$response"], "to": ["answer"] }
        ]
      }
    },
    {
      "name": "NothingToDo", "x": 320, "y": 140,
      "action": {
        "lines": [
          { "type": "set", "expression": "nothing to deploy", "to": ["$response", "content"] },
          { "from": ["$response"], "to": ["answer"] }
        ]
      }
    },
    {
      "name": "Malformed", "x": 320, "y": 280,
      "action": {
        "lines": [
          { "type": "set", "expression": "400", "evaluate": true, "to": ["$response", "responseCode"] },
          { "type": "set", "expression": "a delivery needs X-GitHub-Event, and a push repository.full_name and after", "to": ["$response", "content"] },
          { "from": ["$response"], "to": ["answer"] }
        ]
      }
    },
    {
      "name": "Refused", "x": 320, "y": 420,
      "action": {
        "lines": [
          { "type": "set", "expression": "401", "evaluate": true, "to": ["$response", "responseCode"] },
          { "type": "set", "expression": "the signature does not fit", "to": ["$response", "content"] },
          { "from": ["$response"], "to": ["answer"] }
        ]
      }
    }
  ]
}
