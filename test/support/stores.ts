// Stores for tests: a real one of which some verbs are done otherwise, and one that knows nothing.
import type { Store } from '../../src/ports/store.ts'

/** The store, with these verbs in place of its own. */
export const withVerbs = (store: Store, verbs: Partial<Store>): Store =>
  new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(name in verbs ? verbs : target, name)
      return typeof value === 'function' && !(name in verbs) ? value.bind(target) : value
    },
  })

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
  putDefinition: () => Promise.resolve(),
  getDefinition: () => Promise.resolve(null),
  definitions: () => Promise.resolve([]),
  purge: () => Promise.resolve(0),
  close: () => Promise.resolve(),
  ...verbs,
})
