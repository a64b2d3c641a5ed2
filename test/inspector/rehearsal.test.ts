// Forms that are rehearsed: what the page says, that nothing happens, and the button that does it, for the version that was
// shown. On the real engine.
import { describe, expect, test } from 'vitest'
import { ANONYMOUS, SYSTEM, type Caller } from '../../src/model/caller.ts'
import { openBench, outputs, type Bench } from '../support/engine.ts'
import { openPages } from './pages.ts'

const PAY = {
  tags: ['o-${order}'],
  input: [{ name: 'order' }, { name: 'password', sensitive: true }],
  output: [{ name: 'charged', type: 'integer' }],
  onEnd: { url: 'http://shop.example/${order}', secret: '$secrets.HOOK' },
  states: [
    {
      name: 'Wait',
      waiting: true,
      input: [{ name: 'amount', type: 'integer' }],
      transitions: [
        { event: 'pay', to: 'Charge' },
        { event: 'retry', to: 'Charge' },
        { event: 'help', to: 'Help' },
        { wait: 'duration:60', to: 'Late' },
      ],
    },
    {
      name: 'Charge',
      action: {
        type: 'invokeCode',
        className: 'pay',
        methodName: 'charge',
        inputs: [
          { from: ['order'], to: ['what'] },
          { from: ['password'], to: ['password'] },
        ],
        outputs: [{ from: ['amount'], to: ['charged'] }],
      },
      transitions: [{ to: 'Done' }],
    },
    {
      name: 'Help',
      action: { type: 'invokeFlux', name: 'Helper', inputs: [{ from: ['order'], to: ['about'] }] },
      transitions: [{ to: 'Done' }],
    },
    { name: 'Late', transitions: [{ to: 'Closed' }] },
    { name: 'Closed' },
    { name: 'Done' },
  ],
}
const HOSTILE = '<script>x</script>"\'&amp;'
const FILES = {
  'p/Pay.flux': PAY,
  'p/Helper.flux': {
    input: [{ name: 'about' }],
    states: [{ name: 'Ask', waiting: true, transitions: [{ event: 'answer', to: 'End' }] }, { name: 'End' }],
  },
  'p/Fails.flux': {
    states: [
      {
        name: 'Try',
        action: { type: 'invokeCode', className: 'pay', methodName: 'fail' },
        transitions: [{ to: 'Done' }],
      },
      { name: 'Done' },
    ],
  },
  'p/Rounds.flux': {
    states: [
      { name: 'Begin', transitions: [{ to: 'Rest' }] },
      { name: 'Rest', waiting: true, transitions: [{ event: 'on', to: 'Over' }] },
      { name: 'Over', transitions: [{ to: 'Begin' }] },
    ],
  },
  'p/Hostile.flux': {
    input: [{ name: HOSTILE }],
    states: [
      { name: `from ${HOSTILE}`, waiting: true, transitions: [{ event: HOSTILE, to: `to ${HOSTILE}` }] },
      { name: `to ${HOSTILE}` },
    ],
  },
  'p/Secret.flux': {
    secured: true,
    states: [{ name: 'rest', waiting: true, transitions: [{ event: 'go', to: 'end' }] }, { name: 'end' }],
  },
  'p/pay.mjs': `export const charge = () => ({ amount: 7 })
    export const fail = () => { throw new Error('no carrier') }`,
}
const READER: Caller = { name: 'reader', roles: ['read'] }
const INVOKER: Caller = { name: 'invoker', roles: ['invoke'] }

type Fields = readonly (readonly [string, string])[]

async function open() {
  const bench = await openBench(FILES, { secrets: { HOOK: 'x'.repeat(32) } })
  const as = (caller: Caller) =>
    openPages({ api: (each) => bench.engine.api(each), caller, now: () => bench.clock.now() })
  const { get, post } = as(SYSTEM)
  return { bench, as, get, post }
}

const unescaped = (text: string) =>
  text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')

/** As it is read. */
const read = (html: string) => unescaped(html.replaceAll(/<[^>]*>/g, '')).trim()

const sentences = (text: string) =>
  [...text.matchAll(/<p class="sentence">(.*?)<\/p>/gs)].map(([, html = '']) => read(html))
/** The rows of its table. */
const changes = (text: string) =>
  [...text.matchAll(/<tr data-row[^>]*>(.*?)<\/tr>/gs)].map(([, row = '']) =>
    [...row.matchAll(/<td[^>]*>(.*?)<\/td>/gs)].map(([, cell = '']) => read(cell)),
  )
const facts = (text: string) =>
  [...text.matchAll(/<dt>(.*?)<\/dt><dd>(.*?)<\/dd>/gs)].map(([, name = '', told = '']) => [read(name), read(told)])
/** The way in the diagram. */
const way = (text: string) =>
  [...text.matchAll(/<g class="line [^"]*taken[^"]*"><title>(.*?)<\/title><path/gs)].map(([, title = '']) =>
    read(title),
  )

/** What the button of the page sends. */
function shownForm(text: string): { readonly action: string; readonly fields: Fields } {
  const [form = '', action = ''] =
    /<form[^>]* action="([^"]*)".*?<\/form>/s.exec(text.slice(text.indexOf('id="do"'))) ?? []
  const fields = [...form.matchAll(/type="hidden" name="([^"]*)" value="([^"]*)"/g)]
    .map(([, name = '', value = '']) => [unescaped(name), unescaped(value)] as const)
    .filter(([name]) => name !== '$form')
  return { action: unescaped(action), fields }
}

const rehearse = (fields: Fields = [], verb = 'Do it'): Fields => [...fields, ['$rehearse', verb]]

/** All that could have changed. */
const stored = async (bench: Bench) =>
  JSON.stringify([await bench.listContexts({ status: 'all' }), await bench.listOperations(), await bench.listPending()])

describe('a form that is rehearsed', () => {
  test('says what an event would do, and its button does it', async () => {
    const { bench, get, post } = await open()
    const id = await bench.run('Pay', { order: 'a', password: 'open sesame' })
    expect((await get(`/contexts/${id}`)).text).toContain('name="$rehearse" value="Send pay"')
    const before = await stored(bench)
    const { status, text } = await post(
      `/contexts/${id}/events`,
      rehearse(
        [
          ['event', 'pay'],
          ['input.amount', '5'],
        ],
        'Send pay',
      ),
    )
    expect(status).toBe(200)
    expect(text).toContain('<h1>Rehearsal: Send pay</h1>')
    expect(sentences(text)).toEqual([`Pay ${id} would go from Wait to Charge, and run pay.charge there.`])
    expect(changes(text)).toEqual([['/states/Wait/input/amount', '–', '5']])
    expect(facts(text)).toEqual([['starts in Charge', 'pay.charge {"what":"a","password":"[redacted]"}']])
    // That of the other event goes the same way.
    expect(way(text)).toEqual(['Wait → Charge: pay'])
    expect(text).not.toContain('open sesame')
    expect(await stored(bench)).toBe(before)

    const { action, fields } = shownForm(text)
    expect(await post(action, fields)).toMatchObject({ status: 303, location: `/inspector/contexts/${id}` })
    const view = await bench.until(id, ({ status: now }) => now === 'COMPLETED')
    expect(outputs(view)).toEqual({ charged: 7 })
    // The same button does it once.
    expect((await post(action, fields)).status).toBe(303)
  })

  test('goes on as long as nothing else happens', async () => {
    const { bench, post } = await open()
    const id = await bench.run('Pay', { order: 'a' })
    const { text } = await post(`/contexts/${id}/retry`, rehearse())
    expect(text).toContain('role="alert"')
    const short = await post('/services/p/Pay/start', rehearse([['input.order', 'b']]))
    expect(sentences(short.text)).toEqual([
      'A new Pay would go from the start to Wait, and wait there; it would go on by itself in 1 min.',
    ])
    const long = await post(
      '/services/p/Pay/start',
      rehearse([
        ['input.order', 'b'],
        ['$wait', '86400000'],
      ]),
    )
    expect(sentences(long.text)).toEqual([
      'A new Pay would go from the start to Closed by way of Wait and Late, and complete there.',
    ])
    expect(way(long.text)).toEqual(['Wait → Late: after 1 min', 'Late → Closed'])
    expect(facts(long.text)).toEqual([['sends its end to', 'http://shop.example/b']])
    expect(long.text).toMatch(/<option value="86400000" selected/)
    expect((await post('/services/p/Pay/start', rehearse([['$wait', 'x']]))).status).toBe(400)
    expect(way((await post('/services/p/Rounds/start', rehearse())).text)).toEqual(['Begin → Rest'])
    expect(await bench.countContexts({ status: ['all'] })).toMatchObject({ total: 1 })
  })

  test('of a start has a button that starts', async () => {
    const { bench, post } = await open()
    const typed = [
      ['input.order', 'c'],
      ['tags', 'x, y'],
      ['key', 'k'],
    ] as const
    const { text } = await post('/services/p/Pay/start', rehearse(typed, 'Start'))
    expect(changes(text)).toContainEqual(['/input/order', '–', '"c"'])
    const { action, fields } = shownForm(text)
    expect(fields.filter(([name]) => name.startsWith('$')).map(([name]) => name)).toEqual(['$once'])
    expect((await post(action, fields)).location).toBe('/inspector/contexts/1')
    expect(await bench.getContext({ contextId: 1 })).toMatchObject({ key: 'k', tags: ['x', 'y', 'o-c'] })
    // What is refused is told in the form.
    const refused = await post('/services/p/Pay/start', rehearse(typed, 'Start'))
    expect([refused.status, refused.text.includes('id="start-key" name="key" value="k"')]).toEqual([409, true])
  })

  test('of a retry and of a termination says how the context would end up', async () => {
    const { bench, get, post } = await open()
    const id = await bench.run('Fails')
    await bench.until(id, ({ status }) => status === 'FAILED')
    expect((await get(`/contexts/${id}`)).text).toContain('aria-label="Rehearse: Retry"')
    const { text } = await post(
      `/contexts/${id}/retry`,
      rehearse(
        [
          ['state', 'Done'],
          ['newKey', 'on'],
        ],
        'Retry',
      ),
    )
    expect(sentences(text)).toEqual([`Fails ${id} would go from Try to Done, and complete there.`])
    const again = await post(`/contexts/${id}/retry`, rehearse())
    expect(sentences(again.text)).toEqual([`Fails ${id} would go from Try back to Try, and run pay.fail there.`])
    const { action, fields } = shownForm(text)
    await post(action, fields)
    expect(await bench.getContext({ contextId: id })).toMatchObject({ status: 'COMPLETED', currentState: 'Done' })

    const waiting = await bench.run('Pay', { order: 'a' })
    const ended = await post(`/contexts/${waiting}/terminate`, rehearse([], 'Terminate'))
    expect(sentences(ended.text)).toEqual([`Pay ${waiting} would be terminated in Wait.`])
    expect(facts(ended.text)).toEqual([['sends its end to', 'http://shop.example/a']])
    await post(shownForm(ended.text).action, shownForm(ended.text).fields)
    expect(await bench.getContext({ contextId: waiting })).toMatchObject({ status: 'TERMINATED' })
  })

  test('tells of children', async () => {
    const { bench, post } = await open()
    const id = await bench.run('Pay', { order: 'a' })
    const { text } = await post(`/contexts/${id}/events`, rehearse([['event', 'help']]))
    expect(sentences(text)).toEqual([
      `Pay ${id} would go from Wait to Help, and wait there for its child Helper, which would be in Ask.`,
      'A new Helper would go from the start to Ask, and wait for an event there.',
    ])
    expect(facts(text)).toContainEqual(['starts a child', 'p/Helper {"about":"a"}'])
  })

  test('is rehearsed each time that it is sent', async () => {
    const { bench, post } = await open()
    const id = await bench.run('Pay', { order: 'a' })
    const form = rehearse([
      ['event', 'pay'],
      ['$once', 'a'],
    ])
    expect(sentences((await post(`/contexts/${id}/events`, form)).text)[0]).toContain('would go')
    await bench.terminate({ contextId: id })
    expect((await post(`/contexts/${id}/events`, form)).status).toBe(409)
  })

  test('shows the form again where its call would be refused', async () => {
    const { bench, post } = await open()
    const id = await bench.run('Pay', { order: 'a' })
    const { status, text } = await post(
      `/contexts/${id}/events`,
      rehearse([
        ['event', 'pay'],
        ['input.amount', '<many'],
      ]),
    )
    expect(status).toBe(422)
    expect(text).toMatch(/name="input\.amount" value="&lt;many"/)
    expect(text).toContain('must be a number')
  })

  test('with hostile names shows text', async () => {
    const { bench, post } = await open()
    const id = await bench.run('Hostile', { [HOSTILE]: HOSTILE })
    const { status, text } = await post(`/contexts/${id}/events`, rehearse([['event', HOSTILE]], `Send ${HOSTILE}`))
    expect([status, text.includes('<script>x')]).toEqual([200, false])
    expect(sentences(text)).toEqual([
      `Hostile ${id} would go from from ${HOSTILE} to to ${HOSTILE}, and complete there.`,
    ])
    const { action, fields } = shownForm(text)
    expect((await post(action, fields)).status).toBe(303)
    expect((await bench.getContext({ contextId: id })).status).toBe('COMPLETED')
  })
})

describe('a button that is stale', () => {
  test.each(['events', 'terminate', 'retry'] as const)(
    'of %s tells the moves since, and moves nothing',
    async (name) => {
      const { bench, post } = await open()
      const id = await bench.run('Pay', { order: 'a' })
      if (name === 'retry') await bench.terminate({ contextId: id })
      const { text } = await post(
        `/contexts/${id}/${name}`,
        rehearse([
          ['event', 'pay'],
          ['input.amount', '5'],
        ]),
      )
      const { action, fields } = shownForm(text)
      await bench.advance(10)
      if (name === 'retry') await bench.retry({ contextId: id })
      await bench.sendEvent({ contextId: id, event: 'help' })
      await bench.idle()
      const before = await stored(bench)
      const stale = await post(action, fields)
      expect(stale.status).toBe(412)
      const { version } = await bench.getContext({ contextId: id })
      const notice = read(/<div class="notice bad" role="alert">(.*?)<\/div>/s.exec(stale.text)?.[1] ?? '')
      expect(notice).toContain(
        `Nothing was done: context ${id} has version ${version}, not ${name === 'retry' ? 2 : 1}.`,
      )
      expect(notice).toMatch(/help → Help$/)
      expect(await stored(bench)).toBe(before)
    },
  )

  test('also where the context changed without a move', async () => {
    const { bench, post } = await open()
    const id = await bench.run('Pay', { order: 'a' })
    const { action, fields } = shownForm((await post(`/contexts/${id}/events`, rehearse([['event', 'pay']]))).text)
    await bench.addTags({ contextId: id, tag: ['x'] })
    const { status, text } = await post(action, fields)
    expect([status, text.includes('Moves since it was rehearsed: 0')]).toEqual([412, true])
    expect((await bench.getContext({ contextId: id })).currentState).toBe('Wait')
  })
})

describe('rights', () => {
  test('to rehearse are those to do it', async () => {
    const { bench, as } = await open()
    const id = await bench.run('Pay', { order: 'a' })
    const failed = await bench.run('Fails')
    await bench.until(failed, ({ status }) => status === 'FAILED')
    const forms = [
      [`/contexts/${id}/events`, [['event', 'pay']]],
      [`/contexts/${id}/terminate`, []],
      ['/services/p/Pay/start', []],
    ] as const
    const reader = as(READER)
    for (const page of [`/contexts/${id}`, '/services/p/Pay'])
      expect((await reader.get(page)).text).not.toContain('$rehearse')
    for (const [path, fields] of forms) {
      expect([path, (await reader.post(path, rehearse(fields))).status]).toEqual([path, 403])
      expect([path, (await as(INVOKER).post(path, rehearse(fields))).status]).toEqual([path, 200])
    }
    expect((await as(INVOKER).get(`/contexts/${failed}`)).text).not.toContain('$rehearse')
    expect((await as(INVOKER).post(`/contexts/${failed}/retry`, rehearse())).status).toBe(403)
  })

  test('of secured services need a token', async () => {
    const { bench, as } = await open()
    const id = await bench.run('Secret')
    for (const [path, fields] of [
      [`/contexts/${id}/events`, [['event', 'go']]],
      [`/contexts/${id}/terminate`, []],
      ['/services/p/Secret/start', []],
    ] as const) {
      const { status, text } = await as(ANONYMOUS).post(path, rehearse(fields))
      expect([path, status, text.includes('would')]).toEqual([path, 401, false])
    }
    expect((await bench.getContext({ contextId: id })).version).toBe(1)
  })
})
