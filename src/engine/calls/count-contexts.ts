// engine/calls: `countContexts` counts the contexts that the caller may see, by status, state or service. Each number is
// that of an index key where possible; contexts are read only where the index does not know enough of them.
import type { CheckedCall } from '../../api/calls.ts'
import type { ContextCount } from '../../api/context-lists.ts'
import { CONTEXT_STATUSES, type ContextId, type Status } from '../../model/context.ts'
import { breathe } from '../../model/texts.ts'
import type { Selection } from '../../ports/selection.ts'
import type { StoredContext } from '../../ports/store.ts'
import { decodeHead } from '../record/decode.ts'
import { keyOfOpen, parseIndexKeys } from '../record/index-keys.ts'
import { isUnreadable } from '../record/unreadable.ts'
import type { CallEnv } from './call-env.ts'
import { countRequest } from './requests.ts'
import { isTested, selectionOf, statusesOf, type Filters, type Selected } from '../operations/selection.ts'

/** Counts that the store makes at once. */
const STRIDE = 8
/** Contexts, and approximate characters, that are read at once. */
const READ = { contexts: 128, characters: 256 * 1024 }

type Counts = Map<string, number>
type By = ContextCount['by']

/** See `FluxApi`. */
export async function countContexts(
  env: CallEnv,
  given: CheckedCall<'countContexts'>,
  signal?: AbortSignal,
): Promise<ContextCount> {
  const { by, ...filters } = countRequest(given, env.tagLimits)
  const statuses = statusesOf(filters, by === 'status' ? CONTEXT_STATUSES : undefined)
  const counts = await (isTested(filters) ? env.searches : env.counts).run(() => {
    signal?.throwIfAborted()
    return countsOf(env, { by, filters, statuses, signal })
  })
  const named = [...counts].filter(([, count]) => count > 0).sort(([one], [other]) => (one < other ? -1 : 1))
  return { total: named.reduce((sum, [, count]) => sum + count, 0), by, counts: Object.fromEntries(named) }
}

interface Asked {
  readonly by: By
  readonly filters: Filters
  readonly statuses: readonly Status[]
  readonly signal: AbortSignal | undefined
}

async function countsOf(env: CallEnv, asked: Asked): Promise<Counts> {
  const { by, filters, statuses, signal } = asked
  const selected = await selectionOf(env, filters, statuses)
  if (selected.test !== null) return readCounts(env, { by, signal }, selected)
  if (by === 'status') {
    const each = await Promise.all(statuses.map((status) => selectionOf(env, filters, [status])))
    const selections = new Map(statuses.map((status, place) => [status, each[place]?.selection ?? NOTHING]))
    return countEach(env, selections, signal)
  }
  const known = await env.knownServices.all()
  if (known.includes(null)) return readCounts(env, { by, signal }, selected)
  const services = known.filter((service) => service !== null)
  if (by === 'fluxName') return countServices(env, asked, services)
  const names = new Set(
    services
      .filter((service) => isMeant(service, filters))
      .flatMap(({ states }) => states)
      .filter((name) => filters.currentState === undefined || name === filters.currentState),
  )
  const selections = new Map<string, Selection>()
  for (const currentState of names)
    selections.set(currentState, (await selectionOf(env, { ...filters, currentState }, statuses)).selection)
  return countEach(env, selections, signal)
}

/** Whether the filter names the service, or `package/name` it. */
const isMeant = (
  { package: owner, fluxName }: { readonly package: string; readonly fluxName: string },
  { fluxName: asked }: Filters,
): boolean => asked === undefined || asked === fluxName || asked === `${owner}/${fluxName}`

const NOTHING: Selection = { any: [] }

async function countEach(
  { store }: CallEnv,
  selections: ReadonlyMap<string, Selection>,
  signal: AbortSignal | undefined,
): Promise<Counts> {
  const [counts, all] = [new Map<string, number>(), [...selections]]
  for (let place = 0; place < all.length; place += STRIDE) {
    signal?.throwIfAborted()
    await Promise.all(
      all.slice(place, place + STRIDE).map(async ([name, selection]) => {
        counts.set(name, await store.count(selection))
      }),
    )
  }
  return counts
}

/** The index key of a service's name is that of all services of this name. */
async function countServices(
  env: CallEnv,
  { filters, statuses, signal }: Asked,
  known: readonly { readonly package: string; readonly fluxName: string }[],
): Promise<Counts> {
  const owners = new Map<string, Set<string>>()
  for (const { package: owner, fluxName } of known.filter((service) => isMeant(service, filters)))
    owners.set(fluxName, (owners.get(fluxName) ?? new Set()).add(owner))
  const [selections, ambiguous] = [new Map<string, Selection>(), new Map<string, Selected>()]
  for (const [fluxName, packages] of owners) {
    const selected = await selectionOf(env, { ...filters, fluxName: filters.fluxName ?? fluxName }, statuses)
    const [only = ''] = packages
    if (packages.size === 1) {
      selections.set(`${only}/${fluxName}`, selected.selection)
      continue
    }
    const open = [...packages].map((owner) => ({ owner, key: keyOfOpen({ package: owner, fluxName }) }))
    const { any, without = [] } = selected.selection
    for (const { owner, key } of open)
      selections.set(`${owner}/${fluxName}`, { ...selected.selection, any: any.map((keys) => [...keys, key]) })
    const others = { ...selected.selection, without: [...without, ...open.map(({ key }) => key)] }
    ambiguous.set(fluxName, { ...selected, selection: others })
  }
  const counts = await countEach(env, selections, signal)
  // No key tells the package of a secured one.
  for (const selected of ambiguous.values())
    for (const [name, count] of await readCounts(env, { by: 'fluxName', signal }, selected))
      counts.set(name, (counts.get(name) ?? 0) + count)
  return counts
}

/** Reads each context that the store selects. */
async function readCounts(
  { store, log }: CallEnv,
  { by, signal }: Pick<Asked, 'by' | 'signal'>,
  { selection, test }: Selected,
): Promise<Counts> {
  const counts = new Map<string, number>()
  for (let after: ContextId | null = 0; after !== null;) {
    signal?.throwIfAborted()
    const from: ContextId = after
    const { contexts, rest } = await store.select({
      ...selection,
      after: from,
      order: 'asc',
      limit: READ.contexts,
      characters: READ.characters,
    })
    for (const context of contexts) {
      try {
        if (test?.(context) === false) continue
        const name = nameOf(context, by)
        counts.set(name, (counts.get(name) ?? 0) + 1)
      } catch (error) {
        if (!isUnreadable(error, log)) throw error
      }
    }
    after = rest
    await breathe(Infinity)
  }
  return counts
}

function nameOf(stored: StoredContext, by: By): string {
  if (by === 'currentState') return parseIndexKeys(stored.indexKeys).state ?? ''
  const { status, package: owner, fluxName } = decodeHead(stored)
  return by === 'status' ? status : `${owner}/${fluxName}`
}
