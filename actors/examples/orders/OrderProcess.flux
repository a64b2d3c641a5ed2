{
  "comment": "Shows: an order from reservation to delivery, with what undoes it when something goes wrong.\nSend: curl --json '{\"fluxName\":\"orders.OrderProcess\",\"input\":{\"order\":{\"id\":\"4711\",\"customer\":{\"id\":\"c-7\",\"name\":\"Ada\"},\"items\":[{\"sku\":\"pear\",\"quantity\":2,\"price\":5}]}}}' localhost:8080/flux-api/examples/execute\nPay: curl --json '{\"event\":\"paid\",\"input\":{\"amount\":10},\"tags\":[\"order-4711\"]}' localhost:8080/flux-api/event\nSee: first WAITING_UNTIL in WaitForPayment, the stock reserved; after the payment COMPLETED in Shipped, and a context of Trigger, which heard of it. Pay too little, and it waits on. Send cancel, or let `paymentTimeout` seconds pass: the stock is released. Order figs: there are none. Let a customer live in Atlantis: the money is sent back and the stock released.",
  "key": "${order.id}",
  "tags": ["order-${order.id}", "customer-${order.customer.id}"],
  "input": [
    { "name": "order", "type": "model", "reference": "orders.Order", "required": true, "allowNull": false },
    { "name": "paymentTimeout", "type": "double", "defaultValue": 86400, "min": 0, "comments": "seconds" }
  ],
  "output": [
    { "name": "outcome", "type": "string", "choices": ["shipped", "refused", "cancelled", "expired", "undeliverable"] },
    { "name": "problem", "type": "string" },
    { "name": "total", "type": "double" },
    { "name": "payBy", "type": "date" },
    { "name": "reservation", "type": "string" },
    { "name": "paid", "type": "double" },
    { "name": "tracking", "type": "string" },
    { "name": "refund", "type": "string" }
  ],
  "states": [
    {
      "name": "Price", "x": 100, "y": 200, "comment": "What later states need is kept in outputs of the service, which all of them see.",
      "action": {
        "type": "map",
        "lines": [
          { "type": "set", "expression": "order.items.map(item => item.price * item.quantity).reduce((sum, price) => sum + price, 0)", "evaluate": true, "to": ["total"] },
          { "type": "set", "expression": "now() + paymentTimeout * 1000", "evaluate": true, "to": ["payBy"] }
        ]
      },
      "transitions": [{ "to": "Reserve" }]
    },
    {
      "name": "Reserve", "x": 300, "y": 200, "comment": "The function reserves once per step key, however often it runs. An empty shelf is an answer of its, a warehouse out of reach an exception.",
      "output": [{ "name": "missing", "type": "string" }],
      "action": {
        "type": "invokeCode", "className": "orders.inventory", "methodName": "reserve",
        "retry": { "maxAttempts": 3, "delay": 1, "factor": 2, "maxDelay": 30 },
        "timeout": 10,
        "inputs": [{ "from": ["order", "items"], "to": ["items"] }],
        "outputs": [
          { "from": ["event"], "to": ["$fluxEvent"] },
          { "from": ["reservation"], "to": ["reservation"] },
          { "from": ["missing"], "to": ["missing"] }
        ]
      },
      "transitions": [
        { "event": "reserved", "to": "WaitForPayment" },
        { "event": "outOfStock", "to": "Refused", "lines": [{ "type": "set", "expression": "`not enough of: ${missing}`", "evaluate": true, "to": ["why"] }] },
        { "event": "$exception", "to": "Refused", "lines": [{ "from": ["$fluxException", "message"], "to": ["why"] }] }
      ]
    },
    {
      "name": "WaitForPayment", "x": 500, "y": 200, "waiting": true, "comment": "Until a date and not for a duration: too small a payment enters the state again, and must not buy time.",
      "input": [
        { "name": "amount", "type": "double", "min": 0, "comments": "with paid" },
        { "name": "reason", "type": "string", "comments": "with cancel" }
      ],
      "action": {
        "lines": [
          { "type": "set", "expression": "$fluxEvent == 'paid' && (amount ?? 0) < total ? 'tooLittle' : $fluxEvent", "evaluate": true, "to": ["$fluxEvent"] },
          { "type": "set", "expression": "$fluxEvent == 'paid' ? amount : null", "evaluate": true, "to": ["paid"] },
          { "type": "set", "expression": "$fluxEvent == 'tooLittle' ? `paid ${amount ?? 0} of ${total}` : null", "evaluate": true, "to": ["problem"] }
        ]
      },
      "transitions": [
        { "event": "paid", "to": "Ship" },
        { "event": "tooLittle", "to": "WaitForPayment", "internal": true, "comments": "Internal: the action alone decides this. Without it, anybody could send tooLittle." },
        {
          "event": "cancel", "to": "Release",
          "lines": [
            { "type": "set", "expression": "cancelled", "to": ["ending"] },
            { "from": ["reason"], "to": ["why"] }
          ]
        },
        {
          "wait": "date:${payBy}", "to": "Release",
          "lines": [
            { "type": "set", "expression": "expired", "to": ["ending"] },
            { "type": "set", "expression": "not paid in time", "to": ["why"] }
          ]
        }
      ]
    },
    {
      "name": "Ship", "x": 700, "y": 200, "comment": "Fails for good after three attempts: then what was done before is undone, the last first.",
      "action": {
        "type": "invokeCode", "className": "orders.shipping", "methodName": "ship",
        "retry": { "maxAttempts": 3, "delay": 1, "factor": 2, "maxDelay": 30 },
        "timeout": 10,
        "inputs": [{ "from": ["order", "customer", "country"], "to": ["country"] }],
        "outputs": [{ "from": ["tracking"], "to": ["tracking"] }]
      },
      "transitions": [
        { "to": "Announce" },
        { "event": "$exception", "to": "Refund", "lines": [{ "from": ["$fluxException", "message"], "to": ["why"] }] }
      ]
    },
    {
      "name": "Announce", "x": 900, "y": 200, "comment": "A function that sends an event to other services. If that fails, the parcel is on its way all the same.",
      "action": {
        "type": "invokeCode", "className": "orders.shipping", "methodName": "announce",
        "inputs": [
          { "from": ["order", "id"], "to": ["orderId"] },
          { "from": ["tracking"], "to": ["tracking"] }
        ]
      },
      "transitions": [
        { "to": "Shipped" },
        { "event": "$exception", "to": "Shipped" }
      ]
    },
    {
      "name": "Shipped", "x": 1100, "y": 200,
      "action": { "lines": [{ "type": "set", "expression": "shipped", "to": ["outcome"] }] }
    },
    {
      "name": "Refused", "x": 500, "y": 60, "comment": "Nothing was reserved: nothing is to be undone.",
      "input": [{ "name": "why", "type": "string" }],
      "action": {
        "lines": [
          { "type": "set", "expression": "refused", "to": ["outcome"] },
          { "from": ["why"], "to": ["problem"] }
        ]
      }
    },
    {
      "name": "Refund", "x": 900, "y": 330, "comment": "If this fails, too, the context is FAILED and somebody must look at it: there is no $exception transition.",
      "input": [{ "name": "why", "type": "string" }],
      "action": {
        "type": "invokeCode", "className": "orders.payments", "methodName": "refund",
        "retry": { "maxAttempts": 10, "delay": 1, "factor": 2, "maxDelay": 3600 },
        "inputs": [{ "from": ["paid"], "to": ["amount"] }],
        "outputs": [{ "from": ["refund"], "to": ["refund"] }]
      },
      "transitions": [
        {
          "to": "Release",
          "lines": [
            { "type": "set", "expression": "undeliverable", "to": ["ending"] },
            { "from": ["why"], "to": ["why"] }
          ]
        }
      ]
    },
    {
      "name": "Release", "x": 900, "y": 470, "comment": "Puts the reserved stock back.",
      "input": [
        { "name": "ending", "type": "string" },
        { "name": "why", "type": "string" }
      ],
      "action": {
        "type": "invokeCode", "className": "orders.inventory", "methodName": "release",
        "retry": { "maxAttempts": 10, "delay": 1, "factor": 2, "maxDelay": 3600 },
        "inputs": [{ "from": ["reservation"], "to": ["reservation"] }],
        "outputs": [
          { "from": ["ending"], "to": ["outcome"] },
          { "from": ["why"], "to": ["problem"] }
        ]
      },
      "transitions": [{ "to": "Closed" }]
    },
    { "name": "Closed", "x": 1100, "y": 470 }
  ]
}
