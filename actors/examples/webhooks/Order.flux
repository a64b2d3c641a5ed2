{
  "comment": "Shows: inputs from path, query and header, and an answer with its own code, header, cookie and content. They are set in $response, and mapping that to an output makes it the answer.\nSend: curl -i --json '{\"items\":[{\"sku\":\"A-1\",\"count\":2}]}' -H 'X-Client-Ref: shop-7' 'localhost:8080/api/customers/42/orders?express=true'\nSee: 201 with a Location and an X-Client-Ref header and the order as JSON. Ask with -H 'accept: application/xml' for XML. Without items it is 400 and says so.",
  "webhooks": [{ "urlPath": "/customers/{customer}/orders", "httpMethods": ["POST"] }],
  "input": [
    { "name": "customer", "type": "integer", "required": true, "allowNull": false, "comments": "from the path" },
    { "name": "express", "type": "boolean", "defaultValue": false, "comments": "from the query" },
    { "name": "X-Client-Ref", "type": "string", "comments": "a header, in exactly this case" }
  ],
  "output": [{ "name": "answer", "type": "object" }],
  "states": [
    {
      "name": "Check", "x": 100, "y": 100,
      "action": { "lines": [{ "type": "set", "expression": "size($request.body?.items ?? []) > 0 ? 'good' : 'empty'", "evaluate": true, "to": ["$fluxEvent"] }] },
      "transitions": [
        { "event": "good", "to": "Accepted" },
        { "event": "empty", "to": "Refused" }
      ]
    },
    {
      "name": "Accepted", "x": 320, "y": 40,
      "action": {
        "lines": [
          { "type": "set", "expression": "201", "evaluate": true, "to": ["$response", "responseCode"] },
          { "type": "set", "expression": "[{ name: 'Location', value: `/api/orders/${$fluxContextId}` }, { name: 'X-Client-Ref', value: $request.headers['x-client-ref'] ?? 'none' }]", "evaluate": true, "to": ["$response", "headers"] },
          { "type": "set", "expression": "[{ name: 'lastOrder', value: string($fluxContextId), path: '/api', maxAge: 3600, httpOnly: true, sameSite: 'Lax' }]", "evaluate": true, "to": ["$response", "cookies"] },
          { "type": "set", "expression": "{ order: $fluxContextId, customer: customer, express: express, items: $request.body.items }", "evaluate": true, "to": ["$response", "content"] },
          { "from": ["$response"], "to": ["answer"] }
        ]
      }
    },
    {
      "name": "Refused", "x": 320, "y": 180,
      "action": {
        "lines": [
          { "type": "set", "expression": "400", "evaluate": true, "to": ["$response", "responseCode"] },
          { "type": "set", "expression": "an order needs items", "to": ["$response", "content"] },
          { "from": ["$response"], "to": ["answer"] }
        ]
      }
    }
  ]
}
