// What the tests of the store port share: how a store is opened, and contexts to put into it.
import { expect, it } from 'vitest'
import type { ContextId } from '../../src/model/context.ts'
import type { Store, StoredContext, Write } from '../../src/ports/store.ts'

export interface OpenedStore {
  readonly store: Store
  /** Closes it and opens it again on the same data. Left out where there is nothing to reopen. */
  readonly reopen?: () => Promise<Store>
  /** The store's time, epoch milliseconds, at most a moment behind it. */
  now(): number
  /** Resolves when so many milliseconds of it have passed. */
  lapse(milliseconds: number): Promise<void>
  /** Resolves once servers that send no more heartbeats count as dead. Left out where they always do. */
  readonly pass?: () => Promise<void>
  close(): Promise<void>
}

export type OpenStore = () => Promise<OpenedStore>

/** What a test works with. */
export interface Scenario {
  readonly store: Store
  now(): number
  lapse(milliseconds: number): Promise<void>
  /** Another look at the same data. Skips the rest of the test where a store can't be reopened. */
  reopen(): Promise<Store>
  /** The store as it is, and once more after it was reopened, if it can be. */
  again(): AsyncIterable<Store>
  /** Lets servers without heartbeat die. */
  pass(): Promise<void>
}

export type ScenarioTest = (title: string, body: (scenario: Scenario) => Promise<void>) => void

export function scenarios(open: OpenStore): ScenarioTest {
  return (title, body) =>
    it(title, async (context) => {
      const opened = await open()
      try {
        await body({
          store: opened.store,
          now: () => opened.now(),
          lapse: (milliseconds) => opened.lapse(milliseconds),
          reopen: async () =>
            opened.reopen === undefined ? context.skip('this store has nothing to reopen') : await opened.reopen(),
          async *again() {
            yield opened.store
            if (opened.reopen !== undefined) yield await opened.reopen()
          },
          pass: async () => opened.pass?.(),
        })
      } finally {
        await opened.close()
      }
    })
}

/** A context with what matters to a test; the rest is plain. */
export function contextOf(id: ContextId, version: number, facts: Partial<StoredContext> = {}): StoredContext {
  return {
    id,
    version,
    indexKeys: [],
    due: null,
    owner: null,
    endedAt: null,
    parent: null,
    parts: { record: `{"version":${version}}` },
    ...facts,
  }
}

/** The write that makes it so, decided on the version before. */
export function writeOf(context: StoredContext, more: Partial<Write> = {}): Write {
  return {
    context,
    previous: context.version - 1,
    changed: Object.keys(context.parts),
    log: [],
    notifies: [],
    answersNotification: false,
    ...more,
  }
}

export async function newId(store: Store, partition = 0): Promise<ContextId> {
  const { first } = await store.reserveIds({ count: 1, partition })
  return first
}

type Facts = Partial<StoredContext> & { readonly log?: readonly string[] }

/** Creates contexts of one partition with these facts, in one commit each; gives their ids, which ascend. */
export const create = (store: Store, ...contexts: readonly Facts[]): Promise<ContextId[]> =>
  createIn(store, [0], contexts)

/** Creates contexts in all partitions. */
export const createAll = (store: Store, ...contexts: readonly Facts[]): Promise<ContextId[]> =>
  createIn(
    store,
    Array.from({ length: store.partitions }, (_, partition) => partition),
    contexts,
  )

async function createIn(store: Store, partitions: readonly number[], contexts: readonly Facts[]): Promise<ContextId[]> {
  // All ids of a partition at once: of ids that are reserved one by one, those that were given ahead would be refused.
  const reserved = partitions.map(async (partition, place) => {
    const count = Math.ceil((contexts.length - place) / partitions.length)
    if (count <= 0) return []
    const { first } = await store.reserveIds({ count, partition })
    return Array.from({ length: count }, (_, nr) => first + nr * store.partitions)
  })
  const ids = (await Promise.all(reserved)).flat().sort((a, b) => a - b)
  await Promise.all(
    contexts.map(({ log = [], ...facts }, index) =>
      mustCommit(store, writeOf(contextOf(ids[index] ?? 0, 1, facts), { log })),
    ),
  )
  return ids
}

/** Creates one, and gives its id. */
export async function createOne(store: Store, facts: Facts = {}): Promise<ContextId> {
  const [id = 0] = await create(store, facts)
  return id
}

/** Makes the next version of a context, which keeps what isn't said. */
export async function update(
  store: Store,
  id: ContextId,
  facts: Partial<StoredContext>,
  more: Partial<Write> = {},
): Promise<void> {
  const before = await store.load({ id })
  if (before === null) throw new Error(`there is no context ${id}`)
  await mustCommit(store, writeOf({ ...before, ...facts, version: before.version + 1 }, more))
}

export async function mustCommit(store: Store, ...writes: readonly Write[]): Promise<void> {
  expect(await store.commit({ writes })).toEqual({ ok: true })
}

export async function idsOf(contexts: Promise<readonly StoredContext[]>): Promise<ContextId[]> {
  return (await contexts).map(({ id }) => id)
}

/** Texts that a careless store mixes up, takes for its own, or loses. */
export const HOSTILE = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  '',
  ' ',
  ':',
  '|',
  'a:b',
  'a|b',
  '\u0000',
  'a\u0000b',
  '\n',
  '{"a":1}\n',
  '\ud800',
  '\udc00',
  '\ud801x',
  '{af:0}',
  '*',
  '0',
  '-1',
  'é',
  'e\u0301',
  '😀',
  '\uffff',
  'x'.repeat(5000),
]
