// What an editor makes of the JSON Schema: the language service of VS Code completes, tells and underlines.
import { describe, expect, test } from 'vitest'
import { getLanguageService, TextDocument, type JSONDocument } from 'vscode-json-languageservice'
import { definitionSchema } from '../../../src/definitions/editor/document.ts'
import { PROPERTY_TYPES } from '../../../src/definitions/values/types.ts'

const SCHEMA = 'https://example.com/flux-schema.json'

interface Opened {
  readonly document: TextDocument
  readonly json: JSONDocument
  /** Where `|` was. */
  readonly at: { readonly line: number; readonly character: number }
}

const service = getLanguageService({
  workspaceContext: { resolveRelativePath: (path, base) => new URL(path, base).href },
  schemaRequestService: () => Promise.resolve(JSON.stringify(definitionSchema())),
})
service.configure({
  validate: true,
  schemas: [{ uri: SCHEMA, fileMatch: ['*.flux', '*.model'] }],
})

/** Opens a file with the cursor at `|`. */
function opened(text: string, name = 'S.flux'): Opened {
  const offset = Math.max(0, text.indexOf('|'))
  const document = TextDocument.create(`file:///p/${name}`, 'json', 1, text.replace('|', ''))
  return { document, json: service.parseJSONDocument(document), at: document.positionAt(offset) }
}

async function completed(text: string, name?: string): Promise<string[]> {
  const { document, json, at } = opened(text, name)
  const list = await service.doComplete(document, at, json)
  return (list?.items ?? []).map(({ label }) => label.replaceAll('"', ''))
}

async function told(text: string): Promise<string> {
  const { document, json, at } = opened(text)
  return JSON.stringify((await service.doHover(document, at, json))?.contents ?? '').replaceAll('\\\\', '')
}

async function underlined(text: string, name?: string): Promise<string[]> {
  const { document, json } = opened(text, name)
  const found = await service.doValidation(document, json)
  return found.map(({ range, message }) => `${document.getText(range)}: ${message}`)
}

const inAction = (text: string) => `{ "states": [{ "name": "a", "action": { ${text} } }] }`

describe('the language service of VS Code', () => {
  test.each<[string, string, string[], string[]]>([
    ['the keys of a service', '{ | }', ['states', 'input', 'webhooks', '$schema'], ['lines', 'gloopProperties']],
    ['the keys of a state', '{ "states": [{ | }] }', ['name', 'waiting', 'action', 'transitions'], ['states']],
    ['the types of actions', inAction('"type": |'), ['map', 'invokeCode', 'invokeFlux', 'script'], []],
    [
      'the keys of a call',
      inAction('"type": "invokeCode", |'),
      ['className', 'methodName', 'inputs', 'outputs', 'retry', 'timeout', 'isolate'],
      ['lines', 'script', 'name'],
    ],
    [
      'the keys of a child',
      inAction('"type": "invokeFlux", |'),
      ['name', 'inputs', 'outputs'],
      ['script', 'className'],
    ],
    ['the keys of a script', inAction('"type": "script", |'), ['script', 'outputs', 'retry'], ['inputs', 'lines']],
    ['the keys of a map', inAction('"type": "map", |'), ['lines'], ['className', 'script']],
    ['the keys of an action without a type', inAction('|'), ['type', 'lines'], ['className', 'script']],
    ['the keys of a property', '{ "input": [{ | }] }', ['name', 'type', 'required', 'minLength'], ['states']],
    ['the types of properties', '{ "input": [{ "type": | }] }', [...PROPERTY_TYPES], ['map']],
    [
      'the keys of the fields of a model',
      '{ "input": [{ "type": "model", "gloopProperties": [{ | }] }] }',
      ['name', 'type', 'required'],
      [],
    ],
    ['whether a state waits', '{ "states": [{ "waiting": | }] }', ['true', 'false'], []],
    ['the schemes of webhooks', '{ "webhooks": [{ "verify": { "scheme": | } }] }', ['github', 'stripe', 'hmac'], []],
    ['the keys of a transition', '{ "states": [{ "transitions": [{ | }] }] }', ['to', 'event', 'wait', 'lines'], []],
  ])('completes %s', async (_, text, present, absent) => {
    const labels = await completed(text)
    expect(labels).toEqual(expect.arrayContaining(present))
    expect(labels.filter((label) => absent.includes(label))).toEqual([])
  })

  test('completes the keys of a model', async () => {
    expect(await completed('{ "type": "model", | }', 'M.model')).toEqual(expect.arrayContaining(['gloopProperties']))
    expect(await completed('{ "gloopProperties": [{ "name": "a", | }] }', 'M.model')).toContain('required')
  })

  test.each([
    ['a key', '{ "sta|tes": [] }', 'One without transitions is an end'],
    ['a type', inAction('"ty|pe": "script"'), 'runs JavaScript in a sandbox'],
    ['a key of an action', inAction('"type": "script", "scr|ipt": ""'), 'The body of a JavaScript function'],
    ['a key of a property', '{ "input": [{ "allow|Null": true }] }', 'Whether it may be null'],
  ])('tells of %s', async (_, text, expected) => {
    expect(await told(text)).toContain(expected)
  })

  test.each([
    [
      'a misspelt key',
      '{ "states": [{ "name": "a", "transitons": [] }] }',
      /^"transitons": \[\]: unknown key: there are name, .*transitions/,
    ],
    [
      'a key that is not allowed',
      '{ "webhooks": [{ "urlPath": "/a", "verify": { "scheme": "github", "secrets": ["$secrets.A"], "no": 1 } }], "states": [{ "name": "a" }] }',
      /^"no": must be an object with known keys: there are scheme, secrets, /,
    ],
    ['a type that there is not', inAction('"type": "fly"'), /^"fly": .*"invokeCode"/],
    ['a call without its method', inAction('"type": "invokeCode", "className": "a"'), /Missing property "methodName"/],
    ['a flag that is text', '{ "secured": "yes", "states": [{ "name": "a" }] }', /^"yes": .*boolean/],
    ['no states', '{ }', /Missing property "states"/],
    [
      'a wait that is none',
      '{ "states": [{ "name": "a", "transitions": [{ "to": "a", "wait": "5s" }] }] }',
      /^"5s": must be duration:<seconds> or date:/,
    ],
  ])('underlines %s', async (_, text, expected) => {
    expect(await underlined(text)).toEqual([expect.stringMatching(expected)])
  })

  test('underlines nothing that is right', async () => {
    expect(await underlined('{ "states": [{ "name": "a", "comment": "x" }] }')).toEqual([])
    expect(await underlined('{ "gloopProperties": [{ "name": "a" }] }', 'M.model')).toEqual([])
  })
})
