{
  "comment": "Waits until its time is up, which begins anew with each event; then pauses before it ends.",
  "input": [{ "name": "token", "type": "integer" }, { "name": "seconds", "type": "double", "defaultValue": 5 }],
  "output": [{ "name": "seen", "type": "integer", "array": true, "defaultValue": [] }],
  "states": [
    {
      "name": "Listen", "waiting": true,
      "input": [{ "name": "token", "type": "integer" }],
      "action": { "lines": [{ "type": "set", "expression": "[...seen, token]", "evaluate": true, "to": ["seen"] }] },
      "transitions": [{ "event": "add", "to": "Listen" }, { "wait": "duration:${seconds}", "to": "Expired" }]
    },
    { "name": "Expired", "transitions": [{ "wait": "duration:${seconds}", "to": "Over" }] },
    { "name": "Over" }
  ]
}
