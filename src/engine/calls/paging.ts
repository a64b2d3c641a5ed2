// engine/calls: pages of lists whose rows are looked at one after the other. A request looks at a bounded number of them: its
// page then ends early, and says where the next one begins.
import type { CallEnv } from './call-env.ts'

/** Rows that one request looks at, and characters of these. */
const MAX_ROWS = 10_000
const MAX_CHARACTERS = 16 * 1024 * 1024

/** What is asked for. `after`: what an earlier page has given as `next`; `page`: else how many pages are passed over. */
interface Asked {
  readonly after?: string | undefined
  readonly page: number
  readonly limit: number
}

/** A row of a list. `characters`: that were read for it. */
interface Row {
  readonly key: string
  readonly characters: number
}

/**
 * A page of the rows that are meant. `rowsOf`: the rows behind that key; null: all. `show`: how such a row is shown, and the
 * share of a page that it fills.
 * @throws whatever the signal of the request says
 */
export async function pageOf<R extends Row, V>(
  { reads }: CallEnv,
  { after, page, limit }: Asked,
  rowsOf: (behind: string | null) => Promise<AsyncIterable<R> | Iterable<R>>,
  isMeant: (row: R) => Promise<boolean>,
  show: (row: R) => Promise<{ readonly view: V; readonly share: number }>,
): Promise<{ readonly views: V[]; readonly next: string | null }> {
  const views: V[] = []
  const [, toSkip = page * limit, behind = null] = /^(\d+):(.*)$/s.exec(after ?? '') ?? []
  let [skip, looked, characters, share, last] = [Number(toSkip), 0, 0, 0, '']
  for await (const row of await rowsOf(behind)) {
    reads?.signal?.throwIfAborted()
    if (looked >= MAX_ROWS || characters >= MAX_CHARACTERS) return { views, next: `${skip}:${last}` }
    if (await isMeant(row)) {
      if (skip > 0) skip -= 1
      else if (views.length === limit || share > 1) return { views, next: `0:${last}` }
      else {
        const shown = await show(row)
        views.push(shown.view)
        share += shown.share
      }
    }
    looked += 1
    characters += row.characters
    last = row.key
  }
  return { views, next: null }
}
