// ports: where contexts are kept. An adapter stores and indexes; policy and encoding are its callers'.
import type { ContextId } from '../model/context.ts'
import type { ListedSpace, RowSpace, RowWrite, StoredRow } from '../model/rows.ts'
import type { Standstill } from '../model/standstill.ts'
import type { NotesPlace } from './step-watch.ts'

/** A context as an adapter sees it: opaque parts, and the few facts it indexes. */
export interface StoredContext {
  readonly id: ContextId
  /** 1 when created, one more with each write. */
  readonly version: number
  /** Index keys: what queries find it by. */
  readonly indexKeys: readonly string[]
  /** When it must be woken, epoch milliseconds. */
  readonly due: number | null
  /** Boot id of the server that runs a step of it. */
  readonly owner: string | null
  /** When it finished, epoch milliseconds. */
  readonly endedAt: number | null
  /** Id of the context that waits for its end: it isn't purged while a notification to that one is outstanding. */
  readonly parent: ContextId | null
  /** Named texts, opaque to the adapter. */
  readonly parts: { readonly [name: string]: string }
}

export interface Write {
  /** The whole next context; its version is `previous` + 1. */
  readonly context: StoredContext
  /** The version it was decided on; 0: it must not exist yet. */
  readonly previous: number
  /** Names of the parts that differ from what is stored (those not in `context.parts` any more are removed). */
  readonly changed: readonly string[]
  /** Rows to append to its log. */
  readonly log: readonly string[]
  /** Contexts that must look at their relatives: each becomes due at once, and stays so until it answers. */
  readonly notifies: readonly ContextId[]
  /** True when this write answers a notification of its own context. */
  readonly answersNotification: boolean
  /**
   * An index key that no other context of the partition may have after the commit. Each write that gives a context such
   * a key must say so; one that leaves it with the key needn't. A context that ends as it begins may lack it.
   */
  readonly unique?: string
}

/** What is made true at once, or not at all. All of it is in one partition. */
export interface CommitRequest {
  readonly writes: readonly Write[]
  /** Each row at most once. Guards compare with what was there before the commit. */
  readonly rows?: readonly RowWrite[] | undefined
  /** How many times in a row others were faster; one who loses often is let go first for a moment. */
  readonly lost?: number | undefined
}

/**
 * Nothing was written: this context has another version now (or exists, or is gone). `current` is the context as it is,
 * where that costs nothing more.
 */
export interface StaleOutcome {
  readonly ok: false
  readonly stale: ContextId
  readonly current?: StoredContext | null
}

/** What is made true at once, or not at all. All of it is in one partition. */
export interface CommitRequest {
  readonly writes: readonly Write[]
  /** Each row at most once. Guards compare with what was there before the commit. */
  readonly rows?: readonly RowWrite[] | undefined
  /** How many times in a row others were faster; one who loses often is let go first for a moment. */
  readonly lost?: number | undefined
}

/** Nothing was written. Of several reasons, the first of these is told. */
export type CommitRefusal =
  | StaleOutcome
  /** Ids of these contexts to be created were given out ahead, and others got later ones since. */
  | { readonly ok: false; readonly overtaken: readonly ContextId[] }
  /** The guard of this row failed. `value`: what is there; null: nothing. */
  | {
      readonly ok: false
      readonly row: { readonly space: RowSpace; readonly key: string; readonly value: string | null }
    }
  /** This unique index key is another context's. */
  | { readonly ok: false; readonly unique: { readonly key: string; readonly by: ContextId } }

export type CommitOutcome =
  /**
   * `lookups`: the commit gave a context an index key that it didn't have, and its partition has rows in the space
   * `lookups`, expired ones included. It may be there more often.
   */
  { readonly ok: true; readonly lookups?: true } | CommitRefusal

export interface RowQuery {
  /** Left out: all of them. */
  readonly partition?: number | undefined
  readonly space: ListedSpace
  /** What the keys begin with; all of them when empty. */
  readonly prefix: string
  /** Only rows behind this one, which needn't be there any more. */
  readonly after?: Pick<StoredRow, 'key' | 'partition'> | undefined
  readonly limit: number
}

export interface PageRequest {
  readonly limit: number
  /** Only ids above this one. */
  readonly after?: ContextId | undefined
  /** How many matches to pass over. */
  readonly skip?: number | undefined
}

export interface ListQuery extends PageRequest {
  /** Words that they all have. */
  readonly all: readonly string[]
  /** Words of which they have none. */
  readonly without?: readonly string[] | undefined
  /**
   * The list ends early, after one context at least, once the texts of its contexts have so many characters together.
   */
  readonly characters?: number | undefined
}

/** Who runs a step of a context. */
export interface AbandonedLease {
  readonly id: ContextId
  readonly owner: string
}

export interface Store {
  /**
   * Raised whenever what was read before may not be so any more: the store was away, and what came back may lack the
   * last of it.
   */
  readonly incarnation: number
  /** A context is kept in partition `id % partitions`. Only contexts of one partition can be written in one commit. */
  readonly partitions: number
  /**
   * Gives out at least `count` ids of a partition that nobody had before: `first` and those that follow it in steps of
   * `partitions`, all higher than any of that partition given out earlier. Durable before it resolves. With more than
   * `count`, a commit that creates a context under one of them is refused once others were given ids of that partition.
   */
  reserveIds(request: { count: number; partition: number }): Promise<{ first: ContextId; count: number }>
  /** The highest id of any context so far; 0 if there was none. */
  highestId(): Promise<ContextId>
  /** Why it can't serve at present, in words for people; null when it can. */
  trouble(): string | null
  /** The context as last committed; null if there is none. */
  load(request: { id: ContextId }): Promise<StoredContext | null>
  /** The version that `load` would give; null if there is no such context. */
  version(request: { id: ContextId }): Promise<number | null>
  /**
   * Makes all writes true at once, or none. Resolves when they are as durable as the store promises.
   * @throws FluxError `unavailable` when the store is out of reach or can't write; `inDoubt`: all may have become true
   * all the same, or may yet. TypeError when contexts and rows are of several partitions, or a row can't be kept
   */
  commit(request: CommitRequest): Promise<CommitOutcome>
  /** The row as last committed; null when there is none, or it is expired by the store's time. */
  readRow(request: { partition: number; space: RowSpace; key: string }): Promise<StoredRow | null>
  /**
   * Rows that aren't expired, by the bytes of their keys, then by partition. Fewer than `limit` only when there are no
   * more.
   */
  listRows(query: RowQuery): Promise<StoredRow[]>
  /** How many rows a space has in all partitions. Cheap; expired ones count until they are swept. */
  countRows(request: { space: RowSpace }): Promise<number>
  /**
   * Deletes rows of all spaces that expired up to `now`, and by the store's time, at most `limit` of each partition;
   * gives the number.
   */
  sweepRows(request: { now: number; limit: number }): Promise<number>
  /** The highest id of a context that has the index key, in one partition or in all; null if there is none. */
  newest(request: { key: string; partition?: number }): Promise<ContextId | null>
  /** The newest rows of a context's log, oldest of them first, at most `limit`. */
  log(request: { id: ContextId; limit: number }): Promise<string[]>
  /**
   * Whole contexts, by ascending id. What is passed over isn't read, and however much that is, others are served
   * meanwhile. Some may have been purged meanwhile: only when none come are there no more.
   */
  list(request: ListQuery): Promise<StoredContext[]>
  /** Ids of contexts that have any of the keys, ascending, each once, up to and including `upTo`. */
  waitingFor(request: { any: readonly string[]; upTo: ContextId } & PageRequest): Promise<ContextId[]>
  /**
   * Contexts that are due or notified, up to `limit` of each partition, earliest first. Each is hidden from further claims
   * for `hideFor` milliseconds, or until it is written again: a claim that comes to nothing is thus repeated. `next` is
   * when the next one will be claimable, or when to look again, epoch milliseconds.
   */
  claimDue(request: { now: number; limit: number; hideFor: number }): Promise<{ ids: ContextId[]; next: number | null }>
  /**
   * Contexts whose owner no longer lives, and those with one of the owners `ready`, who never do: up to `limit` of each
   * partition, those first that were written first, each with that owner. They are hidden from further claims as with
   * `claimDue`. `owner` is the caller's own boot id.
   */
  claimAbandoned(request: {
    owner: string
    ready?: readonly string[]
    limit: number
    hideFor: number
  }): Promise<AbandonedLease[]>
  /** Contexts whose step that server runs, as the store knows it; those that are out of reach at present left out. */
  leasedTo(request: { owner: string }): Promise<ContextId[]>
  /**
   * Says that this server lives. False when others have taken it for dead: what it owned is theirs, and it must go on
   * under another boot id.
   */
  heartbeat(request: { owner: string }): Promise<boolean>
  /** Where a server's watchdog writes what `standstill` reads. */
  readonly notes: NotesPlace
  /** What that server wrote down when its event loop stood still; null: it didn't, or went on since. */
  standstill(request: { owner: string }): Promise<Standstill | null>
  /** Keeps a definition under its content hash. Durable before it resolves. */
  putDefinition(request: { hash: string; text: string }): Promise<void>
  getDefinition(request: { hash: string }): Promise<string | null>
  /** The hashes of all definitions that are kept, in any order. */
  definitions(): Promise<string[]>
  /** Deletes contexts that finished before that time, with their logs, at most `limit`; gives the number. */
  purge(request: { endedBefore: number; limit: number }): Promise<number>
  close(): Promise<void>
}
