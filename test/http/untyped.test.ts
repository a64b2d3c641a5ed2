// XML that leaves its types out does what JSON with types does.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openLive, type Live } from './live.ts'

let live: Live
beforeAll(async () => {
  live = await openLive()
})
afterAll(() => live.close())

const xml = (body: string, path: string, method = 'POST') =>
  live.call(method, `/flux-api/${path}`, { body, type: 'application/xml' })

interface Described {
  readonly gloopProperties: { readonly name: string; readonly value: unknown }[]
}
interface View {
  readonly input: Described
  readonly tags: string[]
  readonly startState: string
  readonly stateContexts: { readonly input: Described }[]
}
const valuesOf = ({ gloopProperties }: Described) =>
  Object.fromEntries(gloopProperties.flatMap(({ name, value }) => (value === null ? [] : [[name, value]])))
const view = async (id: unknown) => (await live.call('GET', `/flux-api/context?contextId=${String(id)}`)).json as View

async function started(input: string): Promise<{ readonly [name: string]: unknown }> {
  const { status, text, json } = await xml(
    `<start><fluxName>Typed</fluxName><input>${input}</input></start>`,
    'p/execute',
  )
  expect(status, text).toBe(200)
  return valuesOf((await view((json as { contextId: number }).contextId)).input)
}

describe('inputs of a start', () => {
  test.each<[string, string, object]>([
    [
      'numbers, booleans and dates',
      '<count>5</count><price>1.5</price><big>9007199254740993</big><flag>true</flag><when>2026-01-01T00:00:00Z</when>',
      { count: 5, price: 1.5, big: '9007199254740993', flag: true, when: Date.UTC(2026, 0, 1) },
    ],
    [
      'values laid out over lines',
      '<count>\n  5\n</count><flag> true </flag><when> 2026-01-01 </when><numbers><item> 7 </item></numbers>',
      { count: 5, flag: true, when: Date.UTC(2026, 0, 1), numbers: [7] },
    ],
    [
      'lists',
      '<names><item>a</item><item>2</item></names><numbers>\n  <item>1</item>\n  <item>2</item>\n</numbers>',
      { names: ['a', '2'], numbers: [1, 2] },
    ],
    ['empty lists and objects', '<names/><numbers></numbers><thing/>', { names: [], numbers: [], thing: {} }],
    ['a list that is told as one value', '<numbers>7</numbers>', { numbers: [7] }],
    [
      'models',
      '<order><amount>12</amount><lines><item>3</item></lines></order>',
      { order: { amount: 12, lines: [3] } },
    ],
    [
      'several elements of one name',
      '<numbers>1</numbers><note>x</note><numbers>2</numbers><names>a</names>',
      { numbers: [1, 2], note: 'x', names: ['a'] },
    ],
    ['an object that has only items', '<thing><item>1</item></thing>', { thing: { item: '1' } }],
    ['an object of texts', '<thing><a>1</a><b><c/></b></thing>', { thing: { a: '1', b: { c: '' } } }],
    ['texts as they are', '<note> 007 </note>', { note: ' 007 ' }],
    ['an empty text', '<note/>', { note: '' }],
    ["a name that is none of XML's", '<entry name="odd name">5</entry>', { 'odd name': 5 }],
    [
      'types beside none',
      '<count type="number">5</count><note type="string">x</note><flag type="null"/>',
      { count: 5, note: 'x' },
    ],
  ])('%s', async (_, input, values) => expect(await started(input)).toEqual(values))

  test.each([
    ['a number that is none', '<count>five</count>', '/input/count'],
    ['an empty number', '<count/>', '/input/count'],
    ['a number with a fraction', '<count>1.5</count>', '/input/count'],
    ["text with a number's type", '<note type="number">5</note>', '/input/note'],
    ['a missing field of a model', '<order/>', '/input/order/amount'],
    ['a field that is not declared', '<other>1</other>', '/input/other'],
  ])('refuses %s', async (_, input, pointer) => {
    const { status, json } = await xml(`<start><fluxName>Typed</fluxName><input>${input}</input></start>`, 'p/execute')
    expect(status).toBe(422)
    expect(json).toMatchObject({ errors: [{ pointer }] })
  })

  test('fields, tags and names are trimmed, and a single tag is a list', async () => {
    const { json, text } = await xml(
      '<start>\n<fluxName>\n Waiter\n</fluxName><startState> open </startState><tags> a </tags></start>',
      'q/execute',
    )
    expect(await view((json as { contextId: number }).contextId), text).toMatchObject({
      fluxName: 'Waiter',
      startState: 'open',
      tags: ['a'],
    })
    const { json: sent } = await xml(
      '<e><event> close </event><input><by>x</by></input><tags>\n a\n</tags><tags>b</tags></e>',
      'event',
    )
    expect(sent).toMatchObject({ transitions: [{ state: 'shut' }] })
  })

  test('inputs may be called item', async () => {
    const { json } = await xml('<start><fluxName>Typed</fluxName><input><item>1</item></input></start>', 'p/execute')
    expect(json).toMatchObject({ status: 422, errors: [{ pointer: '/input/item' }] })
  })

  test('an unknown type is 400', async () => {
    expect((await xml('<start><fluxName type="name">Typed</fluxName></start>', 'p/execute')).status).toBe(400)
  })

  test('fields left empty count as left out', async () => {
    const { json } = await xml(
      '<start><fluxName>Waiter</fluxName><startState/><input/><tags>\n</tags></start>',
      'q/execute',
    )
    expect(await view((json as { contextId: number }).contextId)).toMatchObject({ startState: 'open', tags: [] })
  })

  test('an object in place of a text is refused, whatever it is like', async () => {
    for (const event of [{ length: { toString: '' } }, { length: 5, name: 'x' }, { valueOf: null, toString: null }]) {
      expect((await live.call('POST', '/flux-api/event', { body: { event } })).status).toBe(400)
      expect((await live.call('POST', '/flux-api/p/execute', { body: { fluxName: event } })).status).toBe(400)
    }
  })

  test('JSON is held to its types all the same', async () => {
    const { status } = await live.call('POST', '/flux-api/p/execute', {
      body: { fluxName: 'Typed', input: { count: '5' } },
    })
    expect(status).toBe(422)
  })
})

const waits = async (tags: string) => {
  const { json } = await xml(`<x><fluxName>Typed</fluxName>${tags}</x>`, 'p/execute')
  return (json as { contextId: number }).contextId
}

describe('a Content-Type', () => {
  test.each<[string, number]>([
    ['application/json; Charset=UTF-16', 415],
    ['application/json;charset="utf-16"', 415],
    ['application/json; charset=latin1', 415],
    ['application/json; CHARSET="UTF-8"', 200],
    ['application/json; charset=ascii', 200],
    ['application/json; charset=us-ascii', 200],
    ['application/x+json; action="urn:x; charset=utf-16"', 200],
    ['application/json; x="', 200],
  ])('%s: %i', async (type, status) => {
    expect((await live.call('POST', '/flux-api/event', { body: '{"event":"nobody"}', type })).status).toBe(status)
  })
})

describe('an event', () => {
  test('to one context brings typed inputs', async () => {
    const id = await waits('')
    const { status, text } = await xml('<e><event>go</event><input><n>5</n></input></e>', `event?contextId=${id}`)
    expect(status, text).toBe(200)
    expect((await xml('<e><event>go</event><input><n>x</n></input></e>', `event?contextId=${id}`)).status).toBe(422)
    expect(
      (await live.call('POST', `/flux-api/event?contextId=${id}`, { body: { event: 'go', input: { n: '5' } } })).status,
    ).toBe(422)
  })

  test('to all brings them, too', async () => {
    const id = await waits('<tags><item>all</item></tags>')
    const { json } = await xml('<e><event>go</event><input><n>6</n></input><tags><item>all</item></tags></e>', 'event')
    expect(json).toMatchObject({ transitions: [{ contextId: id, state: 'wait' }], ignored: [] })
  })

  test('answers a list of one element, and nothing else, like JSON', async () => {
    for (const body of ['<e><item>1</item></e>', '<e>text</e>', '<e/>'])
      expect((await xml(body, 'event')).status).toBe(400)
  })

  test('is read in UTF-8 alone', async () => {
    expect((await xml('<?xml version="1.0" encoding="ISO-8859-1"?><e><event>x</event></e>', 'event')).status).toBe(415)
    expect(
      (
        await live.call('POST', '/flux-api/event', {
          body: Uint8Array.from([60, 97, 62, 0xe4, 60, 47, 97, 62]),
          type: 'text/xml',
        })
      ).status,
    ).toBe(400)
    expect(
      (
        await live.call('POST', '/flux-api/event', {
          body: '\uFEFF<?xml version="1.0" encoding="UTF-8"?>\n<e><event>x</event></e>',
          type: 'application/vnd.shop+xml; charset=UTF-8',
        })
      ).status,
    ).toBe(200)
  })
})

const execute = (key: string) => xml(`<s><fluxName>Waiter</fluxName>${key}</s>`, 'p/execute')

test('a key is taken as it is, byte by byte', async () => {
  const ids = new Map<string, unknown>()
  for (const key of ['k', ' k', 'k ', ' ', '007', '\n k']) {
    const { json, status, text } = await execute(`<key>${key}</key>`)
    expect(status, text).toBe(200)
    ids.set(key, (json as { contextId: number }).contextId)
  }
  expect(new Set(ids.values()).size).toBe(ids.size)
  for (const [key, contextId] of ids) {
    expect((await live.call('GET', `/flux-api/context?contextId=${String(contextId)}`)).json).toMatchObject({ key })
    const sent = await xml(
      `<e><event> hold </event><key>${key}</key><fluxName> Waiter </fluxName><package>p</package><input><by>x</by></input></e>`,
      'event',
    )
    expect(sent.json).toMatchObject({ transitions: [{ contextId }] })
  }
  // Not left out: it is empty.
  expect((await execute('<key/>')).status).toBe(422)
  expect((await execute('<key type="null"/>')).status).toBe(200)
})
