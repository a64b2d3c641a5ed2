{
  "comment": "Shows: the smallest webhook. The query gives the input of that name; a lone output is the answer.\nSend: curl 'localhost:8080/api/greeting?name=Ada'\nSee: Hello, Ada! as plain text. Without a name, the default is taken.",
  "webhooks": [{ "urlPath": "/greeting", "httpMethods": ["GET"] }],
  "input": [{ "name": "name", "type": "string", "defaultValue": "world" }],
  "output": [{ "name": "greeting", "type": "string" }],
  "states": [
    {
      "name": "Greet", "x": 100, "y": 100,
      "action": { "lines": [{ "type": "set", "expression": "`Hello, ${name}!`", "evaluate": true, "to": ["greeting"] }] }
    }
  ]
}
