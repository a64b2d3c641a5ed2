// inspector: says in one sentence why a context is where it is.
import type { Child, FC } from 'hono/jsx'
import type { ContextView } from '../api/get-context.ts'
import { contextHref } from './parts/links.ts'
import { ClockTime, durationText, When } from './parts/time.tsx'

export interface Situation {
  readonly context: ContextView
  /** Events that it waits for; null: not known. */
  readonly awaited: readonly string[] | null
  /** When it came to its state, epoch milliseconds. */
  readonly since: number
  readonly now: number
}

/** Events that are named; further ones are counted. */
const MAX_NAMED = 4
const MAX_ERROR_CHARACTERS = 300

export const Sentence: FC<Situation> = (situation) => (
  <p class="sentence">
    {situation.context.paused && <Paused context={situation.context} />}
    {sayOf(situation)}
  </p>
)

const Paused: FC<{ readonly context: ContextView }> = ({ context: { step, pending } }) => (
  <>
    {step?.startedAt ? 'Paused after this step' : 'Paused'}: nothing goes on until it is resumed
    {pending.length > 0 && `, and it keeps ${pending.length === 1 ? 'an event' : `${pending.length} events`}`}.{' '}
  </>
)

/** What a time would do to one that is paused. */
const would = ({ paused }: ContextView, does: string, infinitive: string): string => (paused ? infinitive : does)

function sayOf(situation: Situation): Child {
  const { context, since, now } = situation
  const { status, step, child, nextRun } = context
  const state = <b>{context.currentState}</b>
  if (status === 'COMPLETED')
    return (
      <>
        Completed in {state} at <ClockTime at={context.endedAt ?? context.updatedAt} />, after{' '}
        {durationText((context.endedAt ?? context.updatedAt) - context.startedAt)}.
      </>
    )
  if (status === 'TERMINATED')
    return (
      <>
        Terminated in {state} at <ClockTime at={context.endedAt ?? context.updatedAt} />.
      </>
    )
  if (status === 'FAILED') return failed(context)
  if (child)
    return (
      <>
        Waits in {state} for its child{' '}
        <a href={contextHref(child.contextId)}>
          {child.fluxName} {child.contextId}
        </a>
        , which is in <b>{child.state}</b>.
      </>
    )
  if (step) return <Running context={context} step={step} now={now} />
  if (status === 'WAITING' || (status === 'WAITING_UNTIL' && situation.awaited?.length !== 0))
    return <Waiting {...situation} since={since} />
  if (nextRun !== null)
    return (
      <>
        Waits in {state} until a time: {would(context, 'goes on', 'would go on')} <When at={nextRun} now={now} />.
      </>
    )
  return <>Is about to go on in {state}.</>
}

function failed({ error, currentState, endedAt, updatedAt }: ContextView): Child {
  const place = error?.stack?.match(/\(([^()\n]{1,200}:\d{1,7}:\d{1,7})\)/)?.[1]
  return (
    <>
      Failed in <b>{currentState}</b> at <ClockTime at={endedAt ?? updatedAt} />
      {error && (
        <>
          : <code>{shortened(error.message || error.type)}</code>
        </>
      )}
      {place !== undefined && <span class="faint"> ({place})</span>}
    </>
  )
}

const Waiting: FC<Situation> = ({ context, awaited, since, now }) => (
  <>
    Waits for {awaited === null || awaited.length === 0 ? 'an event' : named(awaited)} in <b>{context.currentState}</b>,
    since <ClockTime at={since} />
    {context.nextRun !== null && (
      <>
        ; {would(context, 'gives up', 'would give up')} <When at={context.nextRun} now={now} />
      </>
    )}
    .
  </>
)

function named(events: readonly string[]): Child {
  const shown = events.slice(0, MAX_NAMED)
  const more = events.length - shown.length
  return (
    <>
      {shown.map((event, index) => (
        <>
          {index === 0 ? '' : index === shown.length - 1 && more === 0 ? ' or ' : ', '}
          <code>{event}</code>
        </>
      ))}
      {more > 0 && ` or ${more} more`}
    </>
  )
}

const Running: FC<{
  readonly context: ContextView
  readonly step: NonNullable<ContextView['step']>
  readonly now: number
}> = ({ context, step, now }) => {
  const { kind, className, methodName, attempt, maxAttempts, startedAt, nextAttemptAt, timeoutAt, lastError } = step
  const what = kind === 'script' ? 'its script' : kind === 'invokeFlux' ? 'its child' : null
  const name = what ?? <code>{`${className ?? ''}.${methodName ?? ''}`}</code>
  const lead = nextAttemptAt !== null ? 'Will try ' : startedAt === null ? 'Waits for a free slot for ' : 'Runs '
  return (
    <>
      {lead}
      {name} {nextAttemptAt !== null && 'again '}in <b>{context.currentState}</b>
      {maxAttempts > 1 && `, attempt ${attempt} of ${maxAttempts}`}
      {startedAt !== null && (
        <>
          , since <ClockTime at={startedAt} />
        </>
      )}
      {lastError && (
        <>
          ; the last failed <When at={lastError.at} now={now} />: <code>{shortened(lastError.message)}</code>
        </>
      )}
      {nextAttemptAt !== null ? (
        <>
          ; {would(context, 'tries again', 'would try again')} <When at={nextAttemptAt} now={now} />
        </>
      ) : (
        timeoutAt !== null && (
          <>
            ; times out <When at={timeoutAt} now={now} />
          </>
        )
      )}
      .
    </>
  )
}

const shortened = (text: string): string =>
  text.length <= MAX_ERROR_CHARACTERS ? text : `${text.slice(0, MAX_ERROR_CHARACTERS)}…`
