// engine/turn: tells the feed of moves what was committed. While the feed has no reader, nothing is made or told.
import type { CompiledFlux } from '../../definitions/flux.ts'
import { isFinished } from '../../model/context.ts'
import type { CommittedMove, MoveFacts, MoveKind, MoveMessage } from '../../model/committed-move.ts'
import type { ContextRecord } from '../../model/record.ts'
import { REDACTED } from '../../model/secret-names.ts'
import type { MoveFeed } from '../../ports/feeds.ts'
import { redactorOf } from '../redact/redactor.ts'
import type { MoveCause, TrackedContext } from './tracked-context.ts'

/** A context that was committed without a turn: of its record, only the head may have been read. */
interface HeadCommit {
  readonly before: ContextRecord
  readonly record: ContextRecord
  readonly flux: CompiledFlux
  /** Whether its data was read, too. */
  readonly isInMemory: boolean
}

type Committed = Pick<TrackedContext, 'before' | 'record' | 'flux' | 'fluxBefore' | 'history' | 'cause'>

export class MoveMessages {
  readonly #feed: MoveFeed | null

  /** `feed`: null: nobody can read. */
  constructor(feed: MoveFeed | null) {
    this.#feed = feed
  }

  /** A turn was committed. */
  onCommitted(context: Committed): void {
    if (this.#feed?.isActive) this.#feed.publish(moveOf(context))
  }

  /** The lease of a step was committed, or the end of its context. */
  onHeadCommitted({ before, record, flux, isInMemory }: HeadCommit): void {
    if (!this.#feed?.isActive) return
    const move = moveOf({ before, record, flux, history: [], cause: null })
    const { message, facts } = move
    // Whether its tags carry secrets is told by data that was not read.
    this.#feed.publish(
      isInMemory || message.tags.length === 0
        ? move
        : {
            ...move,
            message: { ...message, tags: message.tags.map(() => REDACTED) },
            facts: { ...facts, tags: record.tags },
          },
    )
  }

  /** It is unknown whether something was committed. */
  onUnknownOutcome(): void {
    if (this.#feed?.isActive) this.#feed.miss()
  }
}

function moveOf({ before, record, flux, fluxBefore = flux, history, cause }: Committed): CommittedMove {
  const redactor = redactorOf(record, flux)
  const nameOf = (state: number): string => flux.states[state]?.name ?? ''
  const { kind, event, eventId } = causeOf(cause, record)
  const tags = record.tags.map((tag) => redactor.text(tag))
  const message: MoveMessage = {
    contextId: record.id,
    package: record.package,
    fluxName: record.fluxName,
    version: record.version,
    at: record.updatedAt,
    kind,
    event: event === null ? null : redactor.text(event),
    eventId,
    from: before === null ? null : (fluxBefore.states[before.state]?.name ?? ''),
    to: nameOf(record.state),
    entered: history.map(({ to }) => nameOf(to)),
    status: record.status,
    nextRun: record.due,
    tags,
    parent: record.parent?.id ?? null,
  }
  const facts: MoveFacts = {
    key: record.key,
    startState: nameOf(record.startState),
    errorType: record.error?.type ?? null,
    secured: flux.secured,
    ...(record.isPaused && { paused: true }),
    ...(tags.some((tag, place) => tag !== record.tags[place]) && { tags: record.tags }),
  }
  return { message, facts, previousAt: before?.updatedAt ?? null }
}

/** Of several messages of a turn, the one that counts was noted: see `noteCause`. */
function causeOf(cause: MoveCause | null, { status }: ContextRecord): Pick<MoveMessage, 'kind' | 'event' | 'eventId'> {
  if (cause === null) return { kind: isFinished(status) ? 'end' : 'step', event: null, eventId: null }
  switch (cause.type) {
    case 'START':
      return { kind: 'start', event: cause.event, eventId: cause.eventId }
    case 'EVENT':
      return { kind: 'event', event: cause.name, eventId: cause.eventId }
    case 'WITHDRAW':
      return { kind: 'event', event: null, eventId: cause.eventId }
    default:
      return { kind: KINDS[kindNameOf(cause)], event: null, eventId: null }
  }
}

type Other = Exclude<MoveCause['type'], 'START' | 'EVENT' | 'WITHDRAW'> | 'CHILD'

const KINDS: { readonly [type in Other]: MoveKind } = {
  WAKE: 'wake',
  DONE: 'step',
  FAIL: 'step',
  CHILD: 'end',
  TAKE_OVER: 'step',
  RELEASE: 'step',
  OUTGROWN: 'end',
  TERMINATE: 'terminate',
  RETRY: 'retry',
  PAUSE: 'pause',
  RESUME: 'resume',
  TAG: 'tag',
}

/** The end of a child comes as a result without the owner of a lease. */
const kindNameOf = (cause: MoveCause & { readonly type: Exclude<Other, 'CHILD'> }): Other =>
  (cause.type === 'DONE' || cause.type === 'FAIL') && cause.owner === undefined ? 'CHILD' : cause.type
