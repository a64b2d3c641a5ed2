// engine/calls: `listPage` returns a page of the contexts that the caller may see, and limits how many are in memory at
// once.
import type { ContextPage, Fits, ListRequest } from '../../api/list-contexts.ts'
import type { ContextView } from '../../api/get-context.ts'
import { breathe, charactersOf } from '../../model/texts.ts'
import type { StoredContext } from '../../ports/store.ts'
import { decodeRecord } from '../record/decode.ts'
import { keysOfList } from '../record/index-keys.ts'
import { pinnedFluxOf } from '../record/pinned-flux.ts'
import { isUnreadable } from '../record/unreadable.ts'
import { contextView } from '../record/views.ts'
import { viewEnvOf, type CallEnv } from './call-env.ts'
import { hiddenFrom } from './hidden.ts'
import { listRequest } from './requests.ts'

/** Limits of one read from the store: contexts, and approximate characters. */
const STRIDE = { contexts: 256, characters: 256 * 1024 }
/** Views that are made concurrently: each may load a thousand moves. */
const VIEWS = 8
/** Characters of stored contexts after which a page ends early, unless the caller passes `fits`. */
const PAGE_CHARACTERS = 2 * 1024 * 1024

/**
 * The requested page, by ascending id. It ends before the first context that does not fit, but has at least one context
 * if any matches. A context with a damaged record is logged and left out.
 */
export async function listPage(env: CallEnv, given: ListRequest, fits?: Fits): Promise<ContextPage> {
  const request = listRequest(given, env.tagLimits)
  const { limit } = request
  const [all, without] = [keysOfList(request), hiddenFrom(env, 'read')]
  const contexts: ContextView[] = []
  let [{ after, skip }, size] = [request, 0]
  for (;;) {
    const asked = Math.min(STRIDE.contexts, limit - contexts.length)
    const stored = await env.store.list({ all, without, limit: asked, after, skip, characters: STRIDE.characters })
    let read = 0
    for (let place = 0; place < stored.length; place += VIEWS) {
      const some = stored.slice(place, place + VIEWS)
      const views = await Promise.all(some.map((context) => viewOf(env, context, without.length > 0)))
      for (const [index, context] of some.entries()) {
        const [length, view] = [charactersOf(context.parts), views[index]]
        read += length
        if (view) {
          size += length
          const fit = fits ? await fits(view) : size <= PAGE_CHARACTERS
          if (!fit && contexts.length > 0) return { contexts, next: after ?? null }
          contexts.push(view)
        }
        after = context.id
        if (contexts.length === limit) return { contexts, next: after }
      }
    }
    // Only an empty result is the end: a shorter one may be due to contexts that were purged during the read.
    if (stored.length === 0) return { contexts, next: null }
    skip = 0
    await breathe(read)
  }
}

/**
 * The view of a context; null: it cannot be shown, or this caller may not see it. `checked`: the caller sees only
 * services that are not secured. They are checked again here, because the index keys reflect the services at the start
 * of the list, and contexts written by older versions have fewer keys.
 */
async function viewOf(env: CallEnv, stored: StoredContext, checked: boolean): Promise<ContextView | null> {
  const { log } = env
  try {
    const record = decodeRecord(stored)
    // Redaction may take long if there are many secrets, even if the view is small.
    await breathe(record.request === null && record.inherited === null ? charactersOf(stored.parts) : Infinity)
    const flux = await pinnedFluxOf(env, stored, record)
    if (checked && flux.secured) return null
    return contextView(record, flux, await viewEnvOf(env, record))
  } catch (error) {
    if (!isUnreadable(error, log)) log.error("a context can't be shown", { contextId: stored.id, error })
    return null
  }
}
