// engine/calls: `listPage` returns a page of the contexts that the caller may see, and limits how many are in memory at
// once, and how many are examined. `countContexts` counts them by status, state or service: each number is that of
// index keys; contexts are read only where the index does not know enough of them.
import type { AnswerTo, CheckedCall } from '../../api/calls.ts'
import { NOT_IN_SUMMARY, type ContextPage, type Fits, type ListedContext } from '../../api/context-lists.ts'
import { CONTEXT_STATUSES } from '../../model/context.ts'
import { breathe, charactersOf } from '../../model/texts.ts'
import { Turnstile } from '../../model/turnstile.ts'
import type { StoredContext } from '../../ports/store.ts'
import { contextsSelected, selectionOf, statusesOf, type Filters, type Selected } from '../operations/selection.ts'
import { decodeHead, SUMMARY, WHOLE } from '../record/decode.ts'
import { parseIndexKeys } from '../record/index-keys.ts'
import { pinnedFluxOf } from '../record/pinned-flux.ts'
import { isUnreadable } from '../record/unreadable.ts'
import { contextView } from '../record/views.ts'
import { checkedTags, isReadable, type CallEnv } from './call-env.ts'
import { viewEnvOf } from './shown-contexts.ts'

/** Limits of one read from the store: contexts, and approximate characters. */
const STRIDE = { contexts: 256, tested: 128, characters: 256 * 1024 }
/** Views that are made concurrently, each of which may load a thousand moves. */
const VIEWS_AT_ONCE = 8
/** Characters of stored contexts after which a page ends early, whatever it shows of them. */
const PAGE_CHARACTERS = 2 * 1024 * 1024
/** Reads for one page that found fewer contexts than they might: the store examines a bounded number in each. */
const MAX_SHORT = 3

/**
 * The requested page, by the order of ids. It ends before the first context that does not fit; it may end early where
 * many had to be examined. A context with a damaged record is logged and left out.
 */
export async function listPage(env: CallEnv, given: CheckedCall<'listPage'>, fits?: Fits): Promise<ContextPage> {
  const { order, after, before, page, limit } = given
  const selected = await selectionOf(env, { ...given, tag: checkedTags(env, given.tag, '/tag') })
  const skip = (order === 'desc' ? before : after) === undefined ? page * limit : 0
  // Each of the skipped contexts has to be read.
  const turnstile = selected.test === null || skip === 0 ? env.lists : env.searches
  return turnstile.run(() => readPage(env, selected, given, skip, fits))
}

/** `toSkip`: matches to pass over; the store does, if it knows all that is asked for. */
async function readPage(
  env: CallEnv,
  selected: Selected,
  { order = 'asc', limit, view: form, after, before }: CheckedCall<'listPage'>,
  toSkip: number,
  fits: Fits | undefined,
) {
  const { selection, test } = selected
  const contexts: ListedContext[] = []
  /** Behind the last context that was dealt with. */
  const bounds = { after, before }
  const behind = order === 'asc' ? 'after' : 'before'
  let skip = toSkip
  for (let [short, read, shown] = [0, 0, 0]; ;) {
    env.reads?.signal?.throwIfAborted()
    const stride = test ? STRIDE.tested : Math.min(STRIDE.contexts, limit - contexts.length)
    const query = { ...selection, ...bounds, order, limit: stride, characters: STRIDE.characters }
    const page = await env.store.select({ ...query, skip: test ? 0 : skip })
    if (!test) skip = 0
    const stored = test ? page.contexts.filter(test) : page.contexts
    for (let at = 0; at < stored.length; at += VIEWS_AT_ONCE) {
      const some = stored.slice(at, at + VIEWS_AT_ONCE)
      const views = await Promise.all(some.map((context) => viewOf(env, selected, form === 'summary', context)))
      for (const [index, { id, parts }] of some.entries()) {
        const view = views[index]
        if (view && skip > 0) skip -= 1
        else if (view) {
          shown += charactersOf(parts)
          const isFitting = fits ? await fits(view) : shown <= PAGE_CHARACTERS
          if (!isFitting && contexts.length > 0) return { contexts, next: bounds[behind] ?? null }
          contexts.push(view)
        }
        bounds[behind] = id
        if (contexts.length === limit) return { contexts, next: id }
      }
    }
    if (page.rest === null) return { contexts, next: null }
    bounds[behind] = page.rest
    const characters = page.contexts.reduce((sum, { parts }) => sum + charactersOf(parts), 0)
    read += characters
    if (stored.length < stride && characters < STRIDE.characters) short += 1
    if ((short >= MAX_SHORT || read >= PAGE_CHARACTERS) && skip === 0) return { contexts, next: page.rest }
    await breathe(Infinity)
  }
}

/**
 * The view of a context; null: it cannot be shown, or this caller may not see it. Services are checked again here,
 * because the index keys reflect the services at the start of the list.
 */
async function viewOf(env: CallEnv, { isLimited }: Selected, isSummary: boolean, stored: StoredContext) {
  try {
    const flux = await pinnedFluxOf(env, stored, decodeHead(stored))
    if (isLimited && flux.secured) return null
    const { record, release } = await env.reader.parse(stored, (isSummary ? SUMMARY : WHOLE)(stored.parts, flux))
    try {
      // What a summary leaves out is not read.
      const shown = isSummary ? { ...record, moves: 0, tail: '', visited: [] } : record
      const view: ListedContext = contextView(shown, flux, await viewEnvOf(env, shown, isReadable(env)))
      if (!isSummary) return view
      // The order of fields stays, which matters in XML.
      const summary = { ...view, error: view.error && { message: view.error.message, type: view.error.type } }
      for (const name of NOT_IN_SUMMARY) Reflect.deleteProperty(summary, name)
      return summary
    } finally {
      release()
    }
  } catch (error) {
    if (!isUnreadable(error, env.log)) env.log.error("a context can't be shown", { contextId: stored.id, error })
    return null
  }
}

/** Counts that the store makes at once for one caller. */
const COUNTS_AT_ONCE = 8

type By = AnswerTo<'countContexts'>['by']

/** See `FluxApi`. */
export async function countContexts(
  env: CallEnv,
  { by, ...given }: CheckedCall<'countContexts'>,
  signal?: AbortSignal,
): Promise<AnswerTo<'countContexts'>> {
  const filters = { ...given, tag: checkedTags(env, given.tag, '/tag') }
  const selected = await selectionOf(env, filters, statusesOf(filters, by === 'status' ? CONTEXT_STATUSES : undefined))
  const isIndexed = selected.test === null
  const counts = new Map<string, number>()
  await (isIndexed ? env.counts : env.searches).run(async () => {
    signal?.throwIfAborted()
    const groups = isIndexed ? await groupsOf(env, by, filters) : null
    if (groups === null) {
      for await (const context of contextsSelected(env.store, selected, signal)) {
        const name = nameOf(env, context, by)
        if (name !== null) counts.set(name, (counts.get(name) ?? 0) + 1)
      }
      return
    }
    const turnstile = new Turnstile(COUNTS_AT_ONCE)
    const count = async (name: string, more: Filters) => {
      signal?.throwIfAborted()
      counts.set(name, await env.store.count((await selectionOf(env, { ...filters, ...more })).selection))
    }
    await Promise.all([...groups].map(([name, more]) => turnstile.run(() => count(name, more))))
  })
  const named = [...counts].filter(([, count]) => count > 0).sort(([one], [other]) => (one < other ? -1 : 1))
  return { total: named.reduce((sum, [, count]) => sum + count, 0), by, counts: Object.fromEntries(named) }
}

/** The filter of each thing that is counted; null: there may be more, of a definition that can't be read. */
async function groupsOf(env: CallEnv, by: By, filters: Filters) {
  if (by === 'status')
    return new Map(statusesOf(filters, CONTEXT_STATUSES).map((status) => [status, { status: [status] }]))
  const services = await env.knownServices()
  if (services === null) return null
  const { fluxName: asked, currentState: only } = filters
  const meant = services.filter(({ fluxName, path }) => asked === undefined || asked === fluxName || asked === path)
  if (by === 'fluxName') return new Map(meant.map(({ path }) => [path, { fluxName: path }]))
  const states = meant.flatMap((service) => service.states).filter((name) => only === undefined || name === only)
  return new Map(states.map((currentState) => [currentState, { currentState }]))
}

/** By what it is counted; null: it is damaged. */
function nameOf({ log }: CallEnv, stored: StoredContext, by: By) {
  if (by === 'currentState') return parseIndexKeys(stored.indexKeys).state ?? ''
  try {
    const { status, package: owner, fluxName } = decodeHead(stored)
    return by === 'status' ? status : `${owner}/${fluxName}`
  } catch (error) {
    if (!isUnreadable(error, log)) throw error
    return null
  }
}
