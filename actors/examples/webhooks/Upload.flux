{
  "comment": "Shows: a form with a file, and a script. What the browser sends is in $request.body, files in base64.\nSend: curl -F title=Notes -F file=@README.md localhost:8080/api/uploads\nSee: name, type and size of the file, and how many lines it has. It fails with 415 if it isn't a form with a file.",
  "webhooks": [{ "urlPath": "/uploads", "httpMethods": ["POST"] }],
  "output": [{ "name": "answer", "type": "object" }],
  "states": [
    {
      "name": "Look", "x": 100, "y": 100,
      "action": { "lines": [{ "type": "set", "expression": "$request.body?.file?.content == null ? 'none' : 'file'", "evaluate": true, "to": ["$fluxEvent"] }] },
      "transitions": [
        { "event": "file", "to": "Count" },
        { "event": "none", "to": "Refused" }
      ]
    },
    {
      "name": "Count", "x": 320, "y": 40,
      "output": [{ "name": "text", "type": "string" }],
      "action": { "lines": [{ "type": "set", "expression": "fromBase64($request.body.file.content)", "evaluate": true, "to": ["text"] }] },
      "transitions": [{ "to": "Answer", "lines": [{ "from": ["text"], "to": ["text"] }] }]
    },
    {
      "name": "Answer", "x": 540, "y": 40, "input": [{ "name": "text", "type": "string" }],
      "action": {
        "type": "script",
        "script": "const { filename, contentType, size } = $request.body.file\nreturn { title: $request.body.title ?? filename, contentType, size, lines: text.split('\\n').length - (text.endsWith('\\n') ? 1 : 0) }",
        "outputs": [
          { "from": ["$result"], "to": ["$response", "content"] },
          { "from": ["$response"], "to": ["answer"] }
        ]
      }
    },
    {
      "name": "Refused", "x": 320, "y": 180,
      "action": {
        "lines": [
          { "type": "set", "expression": "415", "evaluate": true, "to": ["$response", "responseCode"] },
          { "type": "set", "expression": "send a form with a file", "to": ["$response", "content"] },
          { "from": ["$response"], "to": ["answer"] }
        ]
      }
    }
  ]
}
