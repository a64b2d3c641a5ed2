// Lines of about a kilobyte whose events are refused: what the log has of them is bounded, and holds no data of theirs.
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { openLive, type Live } from '../live.ts'
import type { Logged } from '../support.ts'

const SECRET = 'hunter2hunter2'
const LINES = 200
/** Of a line of the log: it may name the event twice, whose name has at most 1,000 characters. */
const MAX_LOGGED_CHARACTERS = 2500

let live: Live
beforeAll(async () => {
  live = await openLive()
})
afterAll(() => live.close())

const start = async () =>
  ((await live.call('POST', '/flux-api/p/execute', { body: { fluxName: 'Waiter' } })).json as { contextId: number })
    .contextId

async function refusedLines(line: object): Promise<readonly { readonly status: number; readonly problem?: object }[]> {
  const { text } = await live.call('POST', '/flux-api/events', {
    body: `${JSON.stringify(line)}\n`.repeat(LINES),
    type: 'application/x-ndjson',
  })
  return text
    .trim()
    .split('\n')
    .slice(0, -1)
    .map((each) => JSON.parse(each))
}

/** How many refusals a line of the log stands for. */
const refusalsOf = ({ fields }: Logged): number =>
  fields !== undefined && 'leftOut' in fields ? Number(fields.leftOut) : 1

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0)

const KINDS = [
  // That nobody waits for now.
  [409, { event: 'e'.repeat(900), input: { by: 'Ada', password: SECRET } }],
  // With invalid input, and with a value of another type.
  [422, { event: 'close', input: { password: SECRET, note: SECRET.repeat(64) } }],
  [422, { event: 'close', input: { by: { password: SECRET.repeat(64) } } }],
  // With an invalid tag.
  [422, { event: 'close', input: { by: 'Ada', token: SECRET }, tags: ['t'.repeat(900)] }],
] as const

test('events that are refused', async () => {
  const contextId = await start()
  for (const [status, event] of KINDS) {
    const answers = await refusedLines({ contextId, ...event })
    expect(answers.map((answer) => answer.status)).toEqual(Array.from({ length: LINES }, () => status))
    expect(JSON.stringify(answers)).not.toContain(SECRET)
  }
  // At most ten lines are written for each second; then one says how many were left out.
  const logged = () => live.lines.filter(({ message }) => message.startsWith('an event was refused'))
  const refused = KINDS.length * LINES
  await vi.waitFor(() => expect(sum(logged().map(refusalsOf))).toBe(refused), { timeout: 10_000 })
  expect(logged().length).toBeLessThan(refused / 8)
  for (const line of logged()) {
    const text = JSON.stringify(line)
    expect(text.length).toBeLessThan(MAX_LOGGED_CHARACTERS)
    expect(text).not.toContain(SECRET)
  }
  expect((await live.call('GET', `/flux-api/context?contextId=${contextId}`)).json).toMatchObject({
    currentState: 'open',
  })
})
