// The commands that speak to a server, against a real one: what they print for people and for programs, and their exit
// codes.
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest'
import type { CliIo } from '../../src/cli/cli-io.ts'
import { cleanUp, placeFor, startServer, type Server } from '../support/server.ts'
import { commandLines } from './world.ts'
import { freePort } from '../support/listening.ts'

const EVIL = 'a\u001b[31mred\u0007\u202e'

const SERVICES = {
  'shop/Order.flux': {
    comment: 'Takes an order.',
    triggers: ['ordered'],
    input: [
      { name: 'customer', type: 'string', required: true },
      { name: 'amount', type: 'double', defaultValue: 1 },
    ],
    output: [{ name: 'paid', type: 'boolean', defaultValue: false }],
    states: [
      {
        name: 'Wait for payment',
        waiting: true,
        input: [{ name: 'sum', type: 'double', required: true }],
        action: { type: 'map', lines: [{ type: 'set', expression: 'true', evaluate: true, to: ['paid'] }] },
        transitions: [
          { event: 'paid', to: 'done' },
          { event: '$else', to: 'Wait for payment' },
        ],
      },
      { name: 'done' },
    ],
  },
  'shop/Hook.flux': {
    webhooks: [{ urlPath: '/hook', httpMethods: ['POST'] }],
    states: [{ name: 'done' }],
  },
  'shop/Charge.flux': {
    input: [{ name: 'card', type: 'string', defaultValue: 'stolen' }],
    states: [
      {
        name: 'charge',
        input: [{ name: 'card', type: 'string' }],
        action: {
          type: 'invokeCode',
          className: 'cards',
          methodName: 'charge',
          inputs: [{ from: ['card'], to: ['card'] }],
        },
        transitions: [{ to: 'charged' }],
      },
      { name: 'charged', waiting: true, transitions: [{ event: 'shipped', to: 'charged' }] },
    ],
  },
  'shop/cards.mjs': `export function charge({ card }) { if (card === 'stolen') throw new Error('card declined') }`,
  'evil/Order.flux': { states: [{ name: EVIL }] },
  'other/Order.flux': { states: [{ name: 'only', waiting: true, transitions: [{ event: 'go', to: 'only' }] }] },
}

let server: Server
let folder: string
beforeAll(async () => {
  server = await startServer({ program: inject('program'), ...(await placeFor(SERVICES)) })
  folder = await mkdtemp(join(tmpdir(), 'actorflux-'))
})
afterAll(async () => {
  await rm(folder, { recursive: true })
  await cleanUp()
})

async function call(args: string[], more: Partial<CliIo> = {}) {
  const { code, out: lines, err } = await commandLines(args, { ACTORFLUX_URL: server.url }, more)
  return { code, out: lines.join('\n'), lines, err: err.join('\n') }
}

const typed = () => Promise.resolve('{"customer":"from stdin"}')
const json = (line: string | undefined) => JSON.parse(line ?? '')

async function started(...more: string[]): Promise<string> {
  const { out, err } = await call(['execute', 'shop/Order', '--input', '{"customer":"Ada"}', ...more])
  expect(err).toBe('')
  expect(out).toMatch(/^\d+$/)
  return out
}

describe('a context from its start to its end', () => {
  test('for people', async () => {
    const id = await started('--tag', 'vip,red', '--key', `k${Date.now()}`)
    const shown = await call(['context', 'show', id])
    expect(shown).toMatchObject({ code: 0, err: '' })
    expect(shown.out).toMatch(/^status +WAITING$/m)
    expect(shown.out).toMatch(/^tags +vip, red$/m)
    expect(shown.out).toContain('  customer: "Ada"')
    const list = await call(['contexts', '--tag', 'vip'])
    expect(list.lines[0]).toMatch(/^ID +SERVICE +STATE +STATUS +UPDATED +NEXT RUN +TAGS$/)
    expect(list.lines.find((line) => line.startsWith(`${id} `))).toContain('shop/Order  Wait for payment  WAITING')
    expect(await call(['context', 'tag', id, 'blue'])).toMatchObject({ code: 0, out: expect.stringContaining('blue') })
    expect(await call(['context', 'untag', id, 'red,blue'])).toMatchObject({ code: 0 })
    const sent = await call(['event', 'send', 'paid', '--context-id', id, '--input', '{"sum":3}'])
    expect(sent).toMatchObject({ code: 0, err: '' })
    expect(sent.lines[1]).toMatch(new RegExp(`^moved +${id} +done$`))
    const waited = await call(['context', 'wait', id, '--status', 'COMPLETED'])
    expect(waited).toMatchObject({ code: 0, out: expect.stringMatching(/^ {2}paid: true$/m) })
  })

  test('for programs: one line of JSON each, as REST gives it', async () => {
    const { lines } = await call(['execute', 'shop/Order', '--input', '{"customer":"Bo"}', '--json'])
    expect(lines).toHaveLength(1)
    const { contextId } = json(lines[0])
    const shown = await call(['context', 'show', String(contextId), '--json'])
    const rest = await (await fetch(`${server.url}/flux-api/context?contextId=${contextId}`)).json()
    expect(json(shown.out)).toEqual(rest)
    const { lines: list } = await call(['contexts', '--flux-name', 'shop/Order', '--json', '--limit', 'all'])
    expect(list.map((line) => json(line).id)).toContain(contextId)
    const snapshot = await call(['context', 'show', String(contextId), '--snapshot', '--json'])
    expect(json(snapshot.out).snapshot.status).toBe('active')
  })

  test('several at once: each refusal is a line, and the others are done', async () => {
    const [one, other] = [await started(), await started()]
    expect(await call(['context', 'terminate', one])).toMatchObject({ code: 0 })
    const { code, lines, err } = await call(['context', 'terminate', one, other])
    expect({ code, lines: lines.length }).toEqual({ code: 1, lines: 1 })
    expect(err).toMatch(new RegExp(`^actorflux: context ${one}: .*ended`))
    expect(json((await call(['context', 'show', other, '--json'])).out).status).toBe('TERMINATED')
  })

  test('inputs come from a file or standard input', async () => {
    await writeFile(join(folder, 'input.json'), '{"customer":"from a file"}')
    const { out: one } = await call(['execute', 'shop/Order', '--input', `@${join(folder, 'input.json')}`])
    const { out: other } = await call(['execute', 'shop/Order', '--input', '-'], { input: typed })
    expect((await call(['context', 'show', one])).out).toContain('customer: "from a file"')
    expect((await call(['context', 'show', other])).out).toContain('customer: "from stdin"')
  })
})

describe('lists', () => {
  test('go over all pages, or to the limit, newest first if asked', async () => {
    const ids = []
    for (let n = 0; n < 4; n += 1) ids.push(await started('--tag', 'listed'))
    const { lines } = await call(['contexts', '--tag', 'listed', '--order', 'desc', '--limit', '3', '--json'])
    expect(lines.map((line) => String(json(line).id))).toEqual(ids.slice(1).toReversed())
    const screen = { columns: 200, hasColour: false }
    expect(await call(['contexts', '--tag', 'listed', '--limit', '3'], { screen })).toMatchObject({
      err: 'There are more: --limit shows them.',
    })
  })

  test('data never controls the terminal, and colour is only where it is wanted', async () => {
    const id = await started('--tag', EVIL)
    const screen = { columns: 400, hasColour: true }
    for (const args of [
      ['contexts', '--limit', 'all'],
      ['context', 'show', id],
    ]) {
      const coloured = await call(args, { screen })
      expect(coloured.out).toContain('\u001b[33mWAITING\u001b[39m')
      expect(coloured.out).toContain('a\\u001b[31mred\\u0007\\u202e')
      const plain = await call(args)
      // oxlint-disable-next-line no-control-regex
      expect(plain.out).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/)
    }
  })

  test('a narrow terminal has lines that fit', async () => {
    await started('--tag', 'a-tag-that-is-really-quite-long-and-needs-room,東京')
    const { lines } = await call(['contexts', '--limit', 'all'], { screen: { columns: 80, hasColour: false } })
    expect(lines.length).toBeGreaterThan(1)
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(80)
  })
})

test('services: all, one, drawn, as a machine, as schemas', async () => {
  const all = await call(['services'])
  expect(all.out).toMatch(/^shop\/Order +2 +ordered/m)
  expect(json((await call(['services', '--json'])).out).services).toHaveLength(5)
  const one = await call(['service', 'show', 'shop/Order'])
  expect(one.out).toContain('Takes an order.')
  expect(one.out).toMatch(/^customer +string +yes/m)
  expect(await call(['service', 'show', 'Order'])).toMatchObject({
    code: 1,
    err: expect.stringContaining('evil, other, shop'),
  })
  const svg = await call(['service', 'diagram', 'shop/Order'])
  expect(svg.err).toBe('')
  expect(svg.out).toMatch(/^<svg [^>]*xmlns="http:\/\/www\.w3\.org\/2000\/svg"/)
  expect(svg.out).toMatch(/<style>.*--page.*<\/style>/s)
  expect(svg.out.trimEnd().endsWith('</svg>')).toBe(true)
  const evil = await call(['service', 'diagram', 'evil/Order'])
  expect(evil.out).toContain('a\\u001b[31mred\\u0007\\u202e')
  // oxlint-disable-next-line no-control-regex
  expect(evil.out).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u0080-\u009f\u202e]/)
  const mermaid = await call(['service', 'diagram', 'shop/Order', '--format', 'mermaid'])
  expect(mermaid.out.split('\n')).toEqual([
    'stateDiagram-v2',
    '  state "Wait for payment" as s0',
    '  state "done" as s1',
    '  [*] --> s0',
    '  s0 --> s1: paid',
    '  s0 --> s0: any other',
    '  s1 --> [*]',
  ])
  expect(json((await call(['machine', 'shop/Order'])).out).initial).toBe('Wait for payment')
  expect(json((await call(['schema', 'shop/Order', '--json'])).out).input.required).toEqual(['customer'])
  expect(await call(['machine', 'Order'])).toMatchObject({ code: 1 })
})

test('webhooks: endpoints, deliveries, replay', async () => {
  await fetch(`${server.url}/api/hook`, { method: 'POST' })
  expect((await call(['webhook', 'list'])).out).toMatch(/^\/api\/hook +POST +shop\/Hook/m)
  const listed = await call(['webhook', 'deliveries', '--url-path', '/hook', '--json'])
  const { deliveryId, outcome } = json(listed.lines[0])
  expect(outcome).toBe('accepted')
  expect((await call(['webhook', 'deliveries'])).out).toContain(deliveryId)
  const replayed = await call(['webhook', 'replay', deliveryId, '--json'])
  expect(json(replayed.out)).toMatchObject({ status: 204 })
  expect(await call(['webhook', 'replay', 'none'])).toMatchObject({ code: 1, out: '' })
})

test('tail prints moves until it is interrupted, and ends with 0', async () => {
  const interruption = new AbortController()
  const lines: string[] = []
  const ended = call(['tail', '--json', '--flux-name', 'shop/Order'], {
    interrupted: () => interruption.signal,
    out: (line) => {
      lines.push(line)
    },
  })
  const ids: number[] = []
  // The stream opens in its own time.
  await vi.waitFor(
    async () => {
      ids.push(Number(await started()))
      expect(lines.length).toBeGreaterThan(0)
    },
    { timeout: 10_000 },
  )
  interruption.abort()
  expect(await ended).toMatchObject({ code: 0, err: '' })
  expect(json(lines[0])).toMatchObject({ kind: 'start', fluxName: 'Order', from: null, to: 'Wait for payment' })
  expect(ids).toContain(json(lines[0]).contextId)
})

async function failed(): Promise<string> {
  const { out } = await call(['execute', 'shop/Charge'])
  await call(['context', 'wait', out, '--status', 'FAILED'])
  return out
}

describe('a rehearsal', () => {
  test('tells what would happen, and nothing does', async () => {
    const id = await started()
    const send = ['event', 'send', 'paid', '--context-id', id, '--input', '{"sum":3}', '--dry-run']
    const { code, lines } = await call(send)
    expect([code, lines]).toEqual([
      0,
      [`${id}  shop/Order  Wait for payment → done: COMPLETED`, '  /output/paid  false → true', expect.any(String)],
    ])
    expect(json((await call([...send, '--json'])).out)).toMatchObject({ dryRun: true, would: [{ to: 'done' }] })
    const start = await call([
      'execute',
      'shop/Charge',
      '--dry-run',
      '--assume',
      '{"steps":{"charge":[{"result":{}}]}}',
    ])
    expect(start.lines).toContain('new  shop/Charge  start → charge → charged: WAITING')
    expect(start.lines).toContain('  assumed: charge, cards.charge {"card":"stolen"}')
    const terminate = await call(['context', 'terminate', '--flux-name', 'shop/Order', '--dry-run'])
    expect(terminate.lines[0]).toMatch(/^of \d+, \d+ would move, 0 start, 0 ignore it$/)
    const [retry, tag] = [await failed(), await call(['context', 'tag', id, 'x', '--dry-run'])]
    expect(tag.lines).toContain('  /tags  [] → ["x"]')
    expect((await call(['context', 'retry', retry, '--dry-run'])).lines[0]).toContain('charge: RUNNING')
    expect(json((await call(['context', 'show', id, '--json'])).out)).toMatchObject({ version: 1, status: 'WAITING' })
    expect(await call([...send.slice(0, -1), '--if-version', '9'])).toMatchObject({ code: 1, out: '' })
    expect(await call([...send.slice(0, -1), '--if-version', '1'])).toMatchObject({ code: 0 })
  })
})

describe('retry of one context', () => {
  test('tells that it failed again', async () => {
    const id = await failed()
    const again = `actorflux: context ${id}: failed again: Error: card declined`
    expect(await call(['context', 'retry', id])).toMatchObject({ code: 1, out: '', err: again })
    const { code, lines, err } = await call(['context', 'retry', id, '--new-key', '--json'])
    expect({ code, err }).toEqual({ code: 1, err: again })
    expect(lines.map(json)).toMatchObject([{ contextId: Number(id), status: 'FAILED', error: { type: 'Error' } }])
  })

  test('takes another state, input, definition and key, and tells the status after it', async () => {
    const id = await failed()
    const to = ['--state', 'charge', '--input', '{"card":"good"}', '--definition', 'current', '--new-key']
    const done = { code: 0, out: `retried context ${id}: WAITING in charged`, err: '' }
    expect(await call(['context', 'retry', id, ...to])).toMatchObject(done)
  })

  test('of all that match, too', async () => {
    const id = await failed()
    const filters = ['--flux-name', 'shop/Charge', '--status', 'FAILED', '--yes']
    expect(await call(['context', 'retry', ...filters, '--state', 'charged'])).toMatchObject({ code: 0, err: '' })
    expect((await call(['context', 'show', id])).out).toMatch(/^state +charged$/m)
  })
})

test('context show says first why a context is where it is, what it can take, and what led there', async () => {
  const { out } = await call(['context', 'show', await started()])
  expect(out).toMatch(/^Waits for .+ in Wait for payment, since \d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ/)
  expect(out).toMatch(/^CAN TAKE +GOES TO +INPUTS\n\S+ +\S.* {2}sum \(required\)$/m)
  expect(out).toMatch(/^ENTERED +STATE +BY\n.+ Wait for payment +start$/m)
})

test('context show prints the snapshot that is asked for', async () => {
  const { out } = await call(['context', 'show', await started(), '--snapshot'])
  expect(out).toMatch(/^snapshot\n\{\n(?:.*\n)* {2}"status": "active"/m)
})

describe('exit codes', () => {
  test('1: an event without effect, with the name that was probably meant', async () => {
    // A service that takes any event knows all names.
    const { url } = await startServer({
      program: inject('program'),
      ...(await placeFor({ 'other/Order.flux': SERVICES['other/Order.flux'] })),
    })
    const send = (...args: string[]) => call(['event', 'send', 'goo', ...args], { env: { ACTORFLUX_URL: url } })
    const hint = "no service knows the event 'goo'; did you mean 'go'?"
    const err = `actorflux: 'goo': moved 0, started 0, ignored by 0; ${hint}`
    expect(await send()).toMatchObject({ code: 1, out: '', err })
    const { out, ...asJson } = await send('--json')
    expect({ ...asJson, answer: json(out) }).toMatchObject({ code: 1, err, answer: { transitions: [], hint } })
    await call(['execute', 'other/Order'], { env: { ACTORFLUX_URL: url } })
    const refused = { code: 1, out: '', err: `actorflux: context 1 doesn't wait for 'goo' in state 'only'; ${hint}` }
    expect(await send('--context-id', '1')).toMatchObject(refused)
  })

  test('1: a token that is not valid', async () => {
    const { code, out, err } = await call(['contexts'], { env: { ACTORFLUX_URL: server.url, ACTORFLUX_TOKEN: 'af_x' } })
    expect({ code, out }).toEqual({ code: 1, out: '' })
    expect(err).toMatch(/^actorflux: [^\n]*; set ACTORFLUX_TOKEN [^\n]*$/)
  })

  test.each([
    ['an unknown context', ['context', 'show', '999999']],
    ['an event that it can not take now', ['event', 'send', 'paid', '--context-id', '999999']],
    ['a service that is not there', ['execute', 'shop/None']],
    ['an input that is not valid', ['execute', 'shop/Order', '--input', '{"customer":7}']],
  ])('1: %s, in one line on stderr', async (_, args) => {
    const { code, out, err } = await call(args)
    expect({ code, out }).toEqual({ code: 1, out: '' })
    expect(err).toMatch(/^actorflux: [^\n]+$/)
  })

  test('1: a wait that is late', async () => {
    const id = await started()
    const { code, out, err } = await call(['context', 'wait', id, '--status', 'COMPLETED', '--timeout', '0'])
    expect({ code, out }).toEqual({ code: 1, out: '' })
    expect(err).toMatch(/^actorflux: [^\n]+$/)
  })

  test('1: an operation that could not change all; a program is told of progress, once each', async () => {
    const ids = [await started('--tag', 'ended'), await started('--tag', 'ended'), await started('--tag', 'ended')]
    for (const id of ids) await call(['event', 'send', 'paid', '--context-id', id, '--input', '{"sum":1}'])
    const filters = ['--tag', 'ended', '--status', 'COMPLETED']
    const { code, err, lines } = await call(['context', 'pause', ...filters, '--yes', '--rate', '5', '--json'])
    expect({ code, err }).toEqual({ code: 1, err: '' })
    expect(json(lines.at(-1))).toMatchObject({ status: 'done', done: 3, changed: 0, failed: 3 })
    const dones = lines.slice(0, -1).map((line): number => json(line).done)
    expect(dones.every((done, place) => place === 0 || done > (dones[place - 1] ?? 0))).toBe(true)
  })

  test('0: a token that is empty is none, and a server on all addresses is on this machine', async () => {
    const { port } = new URL(server.url)
    expect(await call(['services'], { env: { ACTORFLUX_URL: server.url, ACTORFLUX_TOKEN: '' } })).toMatchObject({
      code: 0,
    })
    for (const host of ['0.0.0.0', '::'])
      expect(await call(['services'], { env: { ACTORFLUX_HOST: host, ACTORFLUX_PORT: port } })).toMatchObject({
        code: 0,
      })
  })

  test('2: several settings are wrong, in one line', async () => {
    const { code, out, err } = await call(['services'], { env: { ACTORFLUX_URL: 'nope', ACTORFLUX_PORT: 'x' } })
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toMatch(/^actorflux: ACTORFLUX_PORT [^\n]+; ACTORFLUX_URL [^\n]+ \(see actorflux services --help\)$/)
  })

  test('1: nobody is there', { timeout: 30_000 }, async () => {
    const port = await freePort()
    const { code, out, err } = await call(['services', '--url', `http://127.0.0.1:${port}`])
    expect({ code, out }).toEqual({ code: 1, out: '' })
    expect(err).toMatch(new RegExp(`^actorflux: [^\\n]*${port}[^\\n]*ECONNREFUSED[^\\n]*; is it running\\? [^\\n]*$`))
  })

  test.each([
    [['context', 'show', 'abc'], '"abc" is no id of a context'],
    [['event', 'send', 'go', '--flux-name', 'shop/Order'], '--key must be given with fluxName and package'],
    [['context', 'show'], '<id> is missing'],
    [['context', 'none'], 'there is no command context none'],
    [['contexts', '--status', 'NONE'], '--status must be one of'],
    [['contexts', '--limit', '0'], '--limit must be a positive integer, or all'],
    [['contexts', '--started-after', 'soon'], '--started-after must be a time'],
    [['contexts', 'word'], 'there is no place for "word"'],
    [['contexts', '--none'], 'there is no option --none (see'],
    [['contexts', '--staus', 'FAILED'], "there is no option --staus; did you mean '--status'?"],
    [['serve', '--prot', '1'], "there is no option --prot; did you mean '--port'?"],
    [['context', 'sho', '1'], 'there is no command context sho; did you mean "show"?'],
    [['context', 'terminate', '1', '--rate', '0'], '--rate goes with filters, not with an id'],
    [['context', 'terminate', '1', '--with', '{}'], 'there is no option --with'],
    [['context', 'terminate', '1', '--assume', '{}'], '--assume goes with --dry-run'],
    [['context', 'terminate', '1', '--if-version', 'x'], '--if-version must be a number'],
    [['context', 'terminate', '--all', '--yes', '--if-version', '1'], '--if-version goes with an id'],
    [['context', 'retry', '1', '--with', '{}'], '--with goes with filters, not with an id'],
    [['context', 'pause', '1', '--yes'], '--yes goes with filters, not with an id'],
    [['context', 'tag', '1', 'a', '--with', '{}'], '--with goes with filters, not with an id'],
    [['context', 'tag', 'a', '--all', '--yes', '--with', '{"tags":["b"]}'], '--with has tags, which is given besides'],
    [['context', 'retry', '1', '--definition', 'old'], '--definition must be pinned or current'],
    [['context', 'retry', '1', '--input', '{'], '--input is no JSON'],
    [['service', 'diagram', 'shop/Order', '--json'], 'there is no option --json'],
    [['mcp', '--json'], 'there is no option --json'],
    [['validate', '--port', '1'], 'there is no option --port'],
    [['dev', '--paused'], 'there is no option --paused'],
    [['execute', 'Order'], '"Order" is no service'],
    [['execute', 'shop/Order', '--input', '{'], '--input is no JSON'],
    [['execute', 'shop/Order', '--input', '[]'], '--input must be a JSON object'],
    [['execute', 'shop/Order', '--input', '@/none'], '--input: ENOENT'],
    [['event', 'send', 'a', '--key', 'k'], '--flux-name must be given with key'],
    [
      ['event', 'send', 'a', '--key', 'k', '--flux-name', 'a/b', '--context-id', '1'],
      '--context-id must not be given beside key',
    ],
    [['service', 'diagram', 'shop/Order', '--format', 'png'], '--format must be svg or mermaid'],
    [['context', 'terminate', '--status', 'WAITING'], 'terminate of all that match needs --yes'],
    [['context', 'terminate', '1', '--status', 'WAITING', '--yes'], 'give ids or filters, not both'],
    [['services', '--url', 'ftp://x'], '--url'],
  ])('2: %j', async (args, told) => {
    const { code, out, err } = await call(args)
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toContain(told)
  })
})

test('every command has help, with its options', async () => {
  for (const args of [['contexts'], ['context', 'wait'], ['event', 'send'], ['tail'], ['operation', 'show'], ['mcp']]) {
    const { code, out, err } = await call([...args, '--help'])
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out.startsWith(`Usage: actorflux ${args.join(' ')}`)).toBe(true)
    expect(out).toMatch(/^ {2}--url <url>/m)
  }
})

test('completion: bash completes commands, then options', async () => {
  const { out } = await call(['completion', 'bash'])
  const complete = async (...words: string[]) => {
    const script = `${out}\nCOMP_WORDS=(actorflux ${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}; _actorflux; echo "\${COMPREPLY[@]}"`
    return (await promisify(execFile)('bash', ['-c', script])).stdout.trim().split(' ')
  }
  expect(await complete('cont')).toEqual(['context', 'contexts'])
  expect(await complete('context', 're')).toEqual(['resume', 'retry'])
  expect(await complete('contexts', '--started-')).toEqual(['--started-after', '--started-before'])
  expect(await complete('context', 'show', '7', '--js')).toEqual(['--json'])
  expect((await call(['completion', 'fish'])).out).toContain('complete -c actorflux')
  expect((await call(['completion', 'zsh'])).out).toContain('bashcompinit')
  expect(await call(['completion', 'tcsh'])).toMatchObject({ code: 2 })
})
