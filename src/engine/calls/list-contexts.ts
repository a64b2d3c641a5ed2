// engine/calls: `listPage` returns a page of the contexts that the caller may see, and limits how many are in memory at
// once, and how many are examined.
import type { CheckedCall } from '../../api/calls.ts'
import { type ContextPage, type Fits, type ListedContext, NOT_IN_SUMMARY } from '../../api/context-lists.ts'
import type { ContextView } from '../../api/contexts.ts'
import type { ContextId } from '../../model/context.ts'
import { breathe, charactersOf } from '../../model/texts.ts'
import type { StoredContext } from '../../ports/store.ts'
import { decodeHead, SUMMARY, WHOLE } from '../record/decode.ts'
import { pinnedFluxOf } from '../record/pinned-flux.ts'
import { isUnreadable } from '../record/unreadable.ts'
import { contextView } from '../record/views.ts'
import { isReadable, type CallEnv } from './call-env.ts'
import { checkedTags } from './requests.ts'
import { viewEnvOf } from './shown-contexts.ts'
import { selectionOf, type Selected } from '../operations/selection.ts'

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
  const { page: pages, order = 'asc', after, before, limit } = given
  const skip = (order === 'asc' ? after : before) === undefined ? pages * limit : 0
  const request = { ...given, order, skip, tag: checkedTags(given.tag, '/tag', env.tagLimits) }
  const selected = await selectionOf(env, request)
  const page = new Page(env, request, { ...selected, fits })
  // Each of the skipped contexts has to be read.
  const turnstile = selected.test === null || request.skip === 0 ? env.lists : env.searches
  return turnstile.run(() => page.read())
}

interface Request extends Pick<CheckedCall<'listPage'>, 'limit' | 'after' | 'before' | 'view'> {
  readonly order: 'asc' | 'desc'
  readonly skip: number
}

class Page {
  readonly #env: CallEnv
  readonly #request: Request
  readonly #given: Selected & { readonly fits: Fits | undefined }
  readonly #contexts: ListedContext[] = []
  /** The last context that was dealt with. */
  #behind: ContextId | undefined
  /** Characters of the contexts on the page, and of all that were read. */
  #size = 0
  #read = 0
  /** Matches to pass over: the store does, if it knows all that is asked for. */
  #skip: number

  constructor(env: CallEnv, request: Request, given: Selected & { readonly fits: Fits | undefined }) {
    this.#env = env
    this.#request = request
    this.#given = given
    this.#skip = request.skip
    this.#behind = request.order === 'asc' ? request.after : request.before
  }

  async read(): Promise<ContextPage> {
    const { order, limit, after, before } = this.#request
    const { selection, test } = this.#given
    const contexts = this.#contexts
    for (let [looked, short] = [0, 0]; ;) {
      this.#env.reads?.signal?.throwIfAborted()
      const asked = test === null ? Math.min(STRIDE.contexts, limit - contexts.length) : STRIDE.tested
      const bounds = order === 'asc' ? { after: this.#behind, before } : { after, before: this.#behind }
      const skip = test === null ? this.#skip : 0
      const query = { ...selection, ...bounds, order, limit: asked, skip, characters: STRIDE.characters }
      const { contexts: stored, rest } = await this.#env.store.select(query)
      if (test === null) this.#skip = 0
      const read = stored.reduce((sum, { parts }) => sum + charactersOf(parts), 0)
      this.#read += read
      if (await this.#add(stored)) return { contexts, next: this.#behind ?? null }
      if (rest === null) return { contexts, next: null }
      this.#behind = rest
      looked += stored.length
      // The store has examined as many as it may.
      if (stored.length < asked && read < STRIDE.characters) short += 1
      const isEnough = this.#read >= PAGE_CHARACTERS || (test !== null && looked >= MAX_TESTED)
      if ((short >= MAX_SHORT || isEnough) && this.#skip === 0) return { contexts, next: rest }
      await breathe(isEnough ? Infinity : read)
    }
  }

  /** True when the page is full. */
  async #add(stored: readonly StoredContext[]): Promise<boolean> {
    const { limit } = this.#request
    const [{ fits, test }, contexts] = [this.#given, this.#contexts]
    const matches = test === null ? stored : stored.filter((context) => this.#passes(context, test))
    for (const some of bySize(matches)) {
      this.#env.reads?.signal?.throwIfAborted()
      const views = await Promise.all(some.map((context) => this.#viewOf(context)))
      for (const [index, context] of some.entries()) {
        const view = views[index]
        if (view && this.#skip > 0) this.#skip -= 1
        else if (view) {
          this.#size += charactersOf(context.parts)
          const fit = fits ? await fits(view) : this.#size <= PAGE_CHARACTERS
          if (!fit && contexts.length > 0) return true
          contexts.push(view)
        }
        this.#behind = context.id
        if (contexts.length === limit) return true
      }
    }
    return false
  }

  /** Of a damaged one, the view tells. */
  #passes(context: StoredContext, test: (context: StoredContext) => boolean): boolean {
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
  async #viewOf(stored: StoredContext): Promise<ListedContext | null> {
    const { log, reader } = this.#env
    const [{ isLimited }, isSummary] = [this.#given, this.#request.view === 'summary']
    try {
      const flux = await pinnedFluxOf(this.#env, stored, decodeHead(stored))
      if (isLimited && flux.secured) return null
      const { record, release } = await reader.parse(stored, (isSummary ? SUMMARY : WHOLE)(stored.parts, flux))
      try {
        // What a summary leaves out is not read.
        const shown = isSummary ? { ...record, moves: 0, tail: [], visited: [] } : record
        const view = contextView(shown, flux, await viewEnvOf(this.#env, shown, isReadable(this.#env)))
        return isSummary ? summaryOf(view) : view
      } finally {
        release()
      }
    } catch (error) {
      if (!isUnreadable(error, log)) log.error("a context can't be shown", { contextId: stored.id, error })
      return null
    }
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
