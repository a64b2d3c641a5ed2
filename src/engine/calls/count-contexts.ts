// engine/calls: `countContexts` counts the contexts that the caller may see, by status, state or service. Each number is
// that of index keys; contexts are read only where the index does not know enough of them.
import type { CheckedCall } from '../../api/calls.ts'
import type { ContextCount } from '../../api/context-lists.ts'
import { CONTEXT_STATUSES, type ContextId } from '../../model/context.ts'
import { breathe } from '../../model/texts.ts'
import { Turnstile } from '../../model/turnstile.ts'
import type { StoredContext } from '../../ports/store.ts'
import { selectionOf, statusesOf, type Filters, type Selected } from '../operations/selection.ts'
import { decodeHead } from '../record/decode.ts'
import { parseIndexKeys } from '../record/index-keys.ts'
import { isUnreadable } from '../record/unreadable.ts'
import type { CallEnv } from './call-env.ts'
import { checkedTags } from './requests.ts'

/** Counts that the store makes at once for one caller. */
const AT_ONCE = 8
/** Contexts, and approximate characters, that are read at once. */
const READ = { limit: 128, characters: 256 * 1024 }

type Counts = Map<string, number>
type By = ContextCount['by']

/** See `FluxApi`. */
export async function countContexts(
  env: CallEnv,
  { by, ...given }: CheckedCall<'countContexts'>,
  signal?: AbortSignal,
): Promise<ContextCount> {
  const filters = { ...given, tag: checkedTags(given.tag, '/tag', env.tagLimits) }
  const selected = await selectionOf(env, filters, statusesOf(filters, by === 'status' ? CONTEXT_STATUSES : undefined))
  const isIndexed = selected.test === null
  const counts = await (isIndexed ? env.counts : env.searches).run(async () => {
    signal?.throwIfAborted()
    const groups = isIndexed ? await groupsOf(env, by, filters) : null
    return groups ? countEach(env, groups, signal) : readEach(env, { by, signal }, selected)
  })
  const named = [...counts].filter(([, count]) => count > 0).sort(([one], [other]) => (one < other ? -1 : 1))
  return { total: named.reduce((sum, [, count]) => sum + count, 0), by, counts: Object.fromEntries(named) }
}

/** By what is counted, the filters of each; null: there may be others, of a definition that can't be read. */
async function groupsOf(env: CallEnv, by: By, filters: Filters): Promise<ReadonlyMap<string, Filters> | null> {
  if (by === 'status')
    return new Map(statusesOf(filters, CONTEXT_STATUSES).map((status) => [status, { ...filters, status: [status] }]))
  const services = await env.knownServices.all()
  if (services === null) return null
  const { fluxName: asked, currentState: only } = filters
  const meant = services.filter(({ fluxName, path }) => asked === undefined || asked === fluxName || asked === path)
  if (by === 'fluxName') return new Map(meant.map(({ path }) => [path, { ...filters, fluxName: path }]))
  const states = meant.flatMap((service) => service.states).filter((name) => only === undefined || name === only)
  return new Map(states.map((currentState) => [currentState, { ...filters, currentState }]))
}

async function countEach(
  env: CallEnv,
  groups: ReadonlyMap<string, Filters>,
  signal: AbortSignal | undefined,
): Promise<Counts> {
  const [counts, turnstile] = [new Map<string, number>(), new Turnstile(AT_ONCE)]
  const count = async (name: string, filters: Filters) => {
    signal?.throwIfAborted()
    const { selection } = await selectionOf(env, filters)
    counts.set(name, await env.store.count(selection))
  }
  await Promise.all([...groups].map(([name, filters]) => turnstile.run(() => count(name, filters))))
  return counts
}

/** Reads each context that the store selects. */
async function readEach(
  { store, log }: CallEnv,
  { by, signal }: { readonly by: By; readonly signal: AbortSignal | undefined },
  { selection, test }: Selected,
): Promise<Counts> {
  const counts = new Map<string, number>()
  for (let after: ContextId | null = 0; after !== null;) {
    signal?.throwIfAborted()
    const from: ContextId = after
    const { contexts, rest } = await store.select({ ...selection, ...READ, after: from, order: 'asc' })
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
