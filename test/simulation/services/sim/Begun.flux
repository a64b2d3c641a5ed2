{
  "comment": "Is started by an event, and hears later ones.",
  "triggers": ["begin"],
  "input": [{ "name": "token", "type": "integer" }],
  "output": [{ "name": "seen", "type": "integer", "array": true, "defaultValue": [] }],
  "states": [
    {
      "name": "First",
      "action": { "lines": [{ "type": "set", "expression": "[token]", "evaluate": true, "to": ["seen"] }] },
      "transitions": [{ "to": "Listen" }]
    },
    {
      "name": "Listen", "waiting": true,
      "input": [{ "name": "token", "type": "integer", "required": true, "allowNull": false }],
      "action": { "lines": [{ "type": "set", "expression": "[...seen, token]", "evaluate": true, "to": ["seen"] }] },
      "transitions": [{ "event": "add", "to": "Listen" }, { "event": "begin", "to": "Listen" }, { "event": "finish", "to": "Finished" }]
    },
    { "name": "Finished" }
  ]
}
