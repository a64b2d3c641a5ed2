{
  "comment": "Runs a service that runs services.",
  "input": [{ "name": "token", "type": "integer" }, { "name": "seconds", "type": "double", "defaultValue": 5 }],
  "output": [{ "name": "replies", "type": "string", "array": true, "defaultValue": [] }],
  "states": [
    {
      "name": "Ask",
      "action": {
        "type": "invokeFlux", "name": "Parent",
        "inputs": [{ "type": "set", "expression": "1", "evaluate": true, "to": ["rounds"] }, { "from": ["seconds"], "to": ["seconds"] }],
        "outputs": [{ "from": ["replies"], "to": ["replies"] }]
      },
      "transitions": [{ "to": "Done" }, { "event": "$exception", "to": "Done" }]
    },
    { "name": "Done" }
  ]
}
