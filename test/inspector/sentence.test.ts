// The sentence that says why a context is where it is.
import { describe, expect, test } from 'vitest'
import type { ContextEventsView, ContextView } from '../../src/api/contexts.ts'
import { Sentence, sentenceText, type Situation } from '../../src/inspector/sentence.tsx'
import { contextView } from '../http/support.ts'
import { onPage } from './on-page.ts'

const NOW = Date.UTC(2026, 0, 2, 14, 30, 0)
const view = (more: Partial<ContextView>): ContextView => ({
  ...contextView(7),
  currentState: 'S',
  startedAt: NOW - 10_000,
  updatedAt: NOW - 2000,
  endedAt: null,
  nextRun: null,
  step: null,
  parent: null,
  child: null,
  paused: false,
  error: null,
  executionHistory: [{ fluxName: 'F', stateName: 'S', stateIndex: 0, enteredAt: NOW - 60_000 }],
  ...more,
})

/** What it waits for, and the state that it goes to by itself. */
const taking = (awaited: readonly string[], to: string | null): ContextEventsView => ({
  contextId: 7,
  state: 'S',
  status: 'WAITING',
  events: awaited.map((event) => ({ event, to: 'T', input: {} })),
  else: null,
  timed: to === null ? null : { at: NOW, to, event: null },
  others: [],
})

const DEFINITION = { states: [{ name: 'Remind', transitions: [{ to: 'Expired' }] }, { name: 'Expired' }] }

const PENDING: ContextView['pending'][number] = {
  eventId: 'e',
  event: 'go',
  contextId: 7,
  fluxName: null,
  tags: [],
  receivedAt: NOW,
  expiresAt: null,
}

const unescaped = (text: string) =>
  text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')

/** As it is read: without its markup. */
function say(
  more: Partial<ContextView>,
  awaited: readonly string[] = [],
  to: string | null = 'Expired',
  definition: Situation['definition'] = DEFINITION,
): string {
  const situation = { context: view(more), events: taking(awaited, to), definition, now: NOW }
  const text = unescaped(onPage(Sentence, situation, NOW).replaceAll(/<[^>]*>/g, ''))
  // The command line says the same.
  expect(sentenceText(situation, (at) => new Date(at).toISOString().slice(11, 19))).toBe(text)
  return text
}

const step = (more: object = {}) => ({
  state: 'S',
  kind: 'invokeCode' as const,
  className: 'payments',
  methodName: 'charge',
  attempt: 1,
  maxAttempts: 1,
  startedAt: NOW - 3000,
  timeoutAt: NOW + 57_000,
  nextAttemptAt: null,
  stepKey: 'k',
  server: 'r',
  lastError: null,
  ...more,
})

const error = (more: Partial<NonNullable<ContextView['error']>> = {}): NonNullable<ContextView['error']> => ({
  type: 'Error',
  message: 'no such carrier',
  className: 'shipping',
  realException: null,
  fluxStackTrace: [],
  ...more,
})

describe('the sentence of', () => {
  test.each<[title: string, Partial<ContextView>, readonly string[], string]>([
    ['WAITING', { status: 'WAITING' }, ['approve', 'reject'], 'Waits for approve or reject in S, since 14:29:00.'],
    ['one event', { status: 'WAITING' }, ['approve'], 'Waits for approve in S, since 14:29:00.'],
    ['three', { status: 'WAITING' }, ['a', 'b', 'c'], 'Waits for a, b or c in S, since 14:29:00.'],
    [
      'many',
      { status: 'WAITING' },
      ['a', 'b', 'c', 'd', 'e', 'f'],
      'Waits for a, b, c, d or 2 more in S, since 14:29:00.',
    ],
    ['events that are not known', { status: 'WAITING' }, [], 'Waits for an event in S, since 14:29:00.'],
    [
      'WAITING_UNTIL with events',
      { status: 'WAITING_UNTIL', nextRun: NOW + 85_260_000 },
      ['approve'],
      'Waits for approve in S, since 14:29:00; gives up in 23 h 41 min.',
    ],
    [
      'WAITING_UNTIL without events',
      { status: 'WAITING_UNTIL', nextRun: NOW + 4000 },
      [],
      'Waits in S until a time: goes to Expired in 4 s.',
    ],
    [
      'RUNNING a function',
      { status: 'RUNNING', step: step() },
      [],
      'Runs payments.charge in S, since 14:29:57; times out in 57 s.',
    ],
    [
      'RUNNING again',
      {
        status: 'RUNNING',
        step: step({
          attempt: 3,
          maxAttempts: 5,
          startedAt: null,
          timeoutAt: null,
          nextAttemptAt: NOW + 4000,
          lastError: { type: 'Error', message: 'ECONNREFUSED', at: NOW - 12_000, stack: '' },
        }),
      },
      [],
      'Will try payments.charge again in S, attempt 3 of 5; the last failed 12 s ago: ECONNREFUSED; tries again in 4 s.',
    ],
    [
      'RUNNING without a slot',
      { status: 'RUNNING', step: step({ startedAt: null, timeoutAt: null, kind: 'script' }) },
      [],
      'Waits for a free slot for its script in S.',
    ],
    [
      'a child',
      { status: 'RUNNING', child: { contextId: 812, fluxName: 'Payment', state: 'open' } },
      [],
      'Waits in S for its child Payment 812, which is in open.',
    ],
    ['RUNNING', { status: 'RUNNING' }, [], 'Is about to go on in S.'],
    ['COMPLETED', { status: 'COMPLETED', endedAt: NOW }, [], 'Completed in S at 14:30:00, after 10 s.'],
    ['TERMINATED', { status: 'TERMINATED', endedAt: NOW }, [], 'Terminated in S at 14:30:00.'],
    ['TERMINATED long ago', { status: 'TERMINATED' }, [], 'Terminated in S at 14:29:58.'],
    [
      'FAILED',
      {
        status: 'FAILED',
        endedAt: NOW,
        error: error({ stack: 'Error: no such carrier\n    at inner (lib/shipping.ts:14:9)\n    at x (y.ts:1:1)' }),
      },
      [],
      'Failed in S at 14:30:00: no such carrier (lib/shipping.ts:14:9)',
    ],
    ['FAILED without a reason', { status: 'FAILED', endedAt: NOW }, [], 'Failed in S at 14:30:00'],
    [
      'FAILED without a message',
      { status: 'FAILED', endedAt: NOW, error: error({ message: '' }) },
      [],
      'Failed in S at 14:30:00: Error',
    ],
    [
      'what is paused',
      { status: 'WAITING', paused: true },
      ['go'],
      'Paused: nothing goes on until it is resumed. Waits for go in S, since 14:29:00.',
    ],
    [
      'what is paused until a time',
      { status: 'WAITING_UNTIL', paused: true, nextRun: NOW + 60_000 },
      ['go'],
      'Paused: nothing goes on until it is resumed. Waits for go in S, since 14:29:00; would give up in 1 min.',
    ],
    [
      'what is paused with its step under way',
      { status: 'RUNNING', paused: true, step: step(), pending: [PENDING, PENDING] },
      [],
      'Paused after this step: nothing goes on until it is resumed, and it keeps 2 events. Runs payments.charge in S, since 14:29:57; times out in 57 s.',
    ],
  ])('%s', (_title, more, awaited, text) => {
    expect(say(more, awaited)).toBe(text)
  })

  test('what waits tells where the time leads, and gives up only where it ends', () => {
    const more: Partial<ContextView> = { status: 'WAITING_UNTIL', nextRun: NOW + 2000 }
    expect(say(more, ['go'], 'Remind')).toBe('Waits for go in S, since 14:29:00; goes to Remind in 2 s.')
    expect(say(more, ['go'], null)).toBe('Waits for go in S, since 14:29:00; goes on in 2 s.')
    expect(say(more, [], 'Remind')).toBe('Waits in S until a time: goes to Remind in 2 s.')
    expect(say({ ...more, paused: true }, ['go'], 'Remind')).toMatch(/; would go to Remind in 2 s\.$/)
    expect(say(more, ['go'], 'Expired')).toMatch(/; gives up in 2 s\.$/)
    // A definition that is lost does not tell what is an end.
    expect(say(more, ['go'], 'Expired', null)).toMatch(/; goes to Expired in 2 s\.$/)
  })

  test('anything is text, and of an endless message only the beginning', () => {
    const hostile = '<script>alert(1)</script>"\'&'
    const more: Partial<ContextView> = {
      status: 'FAILED',
      currentState: hostile,
      error: error({ message: hostile.repeat(100) }),
    }
    const situation = { context: view(more), events: taking([hostile], null), definition: null, now: NOW }
    const text = onPage(Sentence, situation, NOW)
    expect(text).not.toContain('<script>')
    expect(text.length).toBeLessThan(2000)
    expect(say({ status: 'WAITING', currentState: hostile }, [hostile])).toBe(
      `Waits for ${hostile} in ${hostile}, since 14:29:00.`,
    )
  })
})
