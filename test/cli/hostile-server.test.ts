// What a server tells never controls the terminal, whichever command shows it.
import { createServer } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { run } from '../../src/cli/run.ts'
import { NO_TERMINAL } from './world.ts'
import { listening, shut } from '../support/listening.ts'

/** Sets a colour, the title of the window, erases the screen, and turns the text round. */
const EVIL = '\u001b[31m\u001b]0;title\u0007\u009b2J\u202etext'
const SHOWN = '\\u001b[31m\\u001b]0;title\\u0007\\u009b2J\\u202etext'

const DESCRIPTOR = { name: EVIL, type: 'model', gloopProperties: [{ name: EVIL, type: EVIL, value: { [EVIL]: EVIL } }] }
const ATTEMPTED = { type: EVIL, message: EVIL, at: 1, stack: `${EVIL}\n${EVIL}` }
const TIMES = { nextRun: null, startedAt: 1, updatedAt: 1, endedAt: null }
const CONTEXT = {
  ...TIMES,
  id: 1,
  package: EVIL,
  fluxName: EVIL,
  currentState: EVIL,
  status: EVIL,
  tags: [EVIL],
  key: EVIL,
  paused: false,
  pending: [],
  child: null,
  error: ATTEMPTED,
  input: DESCRIPTOR,
  output: DESCRIPTOR,
  parent: { contextId: 2, fluxName: EVIL, state: EVIL },
  step: {
    state: EVIL,
    kind: EVIL,
    className: EVIL,
    methodName: EVIL,
    attempt: 1,
    maxAttempts: 2,
    lastError: ATTEMPTED,
  },
  lastEvent: { event: EVIL, at: 1, eventId: EVIL },
  stateContexts: [{ name: EVIL, input: DESCRIPTOR, output: DESCRIPTOR, transitionContexts: [] }],
  executionHistory: [{ fluxName: EVIL, stateName: EVIL, stateIndex: 0, enteredAt: 1, event: EVIL }],
}
const EVENTS = {
  events: [{ event: EVIL, to: EVIL, input: { properties: { [EVIL]: {} } } }],
  else: null,
  timed: { at: 1, to: EVIL, event: null },
  others: [],
}
const SERVICE = {
  package: EVIL,
  fluxName: EVIL,
  states: [EVIL],
  triggers: [EVIL],
  contexts: { [EVIL]: 1 },
  webhooks: [],
}
const OPERATION = {
  operationId: EVIL,
  do: EVIL,
  status: EVIL,
  matched: 1,
  done: 1,
  changed: 0,
  failed: 1,
  startedAt: 1,
}
const SENT = { contextId: 1, message: EVIL, eventId: EVIL, executions: [], pending: [] }
const MOVE = { contextId: 1, package: EVIL, fluxName: EVIL, at: 1, kind: EVIL, event: EVIL, from: EVIL, status: EVIL }

const ANSWERS: readonly (readonly [path: string, answer: unknown])[] = [
  ['/flux-api/contexts', [CONTEXT]],
  ['/flux-api/context/wait', CONTEXT],
  ['/flux-api/context/events', EVENTS],
  ['/flux-api/context/', { message: EVIL }],
  ['/flux-api/context', CONTEXT],
  ['/flux-api/services', { services: [SERVICE], faults: [], loadedAt: 1 }],
  ['/flux-api/operations', [{ ...OPERATION, filter: {}, errors: [{ contextId: 1, detail: EVIL }], endedAt: 1 }]],
  ['/flux-api/machine', { id: EVIL, initial: EVIL, states: { [EVIL]: { on: { [EVIL]: { target: EVIL } } } } }],
]
const ANSWER = { ...SENT, transitions: [{ contextId: 1, state: EVIL }], ignored: [{ ...CONTEXT, reason: EVIL }] }

const server = createServer(({ url = '', headers }, response) => {
  const json = { 'content-type': 'application/json' }
  if (headers.authorization === 'Bearer refused') {
    response.writeHead(422, { 'content-type': 'application/problem+json' })
    const problem = { type: EVIL, title: EVIL, status: 422, detail: `${EVIL}\n${EVIL}` }
    response.end(JSON.stringify({ ...problem, errors: [{ pointer: `/${EVIL}`, detail: EVIL }] }))
  } else if (url.startsWith('/flux-api/stream')) {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(
      `id: 1\nevent: move\ndata: ${JSON.stringify({ ...MOVE, to: 'other', entered: [], tags: [EVIL] })}\n\n`,
    )
  } else {
    const [, answer = ANSWER] = ANSWERS.find(([path]) => url.startsWith(path)) ?? []
    response.writeHead(200, json).end(JSON.stringify(answer))
  }
})
let url: string
beforeAll(async () => {
  url = `http://127.0.0.1:${await listening(server)}`
})
afterAll(() => shut(server))

async function call(args: readonly string[], env: { readonly [variable: string]: string } = {}) {
  const [out, err, interrupt]: [string[], string[], AbortController] = [[], [], new AbortController()]
  const code = await run([...args], {
    ...NO_TERMINAL,
    env: { ACTORFLUX_URL: url, ...env },
    screen: { columns: 2000, hasColour: false },
    out(line) {
      out.push(line)
      // What follows moves would do so for ever.
      if (args[0] === 'tail') interrupt.abort()
    },
    err: (line) => err.push(line),
    interrupted: () => interrupt.signal,
  })
  return { code, out, err }
}

const COMMANDS = [
  'contexts',
  'context show 1',
  'context retry 1',
  'context pause 1',
  'context resume 1',
  'context terminate 1',
  'context tag 1 a',
  'context wait 1 --status FAILED',
  'event send go',
  'execute a/B',
  'services',
  'operation list',
  'machine a/B',
  'service diagram a/B --format mermaid',
  'tail',
  'tail --json',
  'contexts --json',
  'server resume',
].map((command) => [command])

test.each(COMMANDS)('%s shows them as escapes', async (command) => {
  const { code, out, err } = await call(command.split(' '))
  expect({ code, err }).toEqual({ code: 0, err: [] })
  // JSON of several lines is one piece.
  for (const line of out.flatMap((text) => text.split('\n'))) expect(line).not.toMatch(/[\p{Cc}\u202e]/u)
})

test.each(COMMANDS)('%s tells a refusal in one line', async (command) => {
  const { code, out, err } = await call(command.split(' '), { ACTORFLUX_TOKEN: 'refused' })
  expect({ code, out }).toEqual({ code: 1, out: [] })
  expect(err).toEqual([expect.stringContaining(`${SHOWN} ${SHOWN}`)])
  expect(err[0]).not.toMatch(/[\p{Cc}\u202e]/u)
})

test('for programs they are escapes of JSON: nothing is lost', async () => {
  const { out } = await call(['contexts', '--json'])
  expect(out.map((line): unknown => JSON.parse(line))).toEqual([CONTEXT])
})

test('an answer of another shape is told in one line', async () => {
  const { code, out, err } = await call(['operation', 'show', 'x'])
  expect({ code, out }).toEqual({ code: 1, out: [] })
  expect(err).toEqual([expect.stringMatching(/^actorflux: the answer is not that of actorflux: [^\n]+$/)])
})
