// ports: the two feeds of a namespace.
//
// - The feed of commits: notifications between servers: another server may have a caller that waits for the context, or
//   run a step that is no longer needed. They are hints and may be lost: receivers also poll.
// - The feed of moves: what the servers have committed, in an order that is the same for all readers. It keeps the
//   newest messages for a while, and only while there are readers, or were lately.
import type { CommittedMove } from '../api/streams.ts'
import type { ContextId } from '../model/context.ts'

export type { CommittedMove } from '../api/streams.ts'

export interface CommitFeed {
  /** Notifies the other servers to check the context. Never throws. */
  notify(id: ContextId): void
  /** Registers a listener for notifications of all servers, this one included. */
  onNotified(listener: (id: ContextId) => void): void
  /** Asks the other servers to `notify` of their commits to these contexts for a while. Never throws. */
  watch(ids: readonly ContextId[]): void
  /** Registers a listener for the contexts that other servers watch. */
  onWatched(listener: (ids: readonly ContextId[]) => void): void
  /** Notifies the other servers that steps are ready for which this one has no free slot. Never throws. */
  notifyReady(): void
  /** Registers a listener for these notifications of all servers, this one included. */
  onReady(listener: () => void): void
  close(): Promise<void>
}

/** At least so many of the newest messages of the namespace are kept, and at most twice as many. */
export const KEPT_MOVES = 10_000
/** Milliseconds for which messages are kept after the last reader has gone. */
export const UNREAD_MS = 3_600_000

/** Characters of a message, but for its lists, about. */
const MESSAGE_CHARACTERS = 500

/** Characters that a move takes, about. */
export const sizeOfMove = (move: CommittedMove | null): number =>
  move === null
    ? 0
    : [...move.message.tags, ...move.message.entered].reduce((sum, { length }) => sum + length + 8, MESSAGE_CHARACTERS)

/** A message in the feed. */
export interface FeedItem {
  /** Its place in the feed: visible ASCII, opaque to readers. */
  readonly id: string
  /** null: messages are missing here. */
  readonly move: CommittedMove | null
  /** `move.message` as JSON. */
  readonly text: string
}

export interface FeedPage {
  /** Behind the place that was asked for, the oldest first; empty: there are no more. */
  readonly items: readonly FeedItem[]
  /** The place behind the last of them, to go on from. */
  readonly end: string
  /** Whether the place is not known, or messages behind it are kept no more: then the items are the oldest that are. */
  readonly isGap: boolean
  /** Whether there are more behind the last of them. */
  readonly isCut: boolean
}

export interface FeedQuery {
  readonly after: string
  readonly limit: number
  /** Characters after which the page ends, about. It has one message at least. */
  readonly characters: number
}

/** Returns the milliseconds until it wants to be called again: what comes in between is given at once. */
export type FeedListener = (items: readonly FeedItem[]) => number

export interface MoveFeed {
  /** Whether commits are to be published. Until there is a reader, they are not. */
  readonly isActive: boolean
  /** Adds a commit of this server. The caller does not wait for it, and it never throws. */
  publish(move: CommittedMove): void
  /** A commit of this server can't be published: readers learn that messages are missing. Never throws. */
  miss(): void
  /**
   * Makes all servers publish. Gives the present place: what is committed from now on, on any server, is behind it.
   * @throws FluxError `unavailable`
   */
  activate(): Promise<string>
  /**
   * Calls the listener with everything behind that place, in order, until the returned function is called. There is one
   * listener at a time.
   */
  listen(from: string, listener: FeedListener): () => void
  /** Messages behind a place, wherever readers have got it from. @throws FluxError `unavailable` */
  read(request: FeedQuery): Promise<FeedPage>
  /** Whether the first place is before the second. Both must be of this feed. */
  isBefore(one: string, other: string): boolean
  close(): Promise<void>
}
