// runtime: lists of contexts, without those that the caller may not see, and never more of them at once than fits.
import { denial, type Caller } from '../model/caller.ts'
import type { ContextPage } from '../model/calls.ts'
import type { ContextView } from '../model/context.ts'
import type { ContextRecord } from '../model/record.ts'
import type { Log } from '../ports/log.ts'
import type { Store, StoredContext } from '../ports/store.ts'
import { decode } from './codec.ts'
import type { CheckedList } from './requests.ts'
import { SECURED, wordsOfList } from './terms.ts'
import { isUnreadable } from './unreadable.ts'

/** Contexts read together: at first, when it isn't known yet how large they are, and at most. */
const STRIDE = { first: 32, most: 256 }
/** Characters of stored contexts, after which a page ends early. One may be larger: it is a page of its own. */
const PAGE = 8 * 1024 * 1024

export interface ListParts {
  readonly store: Store
  readonly log: Log
  /** Whether there may be contexts that need a token to be seen, besides those that the store tells of. */
  readonly anySecured: () => boolean
  /** Whether the context is of a secured service. */
  readonly secured: (record: ContextRecord) => Promise<boolean>
  readonly view: (record: ContextRecord) => Promise<ContextView>
}

/** The page that is asked for, by ascending id. A context whose definition no longer compiles can't be shown: it is logged and left out. */
export async function list(parts: ListParts, caller: Caller, request: CheckedList): Promise<ContextPage> {
  const { store } = parts
  const { limit } = request
  const all = wordsOfList(request)
  const sees = await seesAll(parts, caller)
  const contexts: ContextView[] = []
  let { after, skip } = request
  let [taken, size, stride] = [0, 0, STRIDE.first]
  for (;;) {
    const asked = Math.min(stride, sees ? limit - taken : stride)
    const stored = await store.list({ all, limit: asked, after, ...(sees ? { skip } : { without: SECURED }) })
    const shown: ContextRecord[] = []
    for (const context of stored) {
      if (taken > 0 && size > PAGE) return { contexts: [...contexts, ...await viewsOf(parts, shown)], next: after ?? null }
      after = context.id
      const record = readable(context, parts)
      if (record === null) continue
      // The store doesn't know what was secured since.
      if (!sees && (await parts.secured(record).catch(() => true) || skip-- > 0)) continue
      shown.push(record)
      taken += 1
      size += sizeOf(context)
      if (taken === limit) break
    }
    if (sees) skip = 0
    contexts.push(...await viewsOf(parts, shown))
    if (taken === limit) return { contexts, next: after ?? null }
    if (stored.length < asked) return { contexts, next: null }
    stride = Math.min(STRIDE.most, Math.max(1, Math.floor((PAGE - size) / (size / Math.max(1, taken) + 1))))
  }
}

function readable(context: StoredContext, { log }: ListParts): ContextRecord | null {
  try {
    return decode(context)
  } catch (error) {
    if (isUnreadable(error, log)) return null
    throw error
  }
}

async function viewsOf({ view, log }: ListParts, records: readonly ContextRecord[]): Promise<ContextView[]> {
  const views = await Promise.all(records.map((record) => view(record).catch((error: unknown) => {
    log.error('a context can\'t be shown', { contextId: record.id, error })
    return null
  })))
  return views.filter((shown) => shown !== null)
}

function sizeOf({ parts }: StoredContext): number {
  let size = 0
  for (const part of Object.values(parts)) size += part.length
  return size
}

/** Most servers have no secured service, and most callers of one that has are privileged: only the others pay for the difference. */
async function seesAll({ store, anySecured }: ListParts, caller: Caller): Promise<boolean> {
  return denial(caller, 'read') === null || (!anySecured() && (await store.list({ all: [SECURED], limit: 1 })).length === 0)
}
