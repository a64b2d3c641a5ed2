{
  "comment": "Waits for a note now and then. Notes come at any time, and wait for it.",
  "input": [{ "name": "token", "type": "integer" }],
  "output": [{ "name": "seen", "type": "integer", "array": true, "defaultValue": [] }],
  "states": [
    { "name": "Away", "waiting": true, "transitions": [{ "event": "ready", "to": "Ready" }, { "event": "finish", "to": "Finished" }] },
    {
      "name": "Ready", "waiting": true,
      "input": [{ "name": "token", "type": "integer", "required": true, "allowNull": false }],
      "action": { "lines": [{ "type": "set", "expression": "[...seen, token]", "evaluate": true, "to": ["seen"] }] },
      "transitions": [{ "event": "note", "to": "Away" }]
    },
    { "name": "Finished" }
  ]
}
