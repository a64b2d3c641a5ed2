{
  "comment": "Keeps what events bring, in order, until it is told to finish.",
  "input": [{ "name": "token", "type": "integer" }],
  "output": [{ "name": "seen", "type": "integer", "array": true, "defaultValue": [] }],
  "states": [
    {
      "name": "Listen", "waiting": true,
      "input": [{ "name": "token", "type": "integer", "required": true, "allowNull": false }],
      "action": { "lines": [{ "type": "set", "expression": "[...seen, token]", "evaluate": true, "to": ["seen"] }] },
      "transitions": [{ "event": "add", "to": "Listen" }, { "event": "finish", "to": "Finished" }]
    },
    { "name": "Finished" }
  ]
}
