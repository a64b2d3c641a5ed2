{
  "comment": "Shows: a receiver that trusts nobody: it checks the signature over the bytes of the body, and starts a longer service without making the sender wait.\nSend: BODY='{\"repository\":{\"full_name\":\"ada/engine\"},\"after\":\"1a2b3c\"}'; curl -i -H 'content-type: application/json' -H \"X-Hub-Signature-256: sha256=$(printf %s \"$BODY\" | openssl dgst -sha256 -hmac 'it is a secret to everybody' | sed 's/.* //')\" -d \"$BODY\" localhost:8080/api/github/push\nSee: 202 with the id of the deployment that was started; 401 for a wrong signature. For services that sign as Standard Webhooks do, there is the built-in Webhooks.verify.",
  "webhooks": [{ "urlPath": "/github/push", "httpMethods": ["POST"], "timeout": 10 }],
  "output": [{ "name": "answer", "type": "object" }],
  "states": [
    {
      "name": "Check", "x": 100, "y": 100,
      "action": {
        "type": "invokeCode", "className": "webhooks.github", "methodName": "check",
        "inputs": [{ "type": "set", "expression": "$request.headers['x-hub-signature-256']", "evaluate": true, "to": ["signature"] }],
        "outputs": [{ "from": ["event"], "to": ["$fluxEvent"] }]
      },
      "transitions": [
        { "event": "signed", "to": "Deploy" },
        { "event": "forged", "to": "Refused" }
      ]
    },
    {
      "name": "Deploy", "x": 320, "y": 40,
      "output": [{ "name": "deployment", "type": "long" }],
      "action": {
        "type": "invokeCode", "className": "webhooks.github", "methodName": "deploy",
        "inputs": [
          { "type": "set", "expression": "$request.body.repository.full_name", "evaluate": true, "to": ["repository"] },
          { "type": "set", "expression": "$request.body.after", "evaluate": true, "to": ["commit"] }
        ],
        "outputs": [
          { "type": "set", "expression": "202", "evaluate": true, "to": ["$response", "responseCode"] },
          { "type": "set", "expression": "{ deployment: deployment }", "evaluate": true, "to": ["$response", "content"] },
          { "from": ["$response"], "to": ["answer"] }
        ]
      }
    },
    {
      "name": "Refused", "x": 320, "y": 180,
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
