// A whole server in this process, on a free port and the embedded store, with services for the tests of formats and
// access.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { digestOf, revokeToken, type Token } from '../../src/access/tokens.ts'
import { startServer, type Server } from '../../src/main.ts'
import type { Role } from '../../src/model/caller.ts'
import { readSettings } from '../../src/settings.ts'
import { atEndOfTest } from '../support/at-end.ts'
import { memoryLog, type Logged } from './support.ts'

const waiting = (more: object = {}) => ({
  tags: ['${tag}'],
  input: [{ name: 'tag' }],
  states: [
    {
      name: 'open',
      waiting: true,
      input: [{ name: 'by', required: true }],
      transitions: [
        { event: 'close', to: 'shut' },
        { event: 'hold', to: 'open' },
        { wait: 'duration:3600', to: 'shut' },
      ],
    },
    { name: 'shut' },
  ],
  ...more,
})

const SERVICES: { readonly [file: string]: unknown } = {
  'p/Waiter.flux': waiting(),
  'p/Secret.flux': waiting({ secured: true, triggers: ['alarm'] }),
  'p/Open.flux': {
    triggers: ['alarm'],
    states: [{ name: 'rest', waiting: true, transitions: [{ event: 'never', to: 'rest' }] }],
  },
  /** Every type, so that XML without types has something to be coerced to. */
  'p/Typed.flux': {
    input: [
      { name: 'count', type: 'integer' },
      { name: 'price', type: 'double' },
      { name: 'big', type: 'long' },
      { name: 'flag', type: 'boolean' },
      { name: 'when', type: 'date' },
      { name: 'names', array: true },
      { name: 'numbers', type: 'integer', array: true },
      { name: 'thing', type: 'object' },
      {
        name: 'order',
        type: 'model',
        gloopProperties: [
          { name: 'amount', type: 'integer', required: true },
          { name: 'lines', type: 'integer', array: true },
        ],
      },
      { name: 'note', type: 'string' },
      { name: 'odd name', type: 'integer' },
    ],
    states: [
      {
        name: 'wait',
        waiting: true,
        input: [{ name: 'n', type: 'integer', required: true }],
        transitions: [{ event: 'go', to: 'wait' }],
      },
    ],
  },
  'p/Failing.flux': {
    states: [
      {
        name: 'fail',
        action: {
          type: 'invokeCode',
          className: 'Errors',
          methodName: 'throwException',
          inputs: [{ type: 'set', expression: 'no\u0000way', to: ['message'] }],
        },
      },
    ],
  },
  'p/fns.mjs': 'export function throws() { throw new Error("<no>") }\n',
  'p/Thrower.flux': {
    states: [
      { name: 'fail', action: { type: 'invokeCode', className: 'fns', methodName: 'throws', inputs: [], outputs: [] } },
    ],
  },
  'q/Waiter.flux': waiting(),
}

export interface Live {
  readonly url: string
  readonly lines: readonly Logged[]
  /** Ends the token of that name. */
  revoke(name: string): Promise<void>
  call(method: string, path: string, request?: Request): Promise<Answer>
  /** Writes these services over those that are there, and has them read. */
  reload(services: { readonly [file: string]: unknown }): Promise<void>
  /** `grace`: milliseconds. */
  close(grace?: number): Promise<void>
}

export interface Request {
  readonly body?: string | Uint8Array | object
  readonly type?: string
  readonly accept?: string
  readonly token?: string
  readonly prefer?: string
  readonly ifMatch?: string
  readonly idempotencyKey?: string
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly json: unknown
}

/** Tokens by name: their role, and what else the file has of them. */
export interface Tokens {
  readonly [name: string]: Role | ({ readonly role: Role } & Partial<Token>)
}

/** The text of the token of that name. */
export const tokenOf = (name: string): string => `af_${name.padEnd(43, '-')}`

const fileOf = (tokens: Tokens): string => {
  const entries = Object.entries(tokens).map(([name, given]): Token => {
    const { role, ...more } = typeof given === 'string' ? { role: given } : given
    const sha256 = digestOf(tokenOf(name)).toString('hex')
    return { name, roles: [role], created: Date.now(), expires: null, sha256, ...more }
  })
  return JSON.stringify({ tokens: entries })
}

/** The server takes those tokens from its start on. It is closed at the end of the test that opens it. */
export async function openLive(
  env: { readonly [variable: string]: string } = {},
  services: { readonly [file: string]: unknown } = SERVICES,
  known: Tokens = {},
  options: { readonly paused?: boolean } = {},
): Promise<Live> {
  const folder = await mkdtemp(join(tmpdir(), 'actorflux-http-'))
  await write(folder, services)
  const { log, lines } = memoryLog()
  const tokens = join(folder, 'tokens.json')
  await writeFile(tokens, fileOf(known))
  const settings = readSettings({
    ACTORFLUX_ACTORS: join(folder, 'actors'),
    ACTORFLUX_DATA: join(folder, 'data'),
    ACTORFLUX_PORT: '0',
    ACTORFLUX_TOKENS: tokens,
    ...env,
  })
  const server: Server = await startServer(settings, { log, env, ...options })
  let closing: Promise<void> | undefined
  const live: Live = {
    url: server.url,
    lines,
    revoke: (name) => revokeToken(tokens, name),
    async call(method, path, { body, type, accept, token, prefer, ifMatch, idempotencyKey } = {}) {
      const plain = typeof body === 'object' && !(body instanceof Uint8Array)
      const response = await fetch(server.url + path, {
        method,
        ...(body === undefined ? {} : { body: plain ? JSON.stringify(body) : body }),
        headers: {
          ...(body === undefined ? {} : { 'content-type': type ?? 'application/json' }),
          ...(accept === undefined ? {} : { accept }),
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(prefer === undefined ? {} : { prefer }),
          ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }),
          ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
        },
      })
      const text = await response.text()
      return {
        status: response.status,
        headers: response.headers,
        text,
        json: /[/+]json\b/.test(response.headers.get('content-type') ?? '') ? JSON.parse(text) : undefined,
      }
    },
    async reload(fresh) {
      await write(folder, fresh)
      await server.reload()
    },
    close(grace = 0) {
      closing ??= server.close({ grace }).then(() => rm(folder, { recursive: true, force: true }))
      return closing
    },
  }
  atEndOfTest(() => live.close())
  return live
}

/**
 * A request as bytes, so that the case of headers and odd paths stay as they are; gives the answer when the server has
 * closed the connection.
 */
export function raw(url: string, request: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = ''
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () => socket.write(request))
    socket
      .setEncoding('utf8')
      .on('data', (chunk: string) => {
        answer += chunk
      })
      .on('close', () => resolve(answer))
      .on('error', reject)
  })
}

async function write(folder: string, services: { readonly [file: string]: unknown }): Promise<void> {
  for (const [file, content] of Object.entries(services)) {
    await mkdir(join(folder, 'actors', file, '..'), { recursive: true })
    await writeFile(join(folder, 'actors', file), typeof content === 'string' ? content : JSON.stringify(content))
  }
}
