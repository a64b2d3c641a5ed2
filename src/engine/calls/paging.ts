// engine/calls: pages of lists whose rows are looked at one after the other. A request looks at a bounded number of them: its
// page then ends early, and says where the next one begins.
import type { CallEnv } from './call-env.ts'

/** Rows that one request looks at, and characters of these. */
const MAX_ROWS = 10_000
const MAX_CHARACTERS = 16 * 1024 * 1024

/** Where a page begins: how many rows that are meant it passes over, and behind which key; null: at the first. */
export interface Position {
  readonly skip: number
  readonly behind: string | null
}

/** `after`: what an earlier page has given as `next`. */
export function positionOf(asked: {
  readonly after?: string | undefined
  readonly page: number
  readonly limit: number
}): Position {
  const { after, page, limit } = asked
  if (after === undefined) return { skip: page * limit, behind: null }
  const colon = after.indexOf(':')
  return { skip: Number(after.slice(0, colon)), behind: after.slice(colon + 1) }
}

/** A row of a list. `characters`: that were read for it. */
interface Row {
  readonly key: string
  readonly characters: number
}

/**
 * A page of the rows that are meant. `show`: how such a row is shown, and the share of a page that it fills.
 * @throws whatever the signal of the request says
 */
export async function pageOf<R extends Row, V>(
  { reads }: CallEnv,
  rows: AsyncIterable<R> | Iterable<R>,
  { skip: toSkip, limit }: { readonly skip: number; readonly limit: number },
  isMeant: (row: R) => boolean | Promise<boolean>,
  show: (
    row: R,
  ) => { readonly view: V; readonly share: number } | Promise<{ readonly view: V; readonly share: number }>,
): Promise<{ readonly views: V[]; readonly next: string | null }> {
  const views: V[] = []
  let [skip, looked, characters, share, last] = [toSkip, 0, 0, 0, '']
  for await (const row of rows) {
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
