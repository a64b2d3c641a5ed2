{
  "comment": "Shows: asking again and again, with a pause in between, until there is an answer or the patience ends. It lies in a sub-folder, so its name is flux.Polling.\nSend: curl --json '{\"fluxName\":\"flux.Polling\",\"input\":{\"job\":\"report-1\",\"readyAfter\":3,\"interval\":2}}' localhost:8080/flux-api/examples/execute\nSee: between looks the context is WAITING_UNTIL in Look, about 2 seconds each; after the third look it is COMPLETED in Ready. With \"maxLooks\":2 it ends in GaveUp.",
  "input": [
    { "name": "job", "type": "string", "defaultValue": "report-1" },
    { "name": "readyAfter", "type": "integer", "defaultValue": 3, "comments": "looks, for the example's sake" },
    { "name": "interval", "type": "double", "defaultValue": 2, "min": 0, "comments": "seconds" },
    { "name": "maxLooks", "type": "integer", "defaultValue": 10, "min": 1 }
  ],
  "output": [
    { "name": "result", "type": "string" },
    { "name": "looks", "type": "integer" }
  ],
  "states": [
    {
      "name": "Look", "x": 100, "y": 200, "comment": "Calls the function `look` of flux/jobs.ts, then says by $fluxEvent how to go on.",
      "output": [
        { "name": "count", "type": "integer", "defaultValue": 0, "comments": "Outputs of a state keep their values when it is entered again: so it can count." }
      ],
      "action": {
        "type": "invokeCode", "className": "flux.jobs", "methodName": "look",
        "inputs": [
          { "from": ["job"], "to": ["job"] },
          { "from": ["readyAfter"], "to": ["readyAfter"] },
          { "type": "set", "expression": "count + 1", "evaluate": true, "to": ["look"] }
        ],
        "outputs": [
          { "type": "set", "expression": "count + 1", "evaluate": true, "to": ["count"] },
          { "from": ["result"], "to": ["result"] },
          { "type": "set", "expression": "done ? 'ready' : count >= maxLooks ? 'tooLong' : 'again'", "evaluate": true, "to": ["$fluxEvent"] }
        ]
      },
      "transitions": [
        { "event": "again", "to": "Look", "wait": "duration:${interval}" },
        { "event": "ready", "to": "Ready", "lines": [{ "from": ["count"], "to": ["count"] }] },
        { "event": "tooLong", "to": "GaveUp", "lines": [{ "from": ["count"], "to": ["count"] }] }
      ]
    },
    {
      "name": "Ready", "x": 300, "y": 200,
      "input": [{ "name": "count", "type": "integer" }],
      "action": { "lines": [{ "from": ["count"], "to": ["looks"] }] }
    },
    {
      "name": "GaveUp", "x": 300, "y": 340, "comment": "It took too long: `result` stays null.",
      "input": [{ "name": "count", "type": "integer" }],
      "action": { "lines": [{ "from": ["count"], "to": ["looks"] }] }
    }
  ]
}
