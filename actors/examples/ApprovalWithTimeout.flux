{
  "comment": "Shows: a state that waits for an event, and goes on by itself when none comes in time.\nSend: curl --json '{\"fluxName\":\"ApprovalWithTimeout\",\"input\":{\"request\":\"a day off\",\"patience\":600}}' localhost:8080/flux-api/examples/execute\nThen, with the contextId of the answer: curl --json '{\"event\":\"approve\",\"input\":{\"by\":\"Ada\"}}' 'localhost:8080/flux-api/event?contextId=1'\nSee: the context is WAITING_UNTIL in WaitForDecision, nextRun tells until when. After the event it is COMPLETED, and the outputs say who decided what. Send reject instead, or nothing for `patience` seconds. An event without `by` is refused with 422 and changes nothing.",
  "input": [
    { "name": "request", "type": "string", "defaultValue": "a day off" },
    { "name": "patience", "type": "double", "defaultValue": 600, "min": 0, "comments": "seconds" }
  ],
  "output": [
    { "name": "decision", "type": "string" },
    { "name": "by", "type": "string" }
  ],
  "states": [
    {
      "name": "WaitForDecision", "x": 100, "y": 200, "waiting": true,
      "comment": "Its inputs are what an event brings. Its action runs when an event was taken, not when the time is up.",
      "input": [
        { "name": "by", "type": "string", "required": true, "allowNull": false },
        { "name": "note", "type": "string" }
      ],
      "action": { "type": "map", "lines": [{ "from": ["by"], "to": ["by"] }] },
      "transitions": [
        { "event": "approve", "to": "Approved" },
        { "event": "reject", "to": "Rejected", "lines": [{ "from": ["note"], "to": ["why"] }] },
        { "wait": "duration:${patience}", "to": "Expired" }
      ]
    },
    {
      "name": "Approved", "x": 300, "y": 60, "comment": "No transitions: an end.",
      "action": { "lines": [{ "type": "set", "expression": "approved", "to": ["decision"] }] }
    },
    {
      "name": "Rejected", "x": 300, "y": 200, "comment": "Sees of the state before it only what the transition carried.",
      "input": [{ "name": "why", "type": "string" }],
      "action": { "lines": [{ "type": "set", "expression": "`rejected: ${why ?? 'no reason given'}`", "evaluate": true, "to": ["decision"] }] }
    },
    {
      "name": "Expired", "x": 300, "y": 340, "comment": "Nobody decided in time.",
      "action": { "lines": [{ "type": "set", "expression": "expired", "to": ["decision"] }] }
    }
  ]
}
