{
  "comment": "Shows: going on at a certain time.\nSend: curl --json '{\"fluxName\":\"DelayUntilDate\",\"input\":{\"at\":\"2030-01-01T09:00:00+01:00\",\"text\":\"happy new year\"}}' localhost:8080/flux-api/examples/execute\nSee: the context is WAITING_UNTIL in Scheduled, and nextRun is 1893484800000, that time in epoch milliseconds. A time in the past is due at once. The server may be stopped meanwhile.",
  "input": [
    { "name": "at", "type": "date", "required": true, "allowNull": false, "comments": "ISO 8601 or epoch milliseconds" },
    { "name": "text", "type": "string", "defaultValue": "it is time" }
  ],
  "output": [
    { "name": "reminder", "type": "string" },
    { "name": "remindedAt", "type": "date" }
  ],
  "states": [
    {
      "name": "Scheduled", "x": 100, "y": 200, "comment": "Hears no event while the chosen transition waits.",
      "transitions": [{ "to": "Remind", "wait": "date:${at}" }]
    },
    {
      "name": "Remind", "x": 300, "y": 200,
      "action": {
        "lines": [
          { "from": ["text"], "to": ["reminder"] },
          { "type": "set", "expression": "now()", "evaluate": true, "to": ["remindedAt"] }
        ]
      }
    }
  ]
}
