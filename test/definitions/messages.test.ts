// What loading says: what was most likely meant, what there is, where it stands, and what to write instead of another
// server's language.
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { reportLines } from '../../src/cli/report.ts'
import { recompile } from '../../src/definitions/service.ts'
import { pinnedText } from '../../src/definitions/pinned/text.ts'
import { folderOf, open, type Files } from './catalog-files.ts'

const end = { name: 'end' }
const set = (expression: string, to = 'out') => ({ type: 'set', expression, evaluate: true, to: [to] })

/** What is said of the service `S`, faults first. */
async function told(service: unknown, others: Files = {}): Promise<string[]> {
  const folder = await folderOf({ 'p/S.flux': service, ...others })
  const { report } = await open(folder)
  return reportLines(report).map((line) => line.replaceAll(`${folder}/p/`, ''))
}

/** What is said of an expression: one line, without its place. */
async function toldOf(expression: string): Promise<string> {
  const lines = await told({
    input: [{ name: 'list', type: 'any' }, { name: 'text' }],
    output: [{ name: 'out', type: 'any' }],
    states: [{ name: 'a', action: { lines: [set(expression)] } }],
  })
  return lines.map((line) => line.replace(/^.*?: /, '')).join('\n')
}

describe('an unknown name', () => {
  test.each<[string, unknown, RegExp]>([
    [
      'a type',
      { input: [{ name: 'a', type: 'strng' }], states: [end] },
      /"strng" is no type; did you mean "string"\? There are string, character, boolean, .*any$/,
    ],
    [
      'an action',
      { states: [{ ...end, action: { type: 'invokecode' } }] },
      /unknown action type "invokecode"; did you mean "invokeCode"\? There are map, invokeCode, invokeFlux, script$/,
    ],
    [
      'a state',
      { states: [{ name: 'Greet', transitions: [{ to: 'Thankd' }] }, { name: 'Thanked' }] },
      /there is no state "Thankd"; did you mean "Thanked"\? There are Greet, Thanked$/,
    ],
    [
      'a start state',
      { startState: 'ends', states: [end] },
      /there is no state "ends"; did you mean "end"\? There is end$/,
    ],
    [
      'a visible name',
      {
        input: [{ name: 'customer' }],
        output: [{ name: 'out' }],
        states: [{ ...end, action: { lines: [set('custmer')] } }],
      },
      /not visible anywhere: custmer; did you mean 'customer'\?$/,
    ],
    [
      'a module',
      { states: [{ ...end, action: { type: 'invokeCode', className: 'sub.greeting', methodName: 'greet' } }] },
      /there is no module "sub\.greeting" .*; did you mean 'sub\.greetings'\?$/,
    ],
    [
      'a function of a module',
      { states: [{ ...end, action: { type: 'invokeCode', className: 'sub.greetings', methodName: 'gret' } }] },
      /doesn't export "gret"; did you mean "greet"\? There are greet, wave$/,
    ],
    [
      'a method of a built-in class',
      { states: [{ ...end, action: { type: 'invokeCode', className: 'Logger', methodName: 'warning' } }] },
      /no method "warning".*there are trace, debug, info, warn, error$/,
    ],
    [
      'a model',
      { input: [{ name: 'a', type: 'model', reference: 'T.Adress' }], states: [end] },
      /there is no model "T\.Adress"; did you mean 'T\.Address'\?$/,
    ],
    [
      'a service',
      { states: [{ ...end, action: { type: 'invokeFlux', name: 'T.Ohter' } }] },
      /warning: there is no service "T\.Ohter" now; did you mean 'T\.Other'\?$/,
    ],
  ])('%s: what was meant, and what there is', async (_, service, expected) => {
    const lines = await told(service, {
      'p/sub/greetings.ts': 'export const greet = () => 1, wave = () => 2, number = 3',
      'p/T/Other.flux': { states: [end] },
      'p/T/Address.model': {},
    })
    expect(lines[0]).toMatch(expected)
    expect(lines.filter((line) => !line.includes('reached'))).toHaveLength(1)
  })

  test.each([
    [
      'text.toLowercase()',
      /unknown method 'toLowercase'; did you mean 'toLowerCase'\? \(there are at, .*trimStart.*values?|.*\)/,
    ],
    ['parsejson(text)', /unknown function 'parsejson'; did you mean 'parseJson'\? \(there are now, /],
    ['uid()', /unknown function 'uid'; did you mean 'uuid'\?/],
  ])('in an expression: %s', async (expression, expected) => {
    expect(await toldOf(expression)).toMatch(expected)
  })

  test('a method that only a value of another kind has is no method', async () => {
    const folder = await folderOf({
      'p/S.flux': { output: [{ name: 'out' }], states: [{ ...end, action: { lines: [set('[1].trim()')] } }] },
    })
    const flux = (await open(folder)).catalog.find('p', 'S')
    const [line] = flux?.states[0]?.action.outputs ?? []
    const { scopeOf } = await import('./expressions/evaluate.ts')
    expect(() => line?.read(scopeOf({}))).toThrow(/a list has no method 'trim'/)
  })
})

describe('a key', () => {
  test.each<[string, unknown, string]>([
    ['transition', { states: [{ name: 'a', transition: [{ to: 'end' }] }, end] }, '/states/0/transition'],
    ['waitng', { states: [{ ...end, waitng: true }] }, '/states/0/waitng'],
    ['Waiting', { states: [{ ...end, Waiting: true }] }, '/states/0/Waiting'],
    ['trigger', { trigger: ['x'], states: [end] }, '/trigger'],
    ['requird', { input: [{ name: 'a', requird: true }], states: [end] }, '/input/0/requird'],
    [
      'gloopProperty',
      { input: [{ name: 'a', type: 'model', gloopProperies: [] }], states: [end] },
      '/input/0/gloopProperies',
    ],
    [
      'input of an action',
      { states: [{ ...end, action: { type: 'invokeFlux', name: 'S', input: [] } }] },
      '/states/0/action/input',
    ],
    [
      'expresion',
      {
        output: [{ name: 'o' }],
        states: [{ ...end, action: { lines: [{ type: 'set', expresion: '1', to: ['o'] }] } }],
      },
      '/states/0/action/lines/0/expresion',
    ],
    ['urlpath', { webhooks: [{ urlPath: '/x', httpMethod: ['GET'] }], states: [end] }, '/webhooks/0/httpMethod'],
  ])('near a known one is a fault that names it: %s', async (_, service, pointer) => {
    const lines = (await told(service)).filter((line) => line.includes(`#${pointer}:`))
    expect(lines).toHaveLength(1)
    expect(lines[0]).toMatch(/: unknown key "\w+"; did you mean "\w+"\? There are \$?\w+, /)
    expect(lines[0]).not.toContain('warning')
  })

  test.each<[string, unknown]>([
    ['hint', { states: [{ ...end, hint: 1 }] }],
    ['to2', { states: [{ name: 'a', transitions: [{ to: 'end', tx: 1 }] }, end] }],
    ['X', { states: [{ ...end, X: 1 }] }],
    [
      'of data',
      {
        input: [
          {
            name: 'nam',
            type: 'model',
            gloopProperties: [{ name: 'transition', defaultValue: 'x' }],
            defaultValue: { transition: 'y', typ: 1 },
            allowExtraProperties: true,
          },
        ],
        states: [end],
      },
    ],
  ])('far from all is a warning, and names of data are no keys: %s', async (_, service) => {
    for (const line of await told(service)) expect(line).toContain(': warning: unknown key')
  })

  test('$schema at the root is known, in services and models', async () => {
    expect(
      await told(
        { $schema: 'https://example.com/flux.json', states: [end] },
        { 'p/M.model': { $schema: 'x', type: 'model', gloopProperties: [] } },
      ),
    ).toEqual([])
    expect(await told({ $schem: 'x', states: [end] })).toEqual([
      'S.flux:1:2 #/$schem: unknown key "$schem"; did you mean "$schema"? There are $schema, comment, key, keyReuse, early, triggers, onEnd, tags, startState, input, output, webhooks, secured, allowExtraProperties, states',
    ])
    expect(await told({ states: [{ ...end, $schema: 'x' }] })).toEqual([
      expect.stringContaining('warning: unknown key "$schema"'),
    ])
  })

  test('that was taken once stops no context that was started with it', () => {
    const source = { trigger: [], states: [{ name: 'end', waitng: true }] }
    const text = pinnedText({ package: 'p', fluxName: 'S', source, models: new Map() })
    expect(recompile(text)).toMatchObject({ faults: [], states: [{ name: 'end', fault: null }] })
  })
})

describe('a place', () => {
  test('is told by line and column, of the value or the misspelt key; what is missing stands where it belongs', async () => {
    const text =
      '{\n  "states": [\n    { "name": "a", "waitng": true,\r\n      "transitions": [ { "to": "b" },\n        { "event": "x" } ] },\n    { "name": "c" } ],\n  "secured": false,\n  "secured": true\n}\n'
    expect(await told(text)).toEqual([
      'S.flux:3:20 #/states/0/waitng: unknown key "waitng"; did you mean "waiting"? There are name, displayName, x, y, comment, waiting, action, input, output, transitions',
      'S.flux:4:32 #/states/0/transitions/0/to: there is no state "b"; there are a, c',
      'S.flux:5:9 #/states/0/transitions/1/to: there is no to',
      'S.flux:8:3 #/secured: warning: this key is there more than once: the last one counts',
    ])
  })

  test('is found under keys that a pointer escapes, and in models', async () => {
    expect(
      await told(
        { states: [end] },
        { 'p/M.model': '{ "gloopProperties": [\n { "name": "a", "type": "txt" } ],\n "a/b~c": 1 }' },
      ),
    ).toEqual([
      expect.stringMatching(/^M\.model:2:25 #\/gloopProperties\/0\/type: "txt" is no type; /),
      'M.model:3:2 #/a~1b~0c: warning: unknown key "a/b~c"',
    ])
  })
})

describe('a placeholder in quotes', () => {
  test.each(['"Hello ${text}"', "'Hello ${text}'", '`${"${text}"}`', 'list.map(x => "${x}")'])(
    'is warned of: %s',
    async (expression) => {
      expect(await toldOf(expression)).toBe(
        'warning: the ${…} in a text in quotes is plain text: write backticks (`…${x}…`) for what it stands for',
      )
    },
  )

  test.each(['`Hello ${text}`', "'${'", '"${}"', '"$ {text}"', '"{text}$"'])('is not: %s', async (expression) => {
    expect(await toldOf(expression)).toBe('')
  })
})

describe("the product's own expressions", () => {
  test.each([
    ['new Random().nextInt(10)', 'random(n)'],
    ['UUID.randomUUID().toString()', 'uuid()'],
    ['use(TimeCategory) { 5.minutes.from.now }', 'now() + milliseconds'],
    ['invokeGloop("x.Y")', 'invokeFlux'],
    ['def x = 1', 'there are no variables'],
    ['text as Integer', 'number(x)'],
    ['text.toInteger()', 'number(x)'],
    ['text ?: "none"', 'a || b, or a ?? b'],
    ['list.size()', 'x.length, size(x)'],
    ['text ==~ /a.*/', 'no regular expressions'],
    ['println text', 'Logger'],
    ['[a: 1, b: 2]', '{ name: value }'],
    ['[:]', '{ name: value }'],
    ['list.collect { it.name }', 'list.map(item => …)'],
    ['list.findAll { x -> x > 1 }', 'list.map(item => …)'],
    ['System.currentTimeMillis()', 'now()'],
    ['new groovy.json.JsonSlurper().parseText(text)', 'parseJson(text)'],
    ['Integer.parseInt(text)', 'number(x)'],
    ['text.contains("a")', 'x.includes(y)'],
    ['list*.name', 'list.map(item => item.name)'],
    ['list << 1', '[...list, x]'],
    ['def x = new Date()', 'there are no variables'],
    ['list.isEmpty()', 'size(x)'],
  ])('%s is a fault that says what to write', async (expression, hint) => {
    const line = await toldOf(expression)
    expect(line).not.toContain('warning')
    expect(line).toContain('expressions here are a small part of JavaScript: write ')
    expect(line).toContain(hint)
  })

  test.each([
    ['if (text == "a") { 1 } else { 2 }', 'condition ? value : other'],
    ['new Date()', 'now()'],
    ['Math.max(1, 2)', 'min, max'],
    ['JSON.parse(text)', 'parseJson(text)'],
    ['list.push(1)', '[...list, x]'],
    ['return text', 'without return'],
    ['const x = 1', 'there are no variables'],
    ['text += "a"', 'there are no variables'],
    ['text = "a"', 'there are no variables'],
    ['console.log(text)', 'Logger'],
  ])('%s, which is JavaScript, is one, too', async (expression, hint) => {
    const line = await toldOf(expression)
    expect(line).toContain('expressions here are a small part of JavaScript: write ')
    expect(line).toContain(hint)
  })

  test('a script may have all of JavaScript', async () => {
    const lines = await told({
      states: [{ ...end, action: { type: 'script', script: 'const x = new Date(); if (x) return JSON.stringify(x' } }],
    })
    expect(lines).toEqual([expect.stringMatching(/can't be parsed: [^;]*$/)])
  })

  test.each(['texts + 1', 'text.nothing()', '"new Date()" + nope', 'text +', "'if (a) else' ++ 1".replace('++', ',')])(
    'is not seen in %s',
    async (expression) => {
      expect(await toldOf(expression)).not.toContain('expressions here')
    },
  )

  test('is recognised in tags, waits and scripts, and in types of actions', async () => {
    const lines = await told({
      tags: ['${new Date()}'],
      states: [
        {
          name: 'a',
          action: { type: 'invokeGloop' },
          transitions: [{ to: 'b', wait: 'date:${use(TimeCategory) { 1.day }}' }],
        },
        { name: 'b', action: { type: 'script', script: 'def x = 1; x' } },
      ],
    })
    expect(lines.map((line) => line.replace(/^\S+ \S+ /, ''))).toEqual([
      expect.stringContaining('write now(), or date(text)'),
      'unknown action type "invokeGloop": use "invokeFlux" for a service, or "invokeCode" for a function',
      expect.stringContaining('now() + milliseconds'),
      expect.stringMatching(/can't be parsed: .*; scripts are JavaScript, not Groovy$/),
    ])
  })

  test('is recognised in linear time', async () => {
    const cpu = process.cpuUsage()
    for (const part of [
      'new ',
      '[a',
      '[ ',
      "'\\'",
      '"',
      '.collect ',
      'def ',
      'int a',
      'as ',
      '=',
      '$ {',
      '.size ',
      '1.',
    ])
      await toldOf(`${part.repeat(Math.floor(9000 / part.length))}@`)
    expect(process.cpuUsage(cpu).user / 1000).toBeLessThan(4000)
  })
})

describe('files of other kinds', () => {
  test('are named in a warning', async () => {
    const folder = await folderOf({
      'p/S.flux': { states: [end] },
      'p/sub/Old.gloop': 'x',
      'p/Flow.workflow': '<x/>',
      'p/readme.md': '',
    })
    const { report } = await open(folder)
    expect(report).toEqual([
      {
        severity: 'warning',
        file: join(folder, 'p/Flow.workflow'),
        pointer: '',
        reason: expect.stringContaining('.workflow') as string,
      },
      {
        severity: 'warning',
        file: join(folder, 'p/sub/Old.gloop'),
        pointer: '',
        reason: expect.stringContaining('.gloop') as string,
      },
    ])
  })

  test('the model of exceptions is there without one, and takes an exception', async () => {
    const exception = { name: 'problem', type: 'model', reference: 'io.toro.martini.flux.FluxRuntimeException' }
    const folder = await folderOf({
      'p/S.flux': {
        output: [{ name: 'out' }],
        states: [
          {
            name: 'a',
            action: { lines: [set('parseJson("{")')] },
            transitions: [{ event: '$exception', to: 'b', lines: [{ from: ['$fluxException'], to: ['problem'] }] }],
          },
          {
            name: 'b',
            input: [exception],
            action: { lines: [{ from: ['problem', 'fluxStackTrace', '0', 'stateName'], to: ['out'] }] },
          },
        ],
      },
    })
    const { report, catalog } = await open(folder)
    expect(report).toEqual([])
    const target = catalog.find('p', 'S')?.states[1]?.input.properties.get('problem')
    expect([...(target?.fields()?.properties.keys() ?? [])]).toEqual([
      'message',
      'type',
      'className',
      'realException',
      'fluxStackTrace',
    ])
  })
})
