{
  "comment": "Its keys are used once.",
  "keyReuse": "never",
  "input": [
    {
      "name": "token",
      "type": "integer"
    }
  ],
  "output": [
    {
      "name": "seen",
      "type": "integer",
      "array": true,
      "defaultValue": []
    }
  ],
  "allowExtraProperties": true,
  "states": [
    {
      "name": "Listen",
      "waiting": true,
      "input": [
        {
          "name": "token",
          "type": "integer"
        }
      ],
      "action": {
        "lines": [
          {
            "type": "set",
            "expression": "[...seen, token]",
            "evaluate": true,
            "to": [
              "seen"
            ]
          }
        ]
      },
      "transitions": [
        {
          "event": "add",
          "to": "Listen"
        },
        {
          "event": "ordered",
          "to": "Listen"
        },
        {
          "event": "late",
          "to": "Listen"
        },
        {
          "event": "finish",
          "to": "Finished"
        }
      ]
    },
    {
      "name": "Finished"
    }
  ]
}
