import { join } from 'node:path'
import { assert, constantFrom, jsonValue, nat, oneof, property } from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compileFlux } from '../../src/definitions/service.ts'
import { Report } from '../../src/definitions/report.ts'
import { isObject, type JsonObject } from '../../src/model/json/value.ts'
import { folderOf, open, write, type Files } from './catalog-files.ts'

type Found = readonly [pointer: string, reason: string]

/** What loading says of one service, with its pointers. */
async function check(service: unknown, others: Files = {}): Promise<{ faults: Found[]; warnings: Found[] }> {
  const folder = await folderOf({ 'p/S.flux': service, ...others })
  const { report } = await open(folder)
  const own = report.filter(({ file }) => file === join(folder, 'p/S.flux'))
  const of = (wanted: string) =>
    own
      .filter(({ severity }) => severity === wanted)
      .map(({ pointer, reason }): Found => [pointer, reason])
      .sort(([one], [other]) => (one < other ? -1 : 1))
  return { faults: of('fault'), warnings: of('warning') }
}

const EARLY = 'must be 1 second to 7 days, as a number of seconds, or a text like "90s", "15m", "1h" or "7d"; or 0'
const UNNAMED = 'only a transition that names an event can keep one that comes early'
const NO_EVENT = 'only a transition that names an event can be internal'
const end = { name: 'end' }
const toEnd = (transition: object = {}) => ({ to: 'end', ...transition })
/** A service with one state before its end. */
const service = (state: object, root: object = {}) => ({
  ...root,
  states: [{ name: 'a', transitions: [toEnd()], ...state }, end],
})
const set = (to: string[], expression: unknown, evaluate = false) => ({ type: 'set', to, expression, evaluate })
const map = (from: string[], to: string[]) => ({ from, to })
const endpoint = (urlPath: string, ...httpMethods: string[]) => ({
  webhooks: [{ urlPath, httpMethods }],
  states: [end],
})

describe('what keeps the server from starting', () => {
  test.each<[string, unknown, ...Found[]]>([
    ['no states', {}, ['/states', 'there are no states']],
    ['an empty list of states', { states: [] }, ['/states', 'there are no states']],
    ['states that are no list', { states: 'a' }, ['/states', 'must be a list']],
    ['a state that is no object', { states: [end, 5] }, ['/states/1', 'must be an object']],
    ['a state without a name', { states: [{}] }, ['/states/0/name', 'there is no name']],
    ['a state with an empty name', { states: [{ name: '' }] }, ['/states/0/name', 'must not be empty']],
    [
      'two states of one name',
      { states: [end, { name: 'b', transitions: [toEnd()] }, end] },
      ['/states/2/name', 'two states are named "end"'],
    ],
    [
      'an unknown start state',
      { startState: 'x', states: [end] },
      ['/startState', 'there is no state "x"; there is end'],
    ],
    [
      'a transition to an unknown state',
      service({ transitions: [{ to: 'x' }] }),
      ['/states/0/transitions/0/to', 'there is no state "x"; there are a, end'],
    ],
    [
      'a transition to the place of a state without a name',
      { states: [{ name: 'a', transitions: [{ to: '#1' }] }, {}] },
      ['/states/0/transitions/0/to', 'there is no state "#1"; there is a'],
      ['/states/1/name', 'there is no name'],
    ],
    ['a transition to nowhere', service({ transitions: [{}] }), ['/states/0/transitions/0/to', 'there is no to']],
    [
      'two transitions for one event',
      service({ transitions: [toEnd({ event: 'e' }), toEnd({ event: 'e' })] }),
      ['/states/0/transitions/1/event', 'two transitions of this state are for "e"'],
    ],
    [
      'two for $else',
      service({ transitions: [toEnd({ event: '$else' }), toEnd({ event: '$else' })] }),
      ['/states/0/transitions/1/event', 'two transitions of this state are for "$else"'],
    ],
    [
      'two for $exception',
      service({ transitions: [toEnd({ event: '$exception' }), toEnd({ event: '$exception' })] }),
      ['/states/0/transitions/1/event', 'two transitions of this state are for "$exception"'],
    ],
    [
      'two without event',
      service({ transitions: [toEnd({ event: '' }), toEnd({ event: null })] }),
      ['/states/0/transitions/1', 'two transitions of this state have no event'],
    ],
    [
      'a waiting state without transitions',
      service({ waiting: true, transitions: [] }),
      ['/states/0', 'a waiting state needs a transition'],
    ],
    [
      'an event-less transition without wait in a waiting state',
      service({ waiting: true, transitions: [toEnd({ event: 'e' }), toEnd()] }),
      ['/states/0/transitions/1', 'a transition without event needs a wait in a waiting state'],
    ],
    [
      'an unknown target in a transition',
      service({ transitions: [toEnd({ lines: [map(['$trackerId'], ['x'])] })] }),
      ['/states/0/transitions/0/lines/0/to', 'there is no "x" to write to'],
    ],
    [
      'an unknown target in a map',
      service({ action: { lines: [map(['$trackerId'], ['x'])] } }),
      ['/states/0/action/lines/0/to', 'there is no "x" to write to'],
    ],
    [
      'an input as the target of a map',
      service({ input: [{ name: 'x' }], action: { lines: [set(['x'], 'v')] } }),
      ['/states/0/action/lines/0/to', 'there is no "x" to write to'],
    ],
    [
      'an unparsable expression',
      service({ output: [{ name: 'x' }], action: { lines: [set(['x'], '1 +', true)] } }),
      ['/states/0/action/lines/0/expression', expect.stringContaining("can't be parsed")],
    ],
    [
      'a name visible nowhere',
      service({ output: [{ name: 'x' }], action: { lines: [set(['x'], 'y + 1', true)] } }),
      ['/states/0/action/lines/0/expression', 'not visible anywhere: y'],
    ],
    [
      'a name of another state',
      {
        states: [
          { name: 'a', output: [{ name: 'mine' }], transitions: [toEnd()] },
          { ...end, output: [{ name: 'o' }], action: { lines: [set(['o'], 'mine', true)] } },
        ],
      },
      ['/states/1/action/lines/0/expression', 'not visible anywhere: mine'],
    ],
    [
      'an unparsable tag',
      { tags: ['ok', '${1 +}'], states: [end] },
      ['/tags/1', expect.stringContaining("can't be parsed")],
    ],
    [
      'a tag over something that is no input',
      { tags: ['${x}'], output: [{ name: 'x' }], states: [end] },
      ['/tags/0', 'not visible anywhere: x'],
    ],
    ...['x', '1w', -1, 0.5, '8d', 604_801, true, {}].map((early): [string, unknown, Found] => [
      `early: ${JSON.stringify(early)}`,
      service({}, { early }),
      ['/early', EARLY],
    ]),
    [
      'early on a transition for no event of its own',
      service({
        waiting: true,
        transitions: [
          toEnd({ event: 'e', early: '9d' }),
          toEnd({ wait: 'duration:5', early: 5 }),
          toEnd({ event: '$else', early: 0 }),
          toEnd({ event: '$exception', early: '1h' }),
        ],
      }),
      ['/states/0/transitions/0/early', EARLY],
      ['/states/0/transitions/1/early', UNNAMED],
      ['/states/0/transitions/2/early', UNNAMED],
      ['/states/0/transitions/3/early', UNNAMED],
    ],
    [
      'an internal transition for no event of its own, or for one that comes early',
      service({
        waiting: true,
        transitions: [
          toEnd({ wait: 'duration:5', internal: true }),
          toEnd({ event: '$else', internal: true }),
          toEnd({ event: '$exception', internal: true }),
          toEnd({ event: 'e', internal: true, early: '1h' }),
          toEnd({ event: 'f', internal: 'yes' }),
        ],
      }),
      ['/states/0/transitions/0/internal', NO_EVENT],
      ['/states/0/transitions/1/internal', NO_EVENT],
      ['/states/0/transitions/2/internal', NO_EVENT],
      ['/states/0/transitions/4/internal', 'must be true or false'],
      ['/states/0/transitions/3/early', 'the event is internal: it is never sent, so it cannot come early'],
    ],
    [
      'a wait of an unknown kind',
      service({ transitions: [toEnd({ wait: 'until:5' })] }),
      ['/states/0/transitions/0/wait', '"until:5" is no wait: write duration:<seconds> or date:<when>'],
    ],
    [
      'a wait without a value',
      service({ transitions: [toEnd({ wait: 'duration:' })] }),
      ['/states/0/transitions/0/wait', '"duration:" is no wait: write duration:<seconds> or date:<when>'],
    ],
    [
      'a duration that is no number',
      service({ transitions: [toEnd({ wait: 'duration:5s' })] }),
      ['/states/0/transitions/0/wait', '"5s" is no number of seconds'],
    ],
    [
      'a date that is none',
      service({ transitions: [toEnd({ wait: 'date:2026-02-30' })] }),
      ['/states/0/transitions/0/wait', '"2026-02-30" is no date: neither ISO 8601 nor epoch milliseconds'],
    ],
    [
      'a wait over an unknown name',
      service({ transitions: [toEnd({ wait: 'duration:${x}' })] }),
      ['/states/0/transitions/0/wait', 'not visible anywhere: x'],
    ],
    [
      'a faulty wait of a waiting state, told once',
      service({ waiting: true, transitions: [toEnd({ wait: 'x' })] }),
      ['/states/0/transitions/0/wait', '"x" is no wait: write duration:<seconds> or date:<when>'],
    ],
    [
      'a wait that is no text',
      service({ transitions: [toEnd({ wait: 5 })] }),
      ['/states/0/transitions/0/wait', 'must be text'],
    ],
    [
      'an unknown action',
      service({ action: { type: 'fly' } }),
      ['/states/0/action/type', 'unknown action type "fly"; there are map, invokeCode, invokeFlux, script'],
    ],
    [
      'an action whose type is no text',
      service({ action: { type: { toString: 1 } } }),
      ['/states/0/action/type', 'the type of an action is one of map, invokeCode, invokeFlux, script'],
    ],
    ['an action that is no object', service({ action: 'map' }), ['/states/0/action', 'must be an object']],
    [
      'a call without a method',
      service({ action: { type: 'invokeCode', className: 'Logger' } }),
      ['/states/0/action/methodName', 'there is no methodName'],
    ],
    [
      'a child without a name',
      service({ action: { type: 'invokeFlux' } }),
      ['/states/0/action/name', 'there is no name'],
    ],
    [
      'an unknown module',
      service({ action: { type: 'invokeCode', className: 'none', methodName: 'm' } }),
      ['/states/0/action', expect.stringContaining('there is no module "none" in package "p"')],
    ],
    [
      'an unknown method of a built-in class',
      service({ action: { type: 'invokeCode', className: 'Logger', methodName: 'shout' } }),
      ['/states/0/action', expect.stringContaining('no method "shout"')],
    ],
    [
      'a bad number of attempts',
      service({ action: { type: 'invokeCode', className: 'Logger', methodName: 'info', retry: { maxAttempts: 0.5 } } }),
      ['/states/0/action/retry/maxAttempts', expect.any(String)],
    ],
    [
      'a bad delay',
      service({
        action: { type: 'invokeCode', className: 'Logger', methodName: 'info', retry: { maxAttempts: 2, delay: -1 } },
      }),
      ['/states/0/action/retry/delay', 'must not be negative'],
    ],
    [
      'a timeout of nothing',
      service({ action: { type: 'invokeCode', className: 'Logger', methodName: 'info', timeout: 0 } }),
      ['/states/0/action/timeout', 'must be greater than 0'],
    ],
    [
      'two properties of one name',
      { input: [{ name: 'x' }, { name: 'x' }], states: [end] },
      ['/input/1/name', expect.stringContaining('"x"')],
    ],
    [
      'two properties of one name in a state',
      service({ output: [{ name: 'x' }, { name: 'x' }] }),
      ['/states/0/output/1/name', expect.stringContaining('"x"')],
    ],
    [
      'an unknown type',
      { input: [{ name: 'x', type: 'text' }], states: [end] },
      ['/input/0/type', expect.stringContaining('"text"')],
    ],
    [
      'an unknown model',
      { input: [{ name: 'x', type: 'model', reference: 'none' }], states: [end] },
      ['/input/0/reference', expect.stringContaining('"none"')],
    ],
    [
      'triggers that are no texts',
      { triggers: ['a', 1], states: [end] },
      ['/triggers/1', 'must be text, or an object with an event'],
    ],
    ['triggers that are no list', { triggers: 'a', states: [end] }, ['/triggers', 'must be a list']],
    [
      'a trigger without an event',
      { triggers: [{ key: 'k' }], states: [end] },
      ['/triggers/0/event', 'there is no event'],
    ],
    [
      'a misspelt word in a trigger',
      { triggers: [{ event: 'go', unlesMoved: true }], states: [end] },
      ['/triggers/0/unlesMoved', expect.stringContaining('did you mean "unlessMoved"?')],
    ],
    [
      'a trigger whose key sees nothing',
      { triggers: [{ event: 'go', key: '${orderId}' }], states: [end] },
      ['/triggers/0/key', expect.stringContaining('not visible anywhere: orderId')],
    ],
    ['a key that is no text', { key: 1, states: [end] }, ['/key', 'must be text']],
    ['an empty key', { key: '', states: [end] }, ['/key', 'must not be empty']],
    ['a key that is too long', { key: 'ä'.repeat(129), states: [end] }, ['/key', 'must not be longer than 256 bytes']],
    ['a key that sees nothing', { key: 'o-${id}', states: [end] }, ['/key', expect.stringContaining('anywhere: id')]],
    [
      'a reuse of keys that is not known',
      { keyReuse: 'always', states: [end] },
      ['/keyReuse', 'must be "never", or be left out'],
    ],
    ['a flag that is text', { secured: 'true', states: [end] }, ['/secured', 'must be true or false']],
    [
      'a webhook on a secured service',
      { secured: true, ...endpoint('/a', 'GET') },
      ['/webhooks/0', expect.stringContaining('secured')],
    ],
    [
      'a webhook without a path',
      { webhooks: [{ httpMethods: ['GET'] }], states: [end] },
      ['/webhooks/0/urlPath', 'there is no urlPath'],
    ],
  ])('%s', async (_, source, ...expected) => {
    expect((await check(source)).faults).toEqual(expected.toSorted(([one], [other]) => (one < other ? -1 : 1)))
  })

  test('every fault of every file stands in one report', async () => {
    const folder = await folderOf({
      'p/A.flux': {
        startState: 'x',
        states: [
          { name: 'a', action: { type: 'invokeCode', className: 'none', methodName: 'm' }, transitions: [{ to: 'y' }] },
        ],
      },
      'p/B.flux': '{',
      'q/C.flux': { triggers: 1, tags: ['${'], states: [{ name: 'a', transitions: [3] }] },
      'q/D.model': { type: 'model', gloopProperties: [{ type: 'string' }] },
    })
    const { report, catalog } = await open(folder)
    expect(
      report
        .filter(({ severity }) => severity === 'fault')
        .map(({ file, pointer }) => `${file.slice(folder.length + 1)} ${pointer}`)
        .sort(),
    ).toEqual([
      'p/A.flux /startState',
      'p/A.flux /states/0/action',
      'p/A.flux /states/0/transitions/0/to',
      'p/B.flux ',
      'q/C.flux /states/0/transitions/0',
      'q/C.flux /tags/0',
      'q/C.flux /triggers',
      'q/D.model /gloopProperties/0/name',
    ])
    expect(catalog.all()).toEqual([])
  })

  test('a module that throws when it is loaded says what it threw', async () => {
    const { faults } = await check(service({ action: { type: 'invokeCode', className: 'm', methodName: 'f' } }), {
      'p/m.ts': 'throw new Error("no key set")',
    })
    expect(faults).toEqual([['/states/0/action', 'module "m" can\'t be loaded: no key set']])
  })
})

describe('webhooks', () => {
  test.each([
    ['the same path', '/orders', '/orders'],
    ['the same shape', '/orders/{id}', '/orders/{other}'],
    ['another writing of it', '/caf%C3%A9', '/café'],
  ])('%s in two services is a fault that names both', async (_, one, other) => {
    const folder = await folderOf({ 'p/A.flux': endpoint(one, 'GET', 'post'), 'q/B.flux': endpoint(other, 'POST') })
    const { report } = await open(folder)
    expect(report).toMatchObject([
      {
        severity: 'fault',
        file: join(folder, 'p/A.flux'),
        pointer: '/webhooks/0',
        reason: expect.stringMatching(/POST .* "B" of package "q"/),
      },
      {
        severity: 'fault',
        file: join(folder, 'q/B.flux'),
        pointer: '/webhooks/0',
        reason: expect.stringMatching(/POST .* "A" of package "p"/),
      },
    ])
  })

  test.each([
    ['another method', endpoint('/a', 'GET'), endpoint('/a', 'POST')],
    ['a literal beside a parameter', endpoint('/a/{id}', 'GET'), endpoint('/a/b', 'GET')],
    [
      'a disabled one',
      endpoint('/a', 'GET'),
      { webhooks: [{ urlPath: '/a', httpMethods: ['GET'], enabled: false }], states: [end] },
    ],
  ])('%s is no clash', async (_, a, b) => {
    expect((await open(await folderOf({ 'p/A.flux': a, 'p/B.flux': b }))).report).toEqual([])
  })

  test('a disabled one on a secured service is none', async () => {
    expect(
      await check({
        secured: true,
        webhooks: [{ urlPath: '/a', httpMethods: ['GET'], enabled: false }],
        states: [end],
      }),
    ).toEqual({ faults: [], warnings: [] })
  })
})

const NULLABLE = 'null is accepted all the same: add "allowNull": false, or true if it is meant'
/** A map with an order as its input. */
const ordering = (...lines: object[]) => {
  const gloopProperties = [
    { name: 'customer', type: 'model', gloopProperties: [{ name: 'name' }] },
    { name: 'lines', type: 'model', array: true, gloopProperties: [{ name: 'sku' }] },
    { name: 'any', type: 'model', allowExtraProperties: true, gloopProperties: [] },
    { name: 'id' },
  ]
  const state = { ...end, output: [{ name: 'text', type: 'any' }], action: { lines } }
  return { input: [{ name: 'order', type: 'model', gloopProperties }], states: [state] }
}
/** A state whose action sets `$fluxEvent`; to that `late` may be added. */
const deciding = (expression: string, { evaluate = true, late = {}, waiting = true } = {}) =>
  service({
    waiting,
    action: { lines: [set(['$fluxEvent'], expression, evaluate)] },
    transitions: [toEnd({ event: 'paid' }), toEnd({ event: 'late', ...late })],
  })
const chosen = (event: string) =>
  `the action sets $fluxEvent, and may choose "${event}", which a caller may send as well: ` +
  'add "internal": true to what it alone chooses, and false to what is sent'

const childFile = (root: object = {}) => ({
  'p/Child.flux': {
    input: [
      { name: 'order', type: 'string', required: true, allowNull: false },
      { name: 'retries', type: 'integer', required: true, allowNull: true, defaultValue: 3 },
      { name: 'address', type: 'model', gloopProperties: [{ name: 'city' }] },
    ],
    states: [end],
    ...root,
  },
})
const callingChild = (...inputs: object[]) => service({ action: { type: 'invokeFlux', name: 'Child', inputs } })
const INPUTS_AT = '/states/0/action/inputs'

describe('inputs of a child', () => {
  test.each<[string, object[], ...Found[]]>([
    ['all that are required', [set(['order'], 1)]],
    ['a part of a model', [set(['order'], 1), set(['address', 'city'], 1)]],
    ['a required one that no line sets', [], [INPUTS_AT, '"Child" requires the input "order", which no line sets']],
    [
      'one that is not declared',
      [set(['order'], 1), set(['adress'], 1)],
      [`${INPUTS_AT}/1/to`, '"Child" has no input "adress"; did you mean "address"? There are order, retries, address'],
    ],
    [
      'a field that a model does not have',
      [set(['order'], 1), set(['address', 'town'], 1)],
      [`${INPUTS_AT}/1/to`, '"Child": "address" has no property "town"'],
    ],
  ])('%s', async (_, inputs, ...expected) => {
    expect(await check(callingChild(...inputs), childFile())).toEqual({ faults: expected, warnings: [] })
  })

  test('undeclared ones of a child that allows extra properties', async () => {
    const extra = childFile({ allowExtraProperties: true })
    expect(await check(callingChild(set(['order'], 1), set(['more'], 1)), extra)).toEqual({ faults: [], warnings: [] })
  })

  test('a child that changes under its parent: the parent keeps its version, and the fault is reported', async () => {
    const folder = await folderOf({ 'p/S.flux': callingChild(set(['order'], 1)), ...childFile() })
    const { catalog, report } = await open(folder)
    expect(report).toEqual([])
    await write(folder, childFile({ input: [{ name: 'id', required: true, allowNull: false }] }))
    const faults = (await catalog.reload()).map(({ file, pointer }) => [file, pointer])
    const file = join(folder, 'p/S.flux')
    expect(faults).toEqual([
      [file, `${INPUTS_AT}/0/to`],
      [file, INPUTS_AT],
    ])
    expect(catalog.find('p', 'S')).toBeDefined()
    await write(folder, { 'p/S.flux': callingChild(set(['id'], 1)) })
    expect(await catalog.reload()).toEqual([])
  })
})

describe('what is doubtful is told, and the server starts', () => {
  test.each<[string, unknown, ...Found[]]>([
    ['an unreachable state', { states: [end, { name: 'b' }] }, ['/states/1', '"b" can\'t be reached from "end"']],
    [
      'states that only reach one another',
      {
        startState: 'end',
        states: [{ name: 'a', transitions: [{ to: 'b' }] }, { name: 'b', transitions: [{ to: 'a' }] }, end],
      },
      ['/states/0', '"a" can\'t be reached from "end"'],
      ['/states/1', '"b" can\'t be reached from "end"'],
    ],
    [
      'required properties that accept null',
      {
        input: [
          { name: 'a', required: true },
          { name: 'b', required: true, allowNull: false },
          { name: 'm', type: 'model', gloopProperties: [{ name: 'c', required: true, allowNull: null }] },
        ],
        output: [{ name: 'o', required: true }],
        states: [
          { name: 'w', waiting: true, input: [{ name: 'd', required: true }], transitions: [toEnd({ event: 'e' })] },
          end,
        ],
      },
      ['/input/0/required', NULLABLE],
      ['/input/2/gloopProperties/0/required', NULLABLE],
      ['/states/0/input/0/required', NULLABLE],
    ],
    [
      'paths to no field of a model',
      {
        ...ordering(
          map(['order', 'custmer', 'name'], ['text']),
          set(['text'], 'order.customer.nam + order?.lines.length', true),
          set(['text'], "`${order['totl']}`", true),
          map(['order', 'lines', '0', 'skuu'], ['text']),
        ),
        tags: ['t-${order.idd}'],
      },
      [
        '/states/0/action/lines/0/from',
        '"order" has no field "custmer"; did you mean "customer"? There are customer, lines, any, id',
      ],
      ['/states/0/action/lines/1/expression', '"customer" has no field "nam"; did you mean "name"? There is name'],
      ['/states/0/action/lines/2/expression', '"order" has no field "totl"; there are customer, lines, any, id'],
      ['/states/0/action/lines/3/from', '"lines" has no field "skuu"; did you mean "sku"? There is sku'],
      ['/tags/0', '"order" has no field "idd"; did you mean "id"? There are customer, lines, any, id'],
    ],
    [
      'a wait that only internal transitions end',
      service({ waiting: true, transitions: [toEnd({ event: 'e', internal: true })] }),
      ['/states/0', 'nothing ever ends this wait: there is neither an event nor a time'],
    ],
    [
      'an event that the action chooses and a caller may send',
      deciding("$fluxEvent == 'paid' && now() > 5 ? 'late' : $fluxEvent"),
      ['/states/0/transitions/1/event', chosen('late')],
    ],
    [
      'an event that the action of a state that waits sets',
      deciding('late', { evaluate: false }),
      ['/states/0/transitions/1/event', chosen('late')],
    ],
    [
      'events that a function may choose',
      service({
        waiting: true,
        action: {
          type: 'invokeCode',
          className: 'Logger',
          methodName: 'info',
          outputs: [map(['decision'], ['$fluxEvent'])],
        },
        transitions: [toEnd({ event: 'paid' }), toEnd({ event: 'late' })],
      }),
      ['/states/0/transitions/0/event', chosen('paid')],
      ['/states/0/transitions/1/event', chosen('late')],
    ],
    [
      'an event-less transition beside named ones',
      service({ transitions: [toEnd(), toEnd({ event: 'e' })] }),
      ['/states/0/transitions/0', 'never taken: a transition without event must be the only one besides $exception'],
    ],
    [
      'a wait that nothing ends',
      service({ waiting: true, transitions: [toEnd({ event: '$exception' })] }),
      ['/states/0', 'nothing ever ends this wait: there is neither an event nor a time'],
    ],
    [
      'a negative duration',
      service({ transitions: [toEnd({ wait: 'duration:-1' })] }),
      ['/states/0/transitions/0/wait', 'a negative time does not wait at all'],
    ],
    [
      "a trigger that can't be sent",
      { triggers: ['$go'], states: [end] },
      ['/triggers/0/event', '"$go" can\'t be sent as an event'],
    ],
    [
      'two triggers for one event',
      { triggers: ['go', { event: 'go', key: 'k' }], states: [end] },
      ['/triggers/1/event', '"go" is listed twice'],
    ],
    [
      'a child whose service has keys',
      { key: 'k', ...service({ action: { type: 'invokeFlux', name: 'S' } }) },
      ['/states/0/action/name', '"S" has no key here: a child is kept with its parent'],
    ],
    [
      'a child that is not there',
      service({ action: { type: 'invokeFlux', name: 'X' } }),
      ['/states/0/action/name', 'there is no service "X" now'],
    ],
    ['a webhook without a method', endpoint('/a'), ['/webhooks/0/httpMethods', expect.stringContaining('reached')]],
    [
      'a webhook with a method that there is not',
      endpoint('/a', 'GET', 'GE T'),
      ['/webhooks/0/httpMethods', expect.stringContaining("'GE T'")],
    ],
    ['a webhook with a query', endpoint('/a?b', 'GET'), ['/webhooks/0/urlPath', expect.stringContaining('?')]],
    [
      'a webhook with a dot segment',
      endpoint('/a/../b', 'GET'),
      ['/webhooks/0/urlPath', expect.stringContaining('..')],
    ],
    [
      'a webhook with a parameter within a segment',
      endpoint('/a/{b}.json', 'GET'),
      ['/webhooks/0/urlPath', expect.stringContaining('whole segment')],
    ],
    [
      'a webhook with a parameter of another dialect',
      endpoint('/a/:b', 'GET'),
      ['/webhooks/0/urlPath', expect.stringContaining('{name}')],
    ],
    ['a webhook below /api', endpoint('/api/a', 'GET'), ['/webhooks/0/urlPath', expect.stringContaining('/api/api')]],
    [
      'a webhook without time',
      { webhooks: [{ urlPath: '/a', httpMethods: ['GET'], timeout: 0 }], states: [end] },
      ['/webhooks/0/timeout', expect.stringContaining('504')],
    ],
    [
      '$response for a text',
      {
        ...endpoint('/a', 'GET'),
        output: [{ name: 'r', type: 'string' }],
        states: [{ name: 'end', action: { type: 'map', lines: [{ from: ['$response'], to: ['r'] }] } }],
      },
      ['/states/0/action/lines/0/to', expect.stringContaining('$response')],
    ],
    ['a webhook without a slash first', endpoint('a', 'GET'), ['/webhooks/0/urlPath', 'taken as "/a"']],
  ])('%s', async (_, source, ...expected) => {
    expect(await check(source)).toEqual({ faults: [], warnings: expected })
  })

  test('unknown keys anywhere, with pointers that escape them', async () => {
    const { faults, warnings } = await check({
      'a/b~c': 1,
      __proto__x: 1,
      input: [{ name: 'm', type: 'model', gloopProperties: [{ name: 'n', colour: 1 }] }],
      output: [{ name: 'o', hint: 1 }],
      webhooks: [{ urlPath: '/a', httpMethods: ['GET'], auth: 1 }],
      states: [
        {
          name: 'a',
          icon: 1,
          input: [{ name: 'i', k: 1 }],
          action: {
            type: 'invokeCode',
            className: 'Logger',
            methodName: 'info',
            lines: [],
            retry: { maxAttempts: 1, jitter: 1 },
            inputs: [{ ...map(['o'], ['x']), note: 1 }],
          },
          transitions: [{ to: 'a', colour: 1, lines: [{ ...map(['o'], ['i']), note: 1 }] }],
        },
      ],
    })
    expect(faults).toEqual([])
    expect(warnings.map(([pointer]) => pointer).sort()).toEqual([
      '/__proto__x',
      '/a~1b~0c',
      '/input/0/gloopProperties/0/colour',
      '/output/0/hint',
      '/states/0/action/inputs/0/note',
      '/states/0/action/lines',
      '/states/0/action/retry/jitter',
      '/states/0/icon',
      '/states/0/input/0/k',
      '/states/0/transitions/0/colour',
      '/states/0/transitions/0/lines/0/note',
      '/webhooks/0/auth',
    ])
  })
})

describe('what is right is silent', () => {
  test.each<[string, unknown]>([
    [
      'a path to what a model may have, or a list has',
      ordering(
        set(['text'], 'order.any.thing + order.lines.length + order.lines.map(order => order.x)[0]', true),
        map(['order', 'lines', 'sku'], ['text']),
        map(['order', 'customer', 'name'], ['text']),
      ),
    ],
    ['an internal event', deciding("now() > 5 ? 'late' : 'paid'", { late: { internal: true } })],
    ['an event that is said to be sent', deciding("now() > 5 ? 'late' : 'paid'", { late: { internal: false } })],
    [
      'an internal event of a state that does not wait',
      deciding("'late'", { late: { internal: true }, waiting: false }),
    ],
    ['a state that does not wait and chooses', deciding("now() > 5 ? 'late' : 'paid'", { waiting: false })],
    ['an action that chooses by what came', deciding("$fluxEvent == 'late' ? 'late' : 'x'")],
    ['an action that ends the context', deciding("'$fluxTerminate'")],
    ['an internal transition with a pause', deciding("'late'", { late: { internal: true, wait: 'duration:5' } })],
    [
      'every known key',
      {
        comment: 'c',
        triggers: ['t'],
        tags: ['a', '${x}', 'n-${$trackerId}'],
        startState: 'a',
        secured: false,
        allowExtraProperties: false,
        input: [{ name: 'x', comments: 'c' }, { name: 'X-Client-Ref' }, { name: '$trackerId' }],
        output: [{ name: 'y' }],
        webhooks: [{ urlPath: '/a/{x}', httpMethods: ['POST'], name: 'n', enabled: true, timeout: 3 }],
        states: [
          {
            name: 'a',
            displayName: 'A',
            x: 1,
            y: 2,
            comment: 'c',
            waiting: false,
            action: {},
            input: [{ name: 'i' }],
            output: [{ name: 'o' }],
            transitions: [
              { to: 'end', event: 'e', wait: 'duration:${x}', comments: 'c', lines: [] },
              { to: 'end', event: '$else' },
              { to: 'end', event: '$exception' },
            ],
          },
          end,
        ],
      },
    ],
    [
      'null for what is absent',
      {
        comment: null,
        triggers: null,
        tags: null,
        startState: null,
        input: null,
        output: null,
        webhooks: null,
        secured: null,
        allowExtraProperties: null,
        states: [
          {
            name: 'a',
            waiting: null,
            action: null,
            input: null,
            output: null,
            transitions: [{ to: 'end', event: null, wait: null, lines: null }],
          },
          end,
        ],
      },
    ],
    [
      'all that a map may write and see',
      service(
        {
          input: [{ name: 'i' }],
          output: [{ name: 'o' }],
          action: {
            type: 'map',
            lines: [
              set(['o'], 'i + x + $fluxEvent', true),
              set(['y'], 'o + y', true),
              set(['$fluxEvent'], 'go'),
              set(['$response', 'headers', 'Content-Type'], 'text/plain'),
              map(['$request', 'headers'], ['$response', 'content']),
            ],
          },
        },
        { input: [{ name: 'x' }], output: [{ name: 'y' }] },
      ),
    ],
    [
      'lines of a transition that see what they wrote',
      {
        states: [
          {
            name: 'a',
            output: [{ name: 'o' }],
            transitions: [{ to: 'end', lines: [map(['o'], ['i']), set(['j'], 'i + o', true)] }],
          },
          { ...end, input: [{ name: 'i' }, { name: 'j' }] },
        ],
      },
    ],
    [
      'any name in the result of a call',
      service({
        output: [{ name: 'o' }],
        action: {
          type: 'invokeCode',
          className: 'Logger',
          methodName: 'info',
          parameters: [{ any: 'thing' }],
          inputs: [set(['message'], 'hi'), set(['deep', 'er'], '1', true)],
          outputs: [set(['o'], 'anything.at.all', true), map(['$result'], ['o'])],
        },
      }),
    ],
    [
      'any name where extra inputs may come',
      service(
        { output: [{ name: 'o' }], action: { lines: [set(['o'], 'whatever', true)] } },
        { allowExtraProperties: true, tags: ['${extra}'] },
      ),
    ],
    [
      'several timed transitions of a waiting state',
      service({
        waiting: true,
        transitions: [
          toEnd({ wait: 'duration:1.5' }),
          toEnd({ wait: 'date:2030-01-01' }),
          toEnd({ wait: 'date:${$trackerId}' }),
        ],
      }),
    ],
    [
      'a loop through itself as a child',
      service({ action: { type: 'invokeFlux', name: 'S', inputs: [], outputs: [] } }),
    ],
  ])('%s', async (_, source) => {
    expect(await check(source)).toEqual({ faults: [], warnings: [] })
  })
})

const WHOLE: JsonObject = {
  triggers: ['t'],
  tags: ['${x}'],
  startState: 'a',
  input: [{ name: 'x', type: 'model', gloopProperties: [{ name: 'n', type: 'date', defaultValue: 'now' }] }],
  output: [{ name: 'y' }],
  webhooks: [{ urlPath: '/a/{x}', httpMethods: ['POST'], timeout: 3 }],
  states: [
    {
      name: 'a',
      waiting: true,
      output: [{ name: 'o' }],
      transitions: [
        { to: 'b', event: 'e', lines: [{ from: ['o'], to: ['i'] }] },
        { to: 'c', wait: 'duration:1' },
      ],
    },
    {
      name: 'b',
      input: [{ name: 'i' }],
      action: {
        type: 'invokeCode',
        className: 'Logger',
        methodName: 'info',
        retry: { maxAttempts: 2 },
        inputs: [{ type: 'set', to: ['m'], expression: 'i + x.n', evaluate: true }],
        outputs: [{ from: ['$result'], to: ['y'] }],
      },
      transitions: [{ to: 'c' }],
    },
    { name: 'c', action: { type: 'invokeFlux', name: 'S' } },
  ],
}

/** The same, with the n-th of its values replaced. */
function replaced(value: unknown, count: { left: number }, by: unknown): unknown {
  if (count.left-- === 0) return by
  if (Array.isArray(value)) return value.map((item) => replaced(item, count, by))
  return isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([key, item]) => [key, replaced(item, count, by)]))
    : value
}

test('whatever stands anywhere in a file, it is reported or taken, never thrown over', async () => {
  expect(await check(WHOLE)).toEqual({ faults: [], warnings: [] })
  const odd = oneof(
    jsonValue(),
    constantFrom(
      '',
      '$else',
      '${',
      '${a',
      'date:',
      'duration:${',
      -1,
      1e300,
      [[]],
      [{}],
      [null],
      { type: 'script' },
      { name: '__proto__' },
    ),
  )
  assert(
    property(nat(140), odd, (position, value) => {
      const source = JSON.parse(JSON.stringify(replaced(WHOLE, { left: position }, value)))
      if (!isObject(source)) return
      const report = new Report('S.flux')
      const flux = compileFlux({ package: 'p', fluxName: 'S', source, models: new Map() }, report)
      expect(flux === null).toBe(report.broken)
      for (const { pointer, reason } of report.faults)
        expect([pointer, reason]).toEqual([expect.stringMatching(/^(\/|$)/), expect.stringMatching(/./)])
    }),
    { numRuns: Number(process.env['FUZZ_RUNS'] ?? 2000) },
  )
})
