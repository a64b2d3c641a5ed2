// ports: the store of contexts. An adapter stores and indexes; its callers are responsible for policy and encoding.
//
// Lists and counts (`operations/selection.ts`, `select` and `count` of the store). Filters become lists of index keys,
// of which a context has all of one: a list for each status, or for all unfinished and all finished ones, so no context
// is in two. An error type and a parent are index keys that never change, so an event writes no more index entries than
// before. `due` and `ended` have their sets: where few contexts have such a time, they lead the search, sorted by id;
// else each candidate is looked up. When a context was started or changed is known from its record alone. Starts are
// narrowed down by id (`operations/selection.ts`), and the rest is read, a bounded number for each page. Descending
// order walks the same sets (`index/walk.ts`, `select.lua`). Counts add up the sizes of sets where one key decides
// (`calls/context-lists.ts`); names of states and services come from the stored definitions (`calls/context-lists.ts`).
import type { ContextId } from '../model/context.ts'
import type { ListedSpace, RowSpace, RowWrite, StoredRow } from '../model/rows.ts'
import type { Standstill } from '../model/standstill.ts'
import type { NotesPlace } from './steps.ts'

/** A context as an adapter sees it: opaque parts, and the few fields that it indexes. */
export interface StoredContext {
  readonly id: ContextId
  /** 1 when created, incremented by each write. */
  readonly version: number
  /** Keys by which queries find the context. */
  readonly indexKeys: readonly string[]
  /** When the context must be woken, epoch milliseconds; null: never. */
  readonly due: number | null
  /**
   * Boot id of the server that runs a step of the context, or an owner of ready steps (`readyOwner`); null: there is no
   * step.
   */
  readonly owner: string | null
  /** When the context finished, epoch milliseconds; null: it has not. */
  readonly endedAt: number | null
  /**
   * Id of the parent, which waits for the end of the context. The context is not purged while a notification of the
   * parent is outstanding.
   */
  readonly parent: ContextId | null
  /** Named texts, opaque to the adapter. */
  readonly parts: { readonly [name: string]: string }
}

export interface Write {
  /** The complete next context. Its version is `previous` + 1; that of a context from another store may be higher. */
  readonly context: StoredContext
  /** The version on which the write was decided; 0: the context must not exist. */
  readonly previous: number
  /** Names of the parts that differ from the stored ones. Stored parts that are not in `context.parts` are removed. */
  readonly changed: readonly string[]
  /** Rows to append to the log of the context. */
  readonly log: readonly string[]
  /** Contexts to notify that a relative has ended. Each becomes due at once, and stays due until it answers. */
  readonly notifies: readonly ContextId[]
  /** Whether this write answers the notifications of its context. */
  readonly answersNotification: boolean
  /**
   * An index key that no other context of the partition may have after the commit. Each write that gives a context such
   * a key must say so; one that leaves it with the key needn't. A context that ends as it begins may lack it.
   */
  readonly unique?: string
}

/**
 * Nothing was written, because context `stale` has another version (or exists already, or was deleted). `current`: the
 * stored context, if the adapter can return it at no extra cost.
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
  /** Number of times in a row that other servers were faster; a server that loses repeatedly gets precedence. */
  readonly lost?: number | undefined
}

/** Nothing was written. If there are several reasons, the first of these is reported. */
export type CommitRefusal =
  | StaleOutcome
  /** The ids of these new contexts were reserved ahead, and higher ids have been given out since. */
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

/** Epoch milliseconds, both exclusive. */
export interface TimeRange {
  readonly after?: number | undefined
  readonly before?: number | undefined
}

/** Exclusive bounds of ids. */
export interface IdRange {
  readonly after?: ContextId | undefined
  readonly before?: ContextId | undefined
}

/** Which contexts are selected, or counted. */
export interface Selection extends IdRange {
  /**
   * Lists of keys. A context has all keys of one of them. `count` may count a context once for each list that it fits.
   */
  readonly any: readonly (readonly string[])[]
  /** Keys that none of them has. */
  readonly without?: readonly string[] | undefined
  /** When they must be woken; those that need not be are left out. */
  readonly due?: { readonly before: number } | undefined
  /** When they finished; those that have not are left out. */
  readonly ended?: TimeRange | undefined
  /** Further bounds of ids for each partition, by its number. */
  readonly windows?: readonly IdRange[] | undefined
  /** Only contexts of this partition. */
  readonly partition?: number | undefined
}

export interface SelectQuery extends Selection {
  /** `desc`: by descending id. */
  readonly order: 'asc' | 'desc'
  readonly limit: number
  /** Number of matches to skip. */
  readonly skip?: number | undefined
}

export interface SelectedIds {
  readonly ids: readonly ContextId[]
  /** Where the list continues: `after` of the next page, under `desc` its `before`; null: there are no more. */
  readonly rest: ContextId | null
}

export interface SelectedPage extends Pick<SelectedIds, 'rest'> {
  readonly contexts: readonly StoredContext[]
}

/** A context whose step no server runs, with the owner of the step when it was found. */
export interface AbandonedLease {
  readonly id: ContextId
  readonly owner: string
}

export interface Store {
  /**
   * Incremented when data that was read before may be invalid: the connection was lost, and the store may have lost its
   * most recent writes.
   */
  readonly incarnation: number
  /** A context is in partition `id % partitions`. A commit can write only contexts of one partition. */
  readonly partitions: number

  // Contexts, and commits of contexts and rows.

  /**
   * Reserves at least `count` new ids of a partition: `first`, and the following ones in steps of `partitions`. All are
   * higher than any id of that partition that was reserved before. Durable before it resolves. If it reserves more than
   * `count`, a commit that creates a context under one of these ids is refused after another server has reserved ids of
   * the partition.
   */
  reserveIds(request: { count: number; partition: number }): Promise<{ first: ContextId; count: number }>
  /** The highest id of any context so far; 0: there was none. */
  highestId(): Promise<ContextId>
  /** The context as last committed; null: it does not exist. */
  load(request: { id: ContextId }): Promise<StoredContext | null>
  /** The version that `load` would return; null: the context does not exist. */
  version(request: { id: ContextId }): Promise<number | null>
  /**
   * Performs all writes atomically, or none. Resolves when they are as durable as the store promises.
   * @throws FluxError `unavailable` if the store cannot be reached or cannot write. With `inDoubt`, all writes may have
   * been done, or may be done later. TypeError if contexts and rows are of several partitions, or a row cannot be kept
   */
  commit(request: CommitRequest): Promise<CommitOutcome>
  /** The newest rows of a context's log, at most `limit`, the oldest of them first. */
  log(request: { id: ContextId; limit: number }): Promise<string[]>
  /**
   * Ids of contexts that match, each once. It examines a bounded number of candidates, save for those that it skips: so
   * a page may have fewer ids, or none, although there are more.
   */
  selectIds(request: SelectQuery): Promise<SelectedIds>
  /**
   * The same, of complete contexts; those that can't be read are left out. The page ends early, after at least one
   * context, when the texts of its contexts have so many `characters`.
   */
  select(request: SelectQuery & { readonly characters?: number | undefined }): Promise<SelectedPage>
  /** How many contexts match. Other requests are served meanwhile. */
  count(request: Selection): Promise<number>
  /**
   * Claims contexts that are due or notified, up to `limit` of each partition, the earliest first. Each is hidden from
   * further claims for `hideFor` milliseconds or until it is written, so an unsuccessful claim is repeated. `next`:
   * when the next context can be claimed, or when to query again, epoch milliseconds; null: none is due.
   */
  claimDue(request: { now: number; limit: number; hideFor: number }): Promise<{ ids: ContextId[]; next: number | null }>
  /**
   * Deletes contexts that finished before `endedBefore` (epoch milliseconds), with their logs, at most `limit`.
   * Resolves with the number.
   */
  purge(request: { endedBefore: number; limit: number }): Promise<number>

  // Rows. They are written by commits.

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

  // Which server runs the step of which context, and which servers live.

  /**
   * Claims contexts whose owner is dead, and those with one of the owners `ready`, which are no servers: up to `limit`
   * of each partition, in the order of their writes, each with that owner. They are hidden from further claims as by
   * `claimDue`. `owner`: boot id of the caller.
   */
  claimAbandoned(request: {
    owner: string
    ready?: readonly string[]
    limit: number
    hideFor: number
  }): Promise<AbandonedLease[]>
  /** Contexts whose step is leased to that owner. Contexts that cannot be reached now are omitted. */
  leasedTo(request: { owner: string }): Promise<ContextId[]>
  /** Servers that share the store, by their last heartbeats; none if it is of one server alone. */
  servers(): Promise<readonly ServerSeen[]>
  /**
   * Reports that this server is alive. Resolves with false if it was declared dead: others may claim its steps, and it
   * must continue under another boot id.
   */
  heartbeat(request: { owner: string }): Promise<boolean>
  /** Where the watchdog writes the note that `standstill` reads. */
  readonly notes: NotesPlace
  /**
   * The note that the watchdog of that server wrote when its event loop was blocked; null: there is none, or it was
   * erased when the event loop continued.
   */
  standstill(request: { owner: string }): Promise<Standstill | null>

  /** The reason why the store cannot serve now, as text for operators; null if it can. */
  trouble(): string | null
  close(): Promise<void>
}

/** What a store knows about a server that shares it. */
export interface ServerSeen {
  /** Boot id. */
  readonly runId: string
  /** Milliseconds since its last heartbeat, by the clock of the store. */
  readonly silentMs: number
}
