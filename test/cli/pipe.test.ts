// What the program writes into a pipe arrives whole, however slowly the pipe is read, and a reader that goes early ends
// the program quietly.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { createClient } from '../../src/client/client.ts'
import { cleanUp, placeFor, startServer, type Place, type Server } from '../support/server.ts'

/** Bytes that a pipe takes while it isn't read. */
const PIPE_BYTES = 65_536
const CONTEXTS = 150
/** Milliseconds for which the reader leaves the rest alone, once the first byte has come. */
const PAUSE_MS = 500

const manyOf = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at))
const LONG = 'of an order that takes its time '.repeat(10)

/** With them, what tail prints of a context is longer than what a pipe takes whole or not at all. */
const TAGS = manyOf(20, (index) => `${index}${'x'.repeat(240)}`)

const SERVICES = {
  'shop/Order.flux': {
    input: [{ name: 'text', type: 'string' }],
    states: [{ name: 'open', waiting: true, transitions: [{ event: 'go', to: 'open' }] }],
  },
  'shop/Drawn.flux': {
    states: manyOf(80, (index) => ({
      name: `state ${index} ${LONG}`,
      waiting: true,
      transitions: manyOf(3, (way) => ({
        event: `event ${index}, ${way}`,
        to: `state ${(index + 1 + way) % 80} ${LONG}`,
      })),
    })),
  },
  'shop/Large.flux': {
    input: manyOf(400, (index) => ({ name: `input${index}`, type: 'string', comments: LONG })),
    states: manyOf(150, (index) => ({
      name: `state ${index} ${LONG}`,
      waiting: true,
      transitions: [{ event: `event ${index}`, to: `state ${(index + 1) % 150} ${LONG}` }],
    })),
  },
}

let server: Server
let place: Place
let folder: string
beforeAll(async () => {
  place = await placeFor(SERVICES)
  server = await startServer({ program: inject('program'), ...place })
  folder = await mkdtemp(join(tmpdir(), 'actorflux-'))
  const { execute } = createClient({ url: server.url })
  const request = { package: 'shop', fluxName: 'Order', input: { text: 'pear' }, tags: TAGS }
  await Promise.all(Array.from({ length: CONTEXTS }, () => execute(request)))
})
afterAll(async () => {
  await rm(folder, { recursive: true })
  await cleanUp()
})

function start(args: readonly string[], stdout: number | 'pipe', stdin: 'ignore' | 'pipe' = 'ignore') {
  const child = spawn(process.execPath, [inject('program'), ...args], {
    stdio: [stdin, stdout, 'pipe'],
    env: { ...process.env, ACTORFLUX_URL: server.url },
  })
  const errors = child.stderr === null ? Promise.resolve('') : text(child.stderr)
  const ended = once(child, 'close').then(async ([code]) => ({ code: Number(code), errors: await errors }))
  return { child, ended }
}

let pipes = 0

interface LateRead {
  readonly input?: string
  /** Called until the program writes; then it is called some times more, and the program is interrupted. */
  readonly provoke?: () => Promise<unknown>
}

/** Acts again and again, until the promise is settled. */
async function until(settled: Promise<unknown>, act: () => Promise<unknown> = () => sleep(10)): Promise<void> {
  const state = { isSettled: false }
  const end = settled.finally(() => {
    state.isSettled = true
  })
  while (!state.isSettled) await act()
  await end
}

/** Runs the program with a pipe for its output, and reads the pipe late. */
async function readLate(args: readonly string[], { input, provoke }: LateRead = {}) {
  const path = join(folder, `pipe${(pipes += 1)}`)
  await promisify(execFile)('mkfifo', [path])
  const pipe = await open(path, 'r+')
  const { child, ended } = start(args, pipe.fd, input === undefined ? 'ignore' : 'pipe')
  child.stdin?.end(input)
  const first = Buffer.alloc(1)
  // One that ends without a word has closed the pipe, and must not be waited for.
  await Promise.race([
    until(pipe.read(first, 0, 1), provoke),
    ended.then(({ code, errors }) => expect({ code, errors }).toEqual({ code: 0, errors: '' })),
  ])
  if (provoke) for (let more = 0; more < 3; more += 1) await provoke()
  await Promise.race([ended, sleep(PAUSE_MS)])
  if (provoke) child.kill('SIGINT')
  const stream = createReadStream(path)
  await once(stream, 'open')
  await pipe.close()
  return { output: first.toString() + (await text(stream)), ...(await ended) }
}

const rpc = (id: number | null, method: string, params: object) =>
  `${JSON.stringify({ jsonrpc: '2.0', ...(id !== null && { id }), method, params })}\n`

const INITIALIZE = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } }

const MCP =
  rpc(1, 'initialize', INITIALIZE) +
  rpc(null, 'notifications/initialized', {}) +
  rpc(2, 'tools/call', { name: 'getServiceSchema', arguments: { package: 'shop', fluxName: 'Large' } })

/** Moves each context. */
const moveAll = () => createClient({ url: server.url }).sendEvent({ event: 'go', tags: TAGS })

type Case = [name: string, args: string[], input?: string | undefined, provoke?: () => Promise<unknown>]

/** Each line is JSON. */
const lines = (output: string): unknown[] =>
  output
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))

describe('a pipe that is read late has all of', () => {
  test('contexts', async () => {
    const { output, code } = await readLate(['contexts', '--limit', 'all', '--view', 'full', '--json'])
    expect(code).toBe(0)
    expect(output.length).toBeGreaterThan(PIPE_BYTES)
    expect(lines(output)).toHaveLength(CONTEXTS)
  })

  test.each<Case>([
    ['schema', ['schema', 'shop/Large', '--json']],
    ['machine', ['machine', 'shop/Large', '--json']],
    ['mcp', ['mcp'], MCP],
    ['tail', ['tail', '--json'], undefined, moveAll],
  ])('%s', async (_, args, input, provoke) => {
    const { output, code } = await readLate(args, { ...(input && { input }), ...(provoke && { provoke }) })
    expect(code).toBe(0)
    // How much a stream has told until it is interrupted depends on the machine.
    if (!provoke) expect(output.length).toBeGreaterThan(PIPE_BYTES)
    expect(output).toMatch(/\n$/)
    expect(lines(output)).not.toEqual([])
  })

  test.each([
    ['service diagram', () => ['service', 'diagram', 'shop/Drawn'], '</svg>'],
    ['types', () => ['types', place.actors.join('')], '}'],
  ])('%s', async (_, args, end) => {
    const { output, code } = await readLate(args())
    expect(code).toBe(0)
    expect(output.length).toBeGreaterThan(PIPE_BYTES)
    expect(output.trimEnd().endsWith(end)).toBe(true)
  })
})

describe('a reader that goes early ends quietly', () => {
  test.each([
    ['contexts', ['contexts', '--limit', 'all', '--json'], undefined],
    ['machine', ['machine', 'shop/Large'], undefined],
    ['tail', ['tail'], moveAll],
  ])('%s', async (_, args, provoke) => {
    const { child, ended } = start(args, 'pipe')
    child.stdout?.once('data', () => child.stdout?.destroy())
    await until(ended, provoke)
    expect(await ended).toEqual({ code: 0, errors: '' })
  })
})

test('output that can not be written is told', async () => {
  const full = await open('/dev/full', 'w')
  const { ended } = start(['schema'], full.fd)
  expect(await ended).toEqual({
    code: 1,
    errors: expect.stringMatching(/^actorflux: the output is not complete: ENOSPC[^\n]*\n$/),
  })
  await full.close()
})
