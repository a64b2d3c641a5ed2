// engine/calls: `listPage` returns a page of the contexts that the caller may see, and limits how many are in memory at once,
// and how many are examined. `countContexts` counts them by status, state or service: each number is that of index keys;
// contexts are read only where the index does not know enough of them.
import type { CheckedCall } from '../../api/calls.ts'
import {
  NOT_IN_SUMMARY,
  type ContextCount,
  type ContextPage,
  type Fits,
  type ListedContext,
} from '../../api/context-lists.ts'
import type { ContextView } from '../../api/contexts.ts'
import { CONTEXT_STATUSES, type ContextId } from '../../model/context.ts'
import { breathe, charactersOf } from '../../model/texts.ts'
import { Turnstile } from '../../model/turnstile.ts'
import type { StoredContext } from '../../ports/store.ts'
import { selectionOf, statusesOf, type Filters, type Selected } from '../operations/selection.ts'
import { decodeHead, SUMMARY, WHOLE } from '../record/decode.ts'
import { parseIndexKeys } from '../record/index-keys.ts'
import { pinnedFluxOf } from '../record/pinned-flux.ts'
import { isUnreadable } from '../record/unreadable.ts'
import { contextView } from '../record/views.ts'
import { checkedTags, isReadable, type CallEnv } from './call-env.ts'
import { viewEnvOf } from './shown-contexts.ts'

/** Limits of one read from the store: contexts, and approximate characters. */
const STRIDE = { contexts: 256, tested: 128, characters: 256 * 1024 }
/** Views that are made concurrently, each of which may load a thousand moves; and characters of their contexts. */
const VIEWS = { contexts: 8, characters: 64 * 1024 }
/** Characters of stored contexts after which a page ends early, whatever it shows of them. */
const PAGE_CHARACTERS = 2 * 1024 * 1024
/** Contexts that are read for a page because the store does not know the times asked for. */
const MAX_TESTED = 384

/** Times that the store may examine as many contexts as it may at once, for one page. */
const MAX_SHORT = 2

/**
 * The requested page, by the order of ids. It ends before the first context that does not fit; it may end early where
 * many had to be examined. A context with a damaged record is logged and left out.
 */
export async function listPage(env: CallEnv, given: CheckedCall<'listPage'>, fits?: Fits): Promise<ContextPage> {
  const { order = 'asc', after, before, page, limit } = given
  const selected = await selectionOf(env, { ...given, tag: checkedTags(given.tag, '/tag', env.tagLimits) })
  const skip = (order === 'asc' ? after : before) === undefined ? page * limit : 0
  const asked = { ...given, order, skip, fits }
  // Each of the skipped contexts has to be read.
  const turnstile = selected.test === null || skip === 0 ? env.lists : env.searches
  return turnstile.run(() => readPage(env, selected, asked))
}

interface Asked extends Pick<CheckedCall<'listPage'>, 'limit' | 'after' | 'before' | 'view'> {
  readonly order: 'asc' | 'desc'
  readonly skip: number
  readonly fits: Fits | undefined
}

async function readPage(env: CallEnv, selected: Selected, asked: Asked): Promise<ContextPage> {
  const { order, limit, after, before, fits } = asked
  const { selection, test } = selected
  const contexts: ListedContext[] = []
  /** The last context that was dealt with. */
  let behind = order === 'asc' ? after : before
  /** Matches to pass over: the store does, if it knows all that is asked for. */
  let { skip } = asked
  /** Characters of the contexts on the page. */
  let size = 0

  /** True when the page is full. */
  async function add(stored: readonly StoredContext[]): Promise<boolean> {
    for (const some of bySize(stored)) {
      env.reads?.signal?.throwIfAborted()
      const views = await Promise.all(some.map((context) => viewOf(env, selected, asked, context)))
      for (const [index, context] of some.entries()) {
        const view = views[index]
        if (view && skip > 0) skip -= 1
        else if (view) {
          size += charactersOf(context.parts)
          const fit = fits ? await fits(view) : size <= PAGE_CHARACTERS
          if (!fit && contexts.length > 0) return true
          contexts.push(view)
        }
        behind = context.id
        if (contexts.length === limit) return true
      }
    }
    return false
  }

  for (let [looked, short, read] = [0, 0, 0]; ;) {
    env.reads?.signal?.throwIfAborted()
    const stride = test === null ? Math.min(STRIDE.contexts, limit - contexts.length) : STRIDE.tested
    const bounds = order === 'asc' ? { after: behind, before } : { after, before: behind }
    const skipped = test === null ? skip : 0
    const query = { ...selection, ...bounds, order, limit: stride, skip: skipped, characters: STRIDE.characters }
    const { contexts: stored, rest } = await env.store.select(query)
    skip -= skipped
    const characters = stored.reduce((sum, { parts }) => sum + charactersOf(parts), 0)
    read += characters
    if (await add(test === null ? stored : stored.filter((context) => passes(context, test))))
      return { contexts, next: behind ?? null }
    if (rest === null) return { contexts, next: null }
    behind = rest
    looked += stored.length
    // The store has examined as many as it may.
    if (stored.length < stride && characters < STRIDE.characters) short += 1
    const isEnough = read >= PAGE_CHARACTERS || (test !== null && looked >= MAX_TESTED)
    if ((short >= MAX_SHORT || isEnough) && skip === 0) return { contexts, next: rest }
    await breathe(isEnough ? Infinity : characters)
  }
}

/** Of a damaged one, the view tells. */
function passes(context: StoredContext, test: (context: StoredContext) => boolean): boolean {
  try {
    return test(context)
  } catch {
    return true
  }
}

/**
 * The view of a context; null: it cannot be shown, or this caller may not see it. Services are checked again here,
 * because the index keys reflect the services at the start of the list.
 */
async function viewOf(
  env: CallEnv,
  { isLimited }: Selected,
  { view: form }: Asked,
  stored: StoredContext,
): Promise<ListedContext | null> {
  const isSummary = form === 'summary'
  try {
    const flux = await pinnedFluxOf(env, stored, decodeHead(stored))
    if (isLimited && flux.secured) return null
    const { record, release } = await env.reader.parse(stored, (isSummary ? SUMMARY : WHOLE)(stored.parts, flux))
    try {
      // What a summary leaves out is not read.
      const shown = isSummary ? { ...record, moves: 0, tail: [], visited: [] } : record
      const view = contextView(shown, flux, await viewEnvOf(env, shown, isReadable(env)))
      return isSummary ? summaryOf(view) : view
    } finally {
      release()
    }
  } catch (error) {
    if (!isUnreadable(error, env.log)) env.log.error("a context can't be shown", { contextId: stored.id, error })
    return null
  }
}

/** Small ones together, and each large one by itself. */
function* bySize(stored: readonly StoredContext[]): Generator<StoredContext[], void> {
  let [some, characters]: [StoredContext[], number] = [[], 0]
  for (const context of stored) {
    const more = charactersOf(context.parts)
    if (some.length === VIEWS.contexts || (some.length > 0 && characters + more > VIEWS.characters)) {
      yield some
      ;[some, characters] = [[], 0]
    }
    some.push(context)
    characters += more
  }
  if (some.length > 0) yield some
}

/** Without data, states and history. The order of fields stays, which matters in XML. */
function summaryOf(view: ContextView): ListedContext {
  const { error } = view
  const summary: ListedContext = { ...view, error: error && { message: error.message, type: error.type } }
  for (const name of NOT_IN_SUMMARY) Reflect.deleteProperty(summary, name)
  return summary
}

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
