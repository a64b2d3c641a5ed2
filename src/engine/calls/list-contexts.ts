// engine/calls: `listPage` returns a page of the contexts that the caller may see, and limits how many are in memory at
// once, and how many are examined.
import type { ContextPage, Fits, ListedContext, ListRequest } from '../../api/list-contexts.ts'
import type { ContextView } from '../../api/get-context.ts'
import { NOT_IN_SUMMARY } from '../../api/list-contexts.ts'
import type { ContextId } from '../../model/context.ts'
import { breathe, charactersOf } from '../../model/texts.ts'
import type { StoredContext } from '../../ports/store.ts'
import { decodeRecord, decodeSummary } from '../record/decode.ts'
import { pinnedFluxOf } from '../record/pinned-flux.ts'
import { isUnreadable } from '../record/unreadable.ts'
import { contextView } from '../record/views.ts'
import { viewEnvOf, type CallEnv } from './call-env.ts'
import { listRequest } from './requests.ts'
import { selectionOf, type Selected } from './selection.ts'

/** Limits of one read from the store: contexts, and approximate characters. */
const STRIDE = { contexts: 256, tested: 128, characters: 256 * 1024 }
/** Views that are made concurrently: each may load a thousand moves. */
const VIEWS = 8
/** Characters of stored contexts after which a page ends early, unless the caller passes `fits`. */
const PAGE_CHARACTERS = 2 * 1024 * 1024
/** Contexts, and characters of them, that are read for a page because the store does not know the times asked for. */
const MAX_READ = { contexts: 384, characters: 1024 * 1024 }

/** Times that the store may examine as many contexts as it may at once, for one page. */
const MAX_SHORT = 2

/** As `FluxApi.listContexts`. */
export function listContexts(env: CallEnv) {
  function list(request: ListRequest & { readonly view?: 'full' | undefined }): Promise<ContextView[]>
  function list(request: ListRequest): Promise<ListedContext[]>
  async function list(request: ListRequest): Promise<ListedContext[]> {
    return (await listPage(env, request)).contexts
  }
  return list
}

/**
 * The requested page, by the order of ids. It ends before the first context that does not fit; it may end early where
 * many had to be examined. A context with a damaged record is logged and left out.
 */
export async function listPage(env: CallEnv, given: ListRequest, fits?: Fits): Promise<ContextPage> {
  const request = listRequest(given, env.tagLimits)
  const selected = await selectionOf(env, request)
  const page = new Page(env, request, { ...selected, fits })
  // Each of the skipped contexts has to be read.
  if (selected.test === null || request.skip === 0) return page.read()
  return env.searches.run(() => page.read())
}

type Checked = ReturnType<typeof listRequest>

class Page {
  readonly #env: CallEnv
  readonly #request: Checked
  readonly #given: Selected & { readonly fits: Fits | undefined }
  readonly #contexts: ListedContext[] = []
  /** The last context that was dealt with. */
  #behind: ContextId | undefined
  /** Characters of the contexts on the page, and of all that were read. */
  #size = 0
  #read = 0
  /** Matches to pass over: the store does, if it knows all that is asked for. */
  #skip: number

  constructor(env: CallEnv, request: Checked, given: Selected & { readonly fits: Fits | undefined }) {
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
      const asked = test === null ? Math.min(STRIDE.contexts, limit - contexts.length) : STRIDE.tested
      const bounds = order === 'asc' ? { after: this.#behind, before } : { after, before: this.#behind }
      const skip = test === null ? this.#skip : 0
      const query = { ...selection, ...bounds, order, limit: asked, skip, characters: STRIDE.characters }
      const { contexts: stored, rest } = await this.#env.store.select(query)
      if (test === null) this.#skip = 0
      const characters = this.#read
      if (await this.#add(stored)) return { contexts, next: this.#behind ?? null }
      if (rest === null) return { contexts, next: null }
      this.#behind = rest
      looked += stored.length
      const read = this.#read - characters
      // The store has examined as many as it may.
      if (stored.length < asked && read < STRIDE.characters) short += 1
      const isEnough = test !== null && (looked >= MAX_READ.contexts || this.#read >= MAX_READ.characters)
      if ((short >= MAX_SHORT || isEnough) && this.#skip === 0) return { contexts, next: rest }
      await breathe(isEnough ? Infinity : read)
    }
  }

  /** True when the page is full. */
  async #add(stored: readonly StoredContext[]): Promise<boolean> {
    const { limit } = this.#request
    const [{ fits, test }, contexts] = [this.#given, this.#contexts]
    for (const { parts } of stored) this.#read += charactersOf(parts)
    const matches = test === null ? stored : stored.filter((context) => this.#passes(context, test))
    for (let place = 0; place < matches.length; place += VIEWS) {
      const some = matches.slice(place, place + VIEWS)
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
   * because the index keys reflect the services at the start of the list, and contexts written by older versions have
   * fewer keys.
   */
  async #viewOf(stored: StoredContext): Promise<ListedContext | null> {
    const { log } = this.#env
    const [{ isLimited }, isSummary] = [this.#given, this.#request.view === 'summary']
    try {
      const record = isSummary ? decodeSummary(stored) : decodeRecord(stored)
      // Redaction may take long if there are many secrets, even if the view is small.
      await breathe(record.request === null && record.inherited === null ? charactersOf(stored.parts) : Infinity)
      const flux = await pinnedFluxOf(this.#env, stored, record)
      if (isLimited && flux.secured) return null
      // What a summary leaves out is not read.
      const shown = isSummary ? { ...record, moves: 0, tail: [], visited: [] } : record
      const view = contextView(shown, flux, await viewEnvOf(this.#env, shown))
      return isSummary ? summaryOf(view) : view
    } catch (error) {
      if (!isUnreadable(error, log)) log.error("a context can't be shown", { contextId: stored.id, error })
      return null
    }
  }
}

/** Without data, states and history. The order of fields stays, which matters in XML. */
function summaryOf(view: ContextView): ListedContext {
  const { error } = view
  const summary: ListedContext = { ...view, error: error && { message: error.message, type: error.type } }
  for (const name of NOT_IN_SUMMARY) Reflect.deleteProperty(summary, name)
  return summary
}
