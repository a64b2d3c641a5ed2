{
  "comment": "Shows: how data gets from state to state, and in and out. Map lines copy, set lines write a literal text or the value of an expression, transitions carry, models (models/*.model) say what an object looks like.\nSend: curl --json '{\"fluxName\":\"DataPassing\",\"input\":{\"customer\":{\"id\":\"c-7\",\"name\":\"Ada\"},\"items\":[{\"sku\":\"pear\",\"quantity\":4,\"price\":30},{\"sku\":\"fig\",\"price\":5.5}]}}' localhost:8080/flux-api/examples/execute\nSee: with curl 'localhost:8080/flux-api/context?contextId=1' that it is COMPLETED, what each state held, what each transition carried, and the outputs `letter` and `invoice`.",
  "input": [
    { "name": "customer", "type": "model", "reference": "models.Customer", "required": true, "allowNull": false },
    { "name": "items", "type": "model", "reference": "models.Item", "array": true, "required": true, "allowNull": false }
  ],
  "output": [
    { "name": "letter", "type": "string" },
    {
      "name": "invoice", "type": "model",
      "gloopProperties": [
        { "name": "customer", "type": "string" },
        { "name": "country", "type": "string" },
        { "name": "currency", "type": "string" },
        { "name": "firstItem", "type": "string" },
        { "name": "total", "type": "double" }
      ]
    }
  ],
  "states": [
    {
      "name": "AddUp", "x": 100, "y": 200, "comment": "An expression may go through a list. Every state sees the inputs of the service.",
      "output": [{ "name": "subtotal", "type": "double" }],
      "action": {
        "type": "map",
        "lines": [
          { "type": "set", "expression": "items.map(item => item.price * item.quantity).reduce((sum, price) => sum + price, 0)", "evaluate": true, "to": ["subtotal"] }
        ]
      },
      "transitions": [
        {
          "to": "Discount",
          "comments": "States do not see one another's data: the lines of the transition carry it. An index into a list is a segment of a path.",
          "lines": [
            { "from": ["subtotal"], "to": ["amount"] },
            { "from": ["items", "0", "sku"], "to": ["firstItem"] },
            { "type": "set", "expression": "subtotal >= 100 ? 10 : 0", "evaluate": true, "to": ["percent"] }
          ]
        }
      ]
    },
    {
      "name": "Discount", "x": 300, "y": 200, "comment": "Lines run in order; the second sees what the first wrote.",
      "input": [
        { "name": "amount", "type": "double" },
        { "name": "percent", "type": "integer" },
        { "name": "firstItem", "type": "string" }
      ],
      "output": [{ "name": "total", "type": "double" }],
      "action": {
        "lines": [
          { "type": "set", "expression": "amount * (100 - percent) / 100", "evaluate": true, "to": ["total"] },
          { "type": "set", "expression": "round(total * 100) / 100", "evaluate": true, "to": ["total"] }
        ]
      },
      "transitions": [
        {
          "to": "Write",
          "lines": [
            { "from": ["total"], "to": ["total"] },
            { "from": ["firstItem"], "to": ["firstItem"] }
          ]
        }
      ]
    },
    {
      "name": "Write", "x": 500, "y": 200, "comment": "Writes the outputs of the service, which every state sees and which stay when the context has ended.",
      "input": [
        { "name": "total", "type": "double" },
        { "name": "firstItem", "type": "string" }
      ],
      "action": {
        "lines": [
          { "from": ["customer", "name"], "to": ["invoice", "customer"] },
          { "from": ["customer", "country"], "to": ["invoice", "country"] },
          { "from": ["firstItem"], "to": ["invoice", "firstItem"] },
          { "from": ["total"], "to": ["invoice", "total"] },
          { "type": "set", "expression": "EUR", "to": ["invoice", "currency"] },
          { "type": "set", "expression": "`Dear ${customer.name}, please pay ${invoice.currency} ${total} for ${size(items)} items.`", "evaluate": true, "to": ["letter"] }
        ]
      }
    }
  ]
}
