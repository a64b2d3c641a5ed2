// engine: lists of contexts, without those that the caller may not see, and never more of them at once than fits.
import { denial, type Caller } from '../../model/caller.ts'
import type { ContextPage, Fits } from '../../api/list-contexts.ts'
import type { ContextView } from '../../api/get-context.ts'
import type { ContextRecord } from '../../model/record.ts'
import { breathe, charactersOf } from '../../model/texts.ts'
import type { Log } from '../../ports/log.ts'
import type { Store, StoredContext } from '../../ports/store.ts'
import { decodeRecord } from '../record/codec.ts'
import type { CheckedListRequest } from './requests.ts'
import { SECURED, keyOfOpen, keysOfList } from '../record/index-keys.ts'
import { isUnreadable } from '../record/unreadable.ts'

/** What is read together, in one turn of the event loop: contexts, and about so many characters of them. */
const STRIDE = { contexts: 256, characters: 256 * 1024 }
/** Contexts made ready to be shown together: each may bring a thousand moves along. */
const VIEWS = 8
/** Characters of stored contexts after which a page ends early, unless its reader says what fits. */
const PAGE_CHARACTERS = 2 * 1024 * 1024

export interface ListParts {
  readonly store: Store
  readonly log: Log
  /** Services that need a token now. */
  readonly securedServices: () => readonly { readonly package: string; readonly fluxName: string }[]
  /** Whether the context is of a secured service. */
  readonly secured: (stored: StoredContext, record: ContextRecord) => Promise<boolean>
  readonly view: (stored: StoredContext, record: ContextRecord) => Promise<ContextView>
}

/**
 * The page that is asked for, by ascending id. It ends before the first context that doesn't fit, but has one at least.
 * A context that can't be shown, since its record is damaged, is logged and left out.
 */
export async function list(
  parts: ListParts,
  caller: Caller,
  request: CheckedListRequest,
  fits?: Fits,
): Promise<ContextPage> {
  const { limit } = request
  const [all, without] = [keysOfList(request), hiddenFrom(parts, caller)]
  const contexts: ContextView[] = []
  let [{ after, skip }, size] = [request, 0]
  for (;;) {
    const asked = Math.min(STRIDE.contexts, limit - contexts.length)
    const stored = await parts.store.list({ all, without, limit: asked, after, skip, characters: STRIDE.characters })
    let read = 0
    for (let place = 0; place < stored.length; place += VIEWS) {
      const some = stored.slice(place, place + VIEWS)
      const views = await Promise.all(some.map((context) => viewOf(parts, context, without.length > 0)))
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
    // Fewer than were asked for say nothing: some may have been purged meanwhile.
    if (stored.length === 0) return { contexts, next: null }
    skip = 0
    await breathe(read)
  }
}

/**
 * Words of contexts that the caller may not see: those whose service was secured when they were started, or is so now.
 */
function hiddenFrom({ securedServices }: ListParts, caller: Caller): string[] {
  return denial(caller, 'read') === null ? [] : [SECURED, ...securedServices().map(keyOfOpen)]
}

/**
 * `checked`: the caller sees only what isn't secured. The index goes by what was secured when the list began, and knows
 * less of contexts that older versions wrote.
 */
async function viewOf(
  { secured, view, log }: ListParts,
  stored: StoredContext,
  checked: boolean,
): Promise<ContextView | null> {
  try {
    const record = decodeRecord(stored)
    // To hide secrets takes long, where there are many, however little is left to be shown.
    await breathe(record.request === null && record.inherited === null ? charactersOf(stored.parts) : Infinity)
    return checked && (await secured(stored, record)) ? null : await view(stored, record)
  } catch (error) {
    if (!isUnreadable(error, log)) log.error("a context can't be shown", { contextId: stored.id, error })
    return null
  }
}
