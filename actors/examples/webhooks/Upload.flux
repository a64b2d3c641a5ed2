{
  "comment": "Shows: a form with a file, a script, and a failure that is expected. What the browser sends is in $request.body, files in base64.\nSend: curl -F title=Notes -F file=@README.md localhost:8080/api/uploads\nSee: title, and name, type and size of the file, and how many lines it has if it is text (UTF-8). Of several files in the field, it is the first that counts. What isn't a form with a file in the field 'file' is 415.",
  "webhooks": [{ "urlPath": "/uploads", "httpMethods": ["POST"] }],
  "output": [{ "name": "answer", "type": "object" }],
  "states": [
    {
      "name": "Look", "x": 100, "y": 100,
      "action": {
        "lines": [
          {
            "type": "set", "evaluate": true, "to": ["$fluxEvent"],
            "expression": "$request.contentType?.toLowerCase().startsWith('multipart/form-data') && ($request.body.file?.[0] ?? $request.body.file)?.content != null ? 'file' : 'none'"
          }
        ]
      },
      "transitions": [
        { "event": "file", "to": "Read" },
        { "event": "none", "to": "Refused" }
      ]
    },
    {
      "name": "Read", "x": 320, "y": 40,
      "comment": "fromBase64 fails for what isn't text: then there is none to go on with.",
      "output": [{ "name": "text", "type": "string" }],
      "action": { "lines": [{ "type": "set", "expression": "fromBase64(($request.body.file[0] ?? $request.body.file).content)", "evaluate": true, "to": ["text"] }] },
      "transitions": [
        { "to": "Answer", "lines": [{ "from": ["text"], "to": ["text"] }] },
        { "event": "$exception", "to": "Answer" }
      ]
    },
    {
      "name": "Answer", "x": 540, "y": 40, "input": [{ "name": "text", "type": "string" }],
      "action": {
        "type": "script",
        "script": "const { title, file } = $request.body\nconst { filename: name, contentType: type, size } = Array.isArray(file) ? file[0] : file\nconst about = { title: title ?? name, name, type, size }\nif (text === null || text.includes('\\0')) return about\nlet lines = text === '' || text.endsWith('\\n') ? 0 : 1\nfor (let at = text.indexOf('\\n'); at >= 0; at = text.indexOf('\\n', at + 1)) lines += 1\nreturn { ...about, lines }",
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
