{
  "comment": "Shows: a webhook of GitHub. Only deliveries that GitHub signed get in, each once however often it is sent, and of these only pushes of commits. The sender has its answer when the context is stored.\nNeeds: ACTORFLUX_SECRET_GITHUB_WEBHOOK, the secret of the webhook at GitHub, where its content type is application/json.\nSend: npx actorflux webhook test /github/push\nSee: 202 with a contextId, and a context of webhooks.Deployment that waits for approval. 204 for what is no push: --header 'X-GitHub-Event: ping'. The same answer again, and no second deployment, for a delivery that is repeated: --header 'X-GitHub-Delivery: 1', twice. 401 for a forged one: --header 'X-Hub-Signature-256: sha256=00'.",
  "webhooks": [
    {
      "urlPath": "/github/push", "httpMethods": ["POST"],
      "verify": { "scheme": "github", "secrets": ["$secrets.GITHUB_WEBHOOK"] },
      "dedupe": { "key": "$request.headers['x-github-delivery']" },
      "when": "$request.headers['x-github-event'] == 'push' && !$request.body.deleted",
      "answer": "accepted"
    }
  ],
  "output": [{ "name": "deployed", "type": "string" }],
  "states": [
    {
      "name": "Deploy", "x": 100, "y": 100,
      "action": {
        "type": "invokeFlux", "name": "webhooks.Deployment",
        "inputs": [
          { "from": ["$request", "body", "repository", "full_name"], "to": ["repository"] },
          { "from": ["$request", "body", "after"], "to": ["commit"] }
        ],
        "outputs": [{ "from": ["deployed"], "to": ["deployed"] }]
      }
    }
  ]
}
