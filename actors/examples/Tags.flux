{
  "comment": "Shows: tags, by which contexts are found and by which events find them. One is fixed, one is worked out from an input.\nSend: curl --json '{\"fluxName\":\"Tags\",\"input\":{\"customerId\":\"c-7\",\"subject\":\"no light\"}}' localhost:8080/flux-api/examples/execute\nFind it: curl 'localhost:8080/flux-api/contexts?tag=ticket&tag=customer-c-7' (all the tags must match)\nTag it: curl -X PUT 'localhost:8080/flux-api/context/tag?contextId=1&tag=urgent'\nMove it: curl --json '{\"event\":\"close\",\"input\":{\"answer\":\"bulb changed\"},\"tags\":[\"customer-c-7\"]}' localhost:8080/flux-api/event (any of the tags must match)\nSee: the event without tags, or with another customer's, moves nothing: a context that has tags hears only events that carry one of them.",
  "tags": ["ticket", "customer-${customerId}"],
  "input": [
    { "name": "customerId", "type": "string", "required": true, "allowNull": false },
    { "name": "subject", "type": "string" }
  ],
  "output": [{ "name": "answer", "type": "string" }],
  "states": [
    {
      "name": "Open", "x": 100, "y": 200, "waiting": true,
      "input": [{ "name": "answer", "type": "string" }],
      "action": { "lines": [{ "from": ["answer"], "to": ["answer"] }] },
      "transitions": [{ "event": "close", "to": "Closed" }]
    },
    { "name": "Closed", "x": 300, "y": 200 }
  ]
}
