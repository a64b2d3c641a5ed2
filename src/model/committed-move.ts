// model: what is told of a commit to those who watch contexts live: a message without data of users, and the facts by
// which it is filtered.
import type { ContextId, Status } from './context.ts'

/** What caused a commit. `end`: a child has ended, or the runtime ended the context. `step`: also its lease. */
export const MOVE_KINDS = [
  'start',
  'event',
  'wake',
  'step',
  'end',
  'retry',
  'pause',
  'resume',
  'tag',
  'terminate',
] as const
export type MoveKind = (typeof MOVE_KINDS)[number]

/** As readers get it. Secrets are redacted. */
export interface MoveMessage {
  readonly contextId: ContextId
  readonly package: string
  readonly fluxName: string
  readonly version: number
  /** Epoch milliseconds. */
  readonly at: number
  readonly kind: MoveKind
  readonly event: string | null
  readonly eventId: string | null
  /** null: the context was created. */
  readonly from: string | null
  readonly to: string
  /** The states that were entered, in order. */
  readonly entered: readonly string[]
  readonly status: Status
  readonly nextRun: number | null
  readonly tags: readonly string[]
  readonly parent: ContextId | null
}

/** What filters ask for besides the message. */
export interface MoveFacts {
  readonly key: string | null
  readonly startState: string
  /** Type of the error of a failed context. */
  readonly errorType: string | null
  /** Whether the service was secured when the context was started, or when it was committed. */
  readonly secured: boolean
  readonly paused?: true
  /** As they are; left out: those of the message. */
  readonly tags?: readonly string[]
}

export interface CommittedMove {
  readonly message: MoveMessage
  readonly facts: MoveFacts
  /** When the version before was committed, epoch milliseconds; null: there was none. */
  readonly previousAt: number | null
}

/** Characters of a message, but for its lists, about. */
const MESSAGE_CHARACTERS = 500

/** Characters that a move takes, about. */
export const sizeOfMove = ({ message: { tags, entered } }: CommittedMove): number =>
  [...tags, ...entered].reduce((sum, { length }) => sum + length + 8, MESSAGE_CHARACTERS)
