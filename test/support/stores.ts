// Stores for tests: a real one of which some verbs are done otherwise, and one that knows nothing.
import { definitionRow } from '../../src/engine/record/pinned-flux.ts'
import type { CommitRequest, Store } from '../../src/ports/store.ts'

/** The store, with these verbs in place of its own. */
export const withVerbs = (store: Store, verbs: Partial<Store>): Store =>
  new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(name in verbs ? verbs : target, name)
      return typeof value === 'function' && !(name in verbs) ? value.bind(target) : value
    },
  })

/** Stores a definition as a server does. */
export async function putDefinition(store: Store, hash: string, value: string): Promise<void> {
  await store.commit({ writes: [], rows: [{ ...definitionRow(store, hash), value, expiresAt: null }] })
}

export const definitionIn = async (store: Store, hash: string): Promise<string | null> =>
  (await store.readRow(definitionRow(store, hash)))?.value ?? null

/** Whether a commit stores a definition. */
export const isOfDefinition = ({ rows }: CommitRequest): boolean => rows?.[0]?.space === 'definitions'

/** A store whose only definition is that text, whatever is asked for. */
export const storeOfDefinition = (value: string | null): Store =>
  emptyStore({ readRow: async ({ key }) => (value === null ? null : { partition: 0, key, value, expiresAt: null }) })

/** A store that takes everything and has nothing, save for what is given. */
export const emptyStore = (verbs: Partial<Store> = {}): Store => ({
  incarnation: 0,
  partitions: 1,
  notes: { module: '', place: null },
  trouble: () => null,
  reserveIds: () => Promise.resolve({ first: 1, count: 1 }),
  highestId: () => Promise.resolve(0),
  load: () => Promise.resolve(null),
  version: () => Promise.resolve(null),
  commit: () => Promise.resolve({ ok: true }),
  readRow: () => Promise.resolve(null),
  listRows: () => Promise.resolve([]),
  countRows: () => Promise.resolve(0),
  sweepRows: () => Promise.resolve(0),
  count: () => Promise.resolve(0),
  servers: () => Promise.resolve([]),
  log: () => Promise.resolve([]),
  select: () => Promise.resolve({ contexts: [], rest: null }),
  selectIds: () => Promise.resolve({ ids: [], rest: null }),
  claimDue: () => Promise.resolve({ ids: [], next: null }),
  claimAbandoned: () => Promise.resolve([]),
  leasedTo: () => Promise.resolve([]),
  heartbeat: () => Promise.resolve(true),
  standstill: () => Promise.resolve(null),
  purge: () => Promise.resolve(0),
  close: () => Promise.resolve(),
  ...verbs,
})
