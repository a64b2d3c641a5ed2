// inspector: says in one sentence why a context is where it is: on its page, and on the command line.
//
// - `sentence.tsx` says why a context is where it is, as pieces: its page makes links of them, `context show` text.
//   The timeline takes what it knows of times and exceptions from the definition (`pages/context/moves.ts`), since the
//   record of a move names its event alone: the message of an exception is there if a line carried it on.
import type { FC } from 'hono/jsx'
import type { ContextEventsView, ContextView } from '../api/contexts.ts'
import type { Would } from '../api/rehearsal.ts'
import type { JsonObject } from '../model/json/value.ts'
import { graphOf } from './diagram/graph.ts'
import { contextHref } from './parts/links.tsx'
import { cutText } from './parts/texts.ts'
import { clockTime, durationText, relativeText, When } from './parts/time.tsx'

export interface Situation {
  readonly context: ContextView
  /** What it can take. */
  readonly events: ContextEventsView
  /** null: it is lost. */
  readonly definition: JsonObject | null
  /** Epoch milliseconds. */
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

export const Sentence: FC<Situation> = (situation) => told(sentenceOf(situation))

/** What would become of a context. */
export const WouldSentence: FC<{ readonly would: Would }> = ({ would: one }) => told(becoming(one))

const told = (pieces: Pieces) => (
  <p class="sentence">
    {pieces.map((piece) => {
      if (typeof piece === 'string') return piece
      if ('code' in piece) return <code>{piece.code}</code>
      if ('state' in piece) return <b>{piece.state}</b>
      if ('clock' in piece) return clockTime(piece.clock)
      if ('when' in piece) return <When at={piece.when} />
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
const would = ({ paused }: ContextView, does: string, infinitive: string) => (paused ? `would ${infinitive}` : does)

function standing(situation: Situation): Pieces {
  const { context, events } = situation
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
  const awaited = events.events.map(({ event }) => event)
  if (events.else !== null) awaited.push('any other event')
  if (status === 'WAITING' || (status === 'WAITING_UNTIL' && awaited.length > 0)) return waiting(situation, awaited)
  if (nextRun !== null) return say`Waits in ${state} until a time: ${nextMove(situation, nextRun, 'time')}.`
  return say`Is about to go on in ${state}.`
}

function failure({ error }: Pick<ContextView, 'error'>): Pieces {
  if (!error) return []
  const place = error.stack?.match(/\(([^()\n]{1,200}:\d{1,7}:\d{1,7})\)/)?.[1]
  const aside = place === undefined ? '' : { aside: ` (${place})` }
  return say`: ${{ code: cutText(error.message || error.type, MAX_ERROR_CHARACTERS) }}${aside}`
}

function waiting(situation: Situation, awaited: readonly string[]) {
  const { nextRun, currentState, executionHistory, startedAt } = situation.context
  const events = awaited.length === 0 ? 'an event' : named(awaited.map((code) => ({ code })))
  const since = { clock: executionHistory.at(-1)?.enteredAt ?? startedAt }
  const then = nextRun === null ? '' : say`; ${nextMove(situation, nextRun, 'event')}`
  return say`Waits for ${events} in ${{ state: currentState }}, since ${since}${then}.`
}

/** What comes at that time. One that waits for an event gives up, if the next state is an end. */
function nextMove({ context, events: { timed }, definition }: Situation, at: number, waitsFor: 'event' | 'time') {
  const next = graphOf(definition ?? {}).states.find(({ name }) => name === timed?.to)
  if (waitsFor === 'event' && next?.isEnd) return say`${would(context, 'gives up', 'give up')} ${{ when: at }}`
  const to = timed === null ? ' on' : say` to ${{ state: timed.to }}`
  return say`${would(context, 'goes', 'go')}${to} ${{ when: at }}`
}

function named(names: Pieces, word = 'or'): Pieces {
  const shown = names.slice(0, MAX_NAMED)
  const more = names.length - shown.length
  const before = (index: number) => (index === 0 ? '' : index === shown.length - 1 && more === 0 ? ` ${word} ` : ', ')
  return [...shown.flatMap((name, index) => [before(index), name]), more > 0 ? ` ${word} ${more} more` : '']
}

function running(context: ContextView, step: NonNullable<ContextView['step']>) {
  const { attempt, maxAttempts, startedAt, nextAttemptAt, timeoutAt, lastError } = step
  const state = { state: context.currentState }
  const what = stepName(step)
  const count = maxAttempts > 1 ? `, attempt ${attempt} of ${maxAttempts}` : ''
  const since = startedAt === null ? '' : say`, since ${{ clock: startedAt }}`
  const last = lastError
    ? say`; the last failed ${{ when: lastError.at }}: ${{ code: cutText(lastError.message, MAX_ERROR_CHARACTERS) }}`
    : ''
  const where = say` in ${state}${count}${since}${last}`
  if (nextAttemptAt !== null)
    return say`Will try ${what} again${where}; ${would(context, 'tries', 'try')} again ${{ when: nextAttemptAt }}.`
  const runs = startedAt === null ? 'Waits for a free slot for' : 'Runs'
  const limit = timeoutAt === null ? '' : say`; times out ${{ when: timeoutAt }}`
  return say`${runs} ${what}${where}${limit}.`
}

function stepName({ kind, className, methodName }: Omit<Would['steps'][number], 'state' | 'arguments' | 'assumed'>) {
  const code = { code: `${className ?? ''}.${methodName ?? ''}` }
  return kind === 'script' ? 'its script' : kind === 'invokeFlux' ? 'its child' : code
}

function becoming(one: Would): Pieces {
  const { contextId, fluxName, from, to, entered, stopped } = one
  const between = entered.slice(0, -1).map((state) => ({ state }))
  const [origin, back] = [from === null ? 'the start' : { state: from }, from === to ? 'back ' : '']
  const by = between.length === 0 ? '' : say` by way of ${named(between, 'and')}`
  const way = entered.length === 0 ? '' : say`go from ${origin} ${back}to ${{ state: to }}${by}, and `
  const subject = contextId === null ? `A new ${fluxName}` : { contextId, name: fluxName }
  const rest = resting(one, way === '' ? say`in ${{ state: to }}` : 'there')
  return say`${subject} would ${way}${rest}.${stopped ? ' The rehearsal ended there: it made 10,000 moves.' : ''}`
}

/** Where it would come to rest, and how. */
function resting({ status, error, child, steps, nextRun }: Would, where: Piece | Pieces): Pieces {
  if (status === 'COMPLETED') return say`complete ${where}`
  if (status === 'TERMINATED') return say`be terminated ${where}`
  if (status === 'FAILED') return say`fail ${where}${failure({ error })}`
  if (child) return say`wait ${where} for its child ${child.fluxName}, which would be in ${{ state: child.state }}`
  const last = steps.at(-1)
  if (last && status === 'RUNNING') return say`run ${stepName(last)} ${where}`
  if (nextRun !== null) return say`wait ${where}; it would go on by itself ${{ when: nextRun }}`
  return say`${status === 'RUNNING' ? 'run' : 'wait for an event'} ${where}`
}
