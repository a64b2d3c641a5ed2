// inspector: says in one sentence why a context is where it is: on its page, and on the command line.
//
// - `sentence.tsx` says why a context is where it is, as pieces: its page makes links of them, `context show` text.
//   The timeline takes what it knows of times and exceptions from the definition (`pages/context/moves.ts`), since the
//   record of a move names its event alone: the message of an exception is there if a line carried it on.
import type { FC } from 'hono/jsx'
import type { ContextEventsView, ContextView } from '../api/contexts.ts'
import type { JsonObject } from '../model/json/value.ts'
import { graphOf } from './diagram/graph.ts'
import { contextHref } from './parts/links.ts'
import { ClockTime, durationText, relativeText, When } from './parts/time.tsx'

export interface Situation {
  readonly context: ContextView
  /** Events that it waits for; null: not known. */
  readonly awaited: readonly string[] | null
  /** The state that it goes to by itself at its next run, and whether it ends there; null: not known, or none. */
  readonly next: { readonly state: string; readonly isEnd: boolean } | null
  /** When it came to its state, epoch milliseconds. */
  readonly since: number
  readonly now: number
}

/** A piece of the sentence: text, a name in code, a state, a time of day, a time from now, a context, or an aside. */
type Piece =
  | string
  | { readonly code: string }
  | { readonly state: string }
  | { readonly clock: number }
  | { readonly when: number }
  | { readonly contextId: number; readonly name: string }
  | { readonly aside: string }

/** Events that are named; further ones are counted. */
const MAX_NAMED = 4
const MAX_ERROR_CHARACTERS = 300

/** `events` null: not known. `definition` null: it is lost. */
export function situationOf(
  context: ContextView,
  events: ContextEventsView | null,
  { definition, now }: { readonly definition: JsonObject | null; readonly now: number },
): Situation {
  const to = events?.timed?.to
  const target = to !== undefined && definition ? graphOf(definition).states.find(({ name }) => name === to) : undefined
  return {
    context,
    awaited: events && [
      ...events.events.map(({ event }) => event),
      ...(events.else === null ? [] : ['any other event']),
    ],
    next: to === undefined ? null : { state: to, isEnd: target?.isEnd ?? false },
    since: context.executionHistory.at(-1)?.enteredAt ?? context.startedAt,
    now,
  }
}

export const Sentence: FC<Situation> = (situation) => (
  <p class="sentence">
    {sentenceOf(situation).map((piece) => {
      if (typeof piece === 'string') return piece
      if ('code' in piece) return <code>{piece.code}</code>
      if ('state' in piece) return <b>{piece.state}</b>
      if ('clock' in piece) return <ClockTime at={piece.clock} />
      if ('when' in piece) return <When at={piece.when} now={situation.now} />
      if ('aside' in piece) return <span class="faint">{piece.aside}</span>
      return <a href={contextHref(piece.contextId)}>{`${piece.name} ${piece.contextId}`}</a>
    })}
  </p>
)

/** Without markup. `clockText`: how a time is written. */
export const sentenceText = (situation: Situation, clockText: (at: number) => string): string =>
  sentenceOf(situation)
    .map((piece) => {
      if (typeof piece === 'string') return piece
      if ('clock' in piece) return clockText(piece.clock)
      if ('when' in piece) return relativeText(piece.when, situation.now)
      return 'contextId' in piece ? `${piece.name} ${piece.contextId}` : Object.values(piece).join('')
    })
    .join('')

const sentenceOf = (situation: Situation): readonly Piece[] => [
  ...(situation.context.paused ? [pausedText(situation.context)] : []),
  ...standing(situation),
]

function pausedText({ step, pending }: ContextView): string {
  const kept = pending.length === 1 ? 'an event' : `${pending.length} events`
  return `${step?.startedAt ? 'Paused after this step' : 'Paused'}: nothing goes on until it is resumed${
    pending.length > 0 ? `, and it keeps ${kept}` : ''
  }. `
}

/** What a time would do to one that is paused. */
const would = ({ paused }: ContextView, does: string, infinitive: string): string => (paused ? infinitive : does)

function standing(situation: Situation): readonly Piece[] {
  const { context, awaited } = situation
  const { status, step, child, nextRun, startedAt } = context
  const state = { state: context.currentState }
  const end = context.endedAt ?? context.updatedAt
  if (status === 'COMPLETED')
    return ['Completed in ', state, ' at ', { clock: end }, `, after ${durationText(end - startedAt)}.`]
  if (status === 'TERMINATED') return ['Terminated in ', state, ' at ', { clock: end }, '.']
  if (status === 'FAILED') return failed(context, end)
  if (child) {
    const relative = { contextId: child.contextId, name: child.fluxName ?? 'context' }
    const stands: readonly Piece[] = child.state === null ? [] : [', which is in ', { state: child.state }]
    return ['Waits in ', state, ' for its child ', relative, ...stands, '.']
  }
  if (step) return running(context, step)
  if (status === 'WAITING' || (status === 'WAITING_UNTIL' && awaited?.length !== 0)) return waiting(situation)
  if (nextRun !== null) return ['Waits in ', state, ' until a time: ', ...goesOn(situation, nextRun), '.']
  return ['Is about to go on in ', state, '.']
}

function failed({ error, currentState }: ContextView, end: number): readonly Piece[] {
  const place = error?.stack?.match(/\(([^()\n]{1,200}:\d{1,7}:\d{1,7})\)/)?.[1]
  return [
    'Failed in ',
    { state: currentState },
    ' at ',
    { clock: end },
    ...(error ? [': ', { code: shortened(error.message || error.type) }] : []),
    ...(place === undefined ? [] : [{ aside: ` (${place})` }]),
  ]
}

function waiting(situation: Situation): readonly Piece[] {
  const { context, awaited, next, since } = situation
  const events: readonly Piece[] = awaited === null || awaited.length === 0 ? ['an event'] : named(awaited)
  const { nextRun } = context
  const byTime: readonly Piece[] =
    nextRun === null
      ? []
      : next?.isEnd === true
        ? [would(context, 'gives up ', 'would give up '), { when: nextRun }]
        : goesOn(situation, nextRun)
  return [
    'Waits for ',
    ...events,
    ' in ',
    { state: context.currentState },
    ', since ',
    { clock: since },
    ...(byTime.length === 0 ? [] : ['; ', ...byTime]),
    '.',
  ]
}

const goesOn = ({ context, next }: Situation, at: number): readonly Piece[] =>
  next === null
    ? [would(context, 'goes on ', 'would go on '), { when: at }]
    : [would(context, 'goes to ', 'would go to '), { state: next.state }, ' ', { when: at }]

function named(events: readonly string[]): readonly Piece[] {
  const shown = events.slice(0, MAX_NAMED)
  const more = events.length - shown.length
  const before = (index: number) => (index === 0 ? '' : index === shown.length - 1 && more === 0 ? ' or ' : ', ')
  return [...shown.flatMap((code, index) => [before(index), { code }]), more > 0 ? ` or ${more} more` : '']
}

function running(context: ContextView, step: NonNullable<ContextView['step']>): readonly Piece[] {
  const { kind, className, methodName, attempt, maxAttempts, startedAt, nextAttemptAt, timeoutAt, lastError } = step
  const code = { code: `${className ?? ''}.${methodName ?? ''}` }
  const isAgain = nextAttemptAt !== null
  const last: readonly Piece[] = lastError
    ? ['; the last failed ', { when: lastError.at }, ': ', { code: shortened(lastError.message) }]
    : []
  const then: readonly Piece[] = isAgain
    ? ['; ', would(context, 'tries again ', 'would try again '), { when: nextAttemptAt }]
    : timeoutAt === null
      ? []
      : ['; times out ', { when: timeoutAt }]
  return [
    isAgain ? 'Will try ' : startedAt === null ? 'Waits for a free slot for ' : 'Runs ',
    kind === 'script' ? 'its script' : kind === 'invokeFlux' ? 'its child' : code,
    isAgain ? ' again in ' : ' in ',
    { state: context.currentState },
    maxAttempts > 1 ? `, attempt ${attempt} of ${maxAttempts}` : '',
    ...(startedAt === null ? [] : [', since ', { clock: startedAt }]),
    ...last,
    ...then,
    '.',
  ]
}

const shortened = (text: string): string =>
  text.length <= MAX_ERROR_CHARACTERS ? text : `${text.slice(0, MAX_ERROR_CHARACTERS)}…`
