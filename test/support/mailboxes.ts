// The parts of the engine that decide and commit, on a store of a test.
import { NO_SIGNALS } from '../../src/engine/contexts/deps.ts'
import { ByteBudget } from '../../src/model/byte-budget.ts'
import type { Store } from '../../src/ports/store.ts'
import { Commits } from '../../src/engine/turn/commit.ts'
import { ContextCache, ContextLoader } from '../../src/engine/contexts/context-loader.ts'
import { Ids, Pins } from '../../src/engine/contexts/ids.ts'
import { Mailboxes } from '../../src/engine/turn/mailboxes.ts'
import { folderOf, open, type Files } from '../definitions/catalog-files.ts'
import { SimulatedClock } from '../../src/testing/simulated-clock.ts'
import { emptyStore, withVerbs } from './stores.ts'
import { env } from './turns.ts'
import { silent } from './silent.ts'

const MIB = 1024 * 1024
const nobody = () => {}

export async function partsOn(
  verbs: Partial<Store>,
  bytes = MIB,
  files: Files = { 'p/readme.md': '' },
  of = emptyStore(),
) {
  const state = { incarnation: 0 }
  const store = withVerbs(withVerbs(of, verbs), {
    get incarnation() {
      return state.incarnation
    },
  })
  const { catalog } = await open(await folderOf(files))
  const cache = new ContextCache(MIB)
  const turns = new ByteBudget({ bytes, what: 'turns' })
  const loader = new ContextLoader({ store, catalog, cache, bytes })
  const [ids, pins] = [new Ids(store), new Pins(store, new SimulatedClock())]
  return { state, parts: { store, log: silent, catalog, ids, cache, loader, pins, turns } }
}

export async function openMailboxes(verbs: Partial<Store>, files?: Files, of?: Store) {
  const { parts } = await partsOn(verbs, MIB, files, of)
  const commits = new Commits({
    store: parts.store,
    cache: parts.cache,
    signals: NO_SIGNALS,
    alarm: { start: nobody, set: nobody, close: () => Promise.resolve() },
    log: silent,
    onStep: nobody,
    onReady: nobody,
    onEnd: nobody,
    onOthers: nobody,
    onParent: nobody,
    onCommitted: nobody,
    onLookups: () => {},
    onUnknownOutcome: nobody,
  })
  return Object.assign(new Mailboxes({ ...parts, commits, signals: NO_SIGNALS, env: () => env(), maxCalls: 1000 }), {
    turns: parts.turns,
    catalog: parts.catalog,
  })
}
