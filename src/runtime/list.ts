// runtime: lists of contexts, without those that the caller may not see.
import { denial, type Caller } from '../model/caller.ts'
import type { ContextView } from '../model/context.ts'
import type { ContextRecord } from '../model/record.ts'
import type { Log } from '../ports/log.ts'
import type { Store } from '../ports/store.ts'
import { decode } from './codec.ts'
import type { CheckedList } from './requests.ts'
import { SECURED, wordsOfList } from './terms.ts'

/** Contexts looked at together. */
const STRIDE = 1000

export interface ListParts {
  readonly store: Store
  readonly log: Log
  /** Whether the context is of a secured service. */
  readonly secured: (record: ContextRecord) => Promise<boolean>
  readonly view: (record: ContextRecord) => Promise<ContextView>
}

/** The page that is asked for, by ascending id. A context whose definition no longer compiles can't be shown: it is logged and left out. */
export async function list({ store, log, secured, view }: ListParts, caller: Caller, request: CheckedList): Promise<ContextView[]> {
  const { limit, skip } = request
  const records = await seesAll(store, caller)
    ? (await store.list({ all: wordsOfList(request), limit, skip, after: request.after })).map(decode)
    : await openOnes({ store, secured }, request)
  const views = await Promise.all(records.map((record) => view(record).catch((error: unknown) => {
    log.error('a context can\'t be shown', { contextId: record.id, error })
    return null
  })))
  return views.filter((shown) => shown !== null)
}

/** Most servers have no secured service, and most callers of one that has are privileged: only the others pay for the difference. */
async function seesAll(store: Store, caller: Caller): Promise<boolean> {
  return denial(caller, 'read') === null || (await store.list({ all: [SECURED], limit: 1 })).length === 0
}

/** Counts and shows the contexts of services that aren't secured as if there were no others. */
async function openOnes({ store, secured }: Pick<ListParts, 'store' | 'secured'>, request: CheckedList): Promise<ContextRecord[]> {
  const { limit, skip } = request
  const found: ContextRecord[] = []
  let after = request.after
  for (;;) {
    const records = (await store.list({ all: wordsOfList(request), limit: STRIDE, after })).map(decode)
    for (const record of records) if (!await secured(record).catch(() => true)) found.push(record)
    if (found.length >= skip + limit || records.length < STRIDE) return found.slice(skip, skip + limit)
    after = records.at(-1)?.id
  }
}
