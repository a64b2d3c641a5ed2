// inspector: says in one sentence why a context is where it is: on its page, and on the command line.
//
// - `sentence.tsx` says why a context is where it is, as pieces: its page makes links of them, `context show` text.
//   The timeline takes what it knows of times and exceptions from the definition (`pages/context/moves.ts`), since the
//   record of a move names its event alone: the message of an exception is there if a line carried it on.
import type { FC } from 'hono/jsx'
import type { ContextEventsView, ContextView } from '../api/contexts.ts'
import type { JsonObject } from '../model/json/value.ts'
import { graphOf } from './diagram/graph.ts'
import { contextHref } from './parts/links.tsx'
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
type Pieces = readonly Piece[]

/** The pieces of a template, in their order. */
const say = (texts: TemplateStringsArray, ...between: readonly (Piece | Pieces)[]): Pieces =>
  texts.flatMap((text, index) => [text, between[index] ?? '']).flat()

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

const sentenceOf = (situation: Situation): Pieces => [
  ...(situation.context.paused ? pausedText(situation.context) : []),
  ...standing(situation),
]

function pausedText({ step, pending }: ContextView): Pieces {
  const events = pending.length === 1 ? 'an event' : `${pending.length} events`
  const kept = pending.length > 0 ? `, and it keeps ${events}` : ''
  return say`Paused${step?.startedAt ? ' after this step' : ''}: nothing goes on until it is resumed${kept}. `
}

/** What a time would do to one that is paused. */
const would = ({ paused }: ContextView, does: string, infinitive: string): string => (paused ? infinitive : does)

function standing(situation: Situation): Pieces {
  const { context, awaited } = situation
  const { status, step, child, nextRun, startedAt } = context
  const state = { state: context.currentState }
  const end = context.endedAt ?? context.updatedAt
  const clock = { clock: end }
  if (status === 'COMPLETED') return say`Completed in ${state} at ${clock}, after ${durationText(end - startedAt)}.`
  if (status === 'TERMINATED') return say`Terminated in ${state} at ${clock}.`
  if (status === 'FAILED') return say`Failed in ${state} at ${clock}${failure(context)}`
  if (child) {
    const relative = { contextId: child.contextId, name: child.fluxName ?? 'context' }
    const where = child.state === null ? '' : say`, which is in ${{ state: child.state }}`
    return say`Waits in ${state} for its child ${relative}${where}.`
  }
  if (step) return running(context, step)
  if (status === 'WAITING' || (status === 'WAITING_UNTIL' && awaited?.length !== 0)) return waiting(situation)
  if (nextRun !== null) return say`Waits in ${state} until a time: ${goesOn(situation, nextRun)}.`
  return say`Is about to go on in ${state}.`
}

function failure({ error }: ContextView): Pieces {
  if (!error) return []
  const place = error.stack?.match(/\(([^()\n]{1,200}:\d{1,7}:\d{1,7})\)/)?.[1]
  const aside = place === undefined ? '' : { aside: ` (${place})` }
  return say`: ${{ code: shortened(error.message || error.type) }}${aside}`
}

function waiting(situation: Situation): Pieces {
  const { context, awaited, next, since } = situation
  const { nextRun, currentState } = context
  const events = awaited === null || awaited.length === 0 ? 'an event' : named(awaited)
  const givesUp = would(context, 'gives up', 'would give up')
  const then =
    nextRun === null
      ? ''
      : next?.isEnd === true
        ? say`; ${givesUp} ${{ when: nextRun }}`
        : say`; ${goesOn(situation, nextRun)}`
  return say`Waits for ${events} in ${{ state: currentState }}, since ${{ clock: since }}${then}.`
}

function goesOn({ context, next }: Situation, at: number): Pieces {
  const goes = would(context, 'goes', 'would go')
  return next === null ? say`${goes} on ${{ when: at }}` : say`${goes} to ${{ state: next.state }} ${{ when: at }}`
}

function named(events: readonly string[]): Pieces {
  const shown = events.slice(0, MAX_NAMED)
  const more = events.length - shown.length
  const before = (index: number) => (index === 0 ? '' : index === shown.length - 1 && more === 0 ? ' or ' : ', ')
  return [...shown.flatMap((code, index) => [before(index), { code }]), more > 0 ? ` or ${more} more` : '']
}

function running(context: ContextView, step: NonNullable<ContextView['step']>): Pieces {
  const { kind, className, methodName, attempt, maxAttempts, startedAt, nextAttemptAt, timeoutAt, lastError } = step
  const state = { state: context.currentState }
  const code = { code: `${className ?? ''}.${methodName ?? ''}` }
  const what = kind === 'script' ? 'its script' : kind === 'invokeFlux' ? 'its child' : code
  const count = maxAttempts > 1 ? `, attempt ${attempt} of ${maxAttempts}` : ''
  const since = startedAt === null ? '' : say`, since ${{ clock: startedAt }}`
  const last = lastError
    ? say`; the last failed ${{ when: lastError.at }}: ${{ code: shortened(lastError.message) }}`
    : ''
  if (nextAttemptAt !== null) {
    const tries = would(context, 'tries', 'would try')
    return say`Will try ${what} again in ${state}${count}${since}${last}; ${tries} again ${{ when: nextAttemptAt }}.`
  }
  const runs = startedAt === null ? 'Waits for a free slot for' : 'Runs'
  const limit = timeoutAt === null ? '' : say`; times out ${{ when: timeoutAt }}`
  return say`${runs} ${what} in ${state}${count}${since}${last}${limit}.`
}

const shortened = (text: string): string =>
  text.length <= MAX_ERROR_CHARACTERS ? text : `${text.slice(0, MAX_ERROR_CHARACTERS)}…`
