{
  "comment": "Shows: a service that an event starts. The event's inputs become its inputs, the event's tags its tags, so that a later event with the same tag finds it.\nSend: curl --json '{\"event\":\"orderShipped\",\"input\":{\"orderId\":\"4711\",\"tracking\":\"NL-1\"},\"tags\":[\"order-4711\"]}' localhost:8080/flux-api/event\nSee: the answer names the context under `executions`. Then send {\"event\":\"delivered\",\"tags\":[\"order-4711\"]}: the answer names it under `transitions`, and it is COMPLETED. (orders.OrderProcess sends the first event, too.)\nIt can also be started directly: curl --json '{\"fluxName\":\"Trigger\",\"input\":{\"orderId\":\"4711\"}}' localhost:8080/flux-api/examples/execute. Then `startedBy` is null.",
  "triggers": ["orderShipped"],
  "input": [
    { "name": "orderId", "type": "string", "required": true, "allowNull": false },
    { "name": "tracking", "type": "string" }
  ],
  "output": [
    { "name": "notice", "type": "string" },
    { "name": "startedBy", "type": "string" },
    { "name": "ending", "type": "string" }
  ],
  "states": [
    {
      "name": "Notify", "x": 100, "y": 200, "comment": "$triggerFluxEvent is the event that started the context, and undefined if none did.",
      "action": {
        "lines": [
          { "type": "set", "expression": "`Order ${orderId} is on its way: ${tracking ?? 'not traced'}.`", "evaluate": true, "to": ["notice"] },
          { "from": ["$triggerFluxEvent"], "to": ["startedBy"] }
        ]
      },
      "transitions": [{ "to": "WaitForDelivery" }]
    },
    {
      "name": "WaitForDelivery", "x": 300, "y": 200, "waiting": true, "comment": "For a week.",
      "transitions": [
        { "event": "delivered", "to": "Delivered" },
        { "wait": "duration:604800", "to": "Lost" }
      ]
    },
    {
      "name": "Delivered", "x": 500, "y": 130,
      "action": { "lines": [{ "type": "set", "expression": "delivered", "to": ["ending"] }] }
    },
    {
      "name": "Lost", "x": 500, "y": 270,
      "action": { "lines": [{ "type": "set", "expression": "lost", "to": ["ending"] }] }
    }
  ]
}
