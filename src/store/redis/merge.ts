// store/redis: merges ascending lists of ids, one for each partition, which are read in pieces.
import type { ContextId } from '../../model/context.ts'

/** Reads the next piece of a list; empty at its end. */
export type Source = () => Promise<readonly ContextId[]>

interface Stream {
  readonly next: Source
  piece: readonly ContextId[]
  place: number
  over: boolean
}

/** The ids of all lists, ascending, without the first `skip`, at most `limit`. */
export async function merged(
  sources: readonly Source[],
  { skip, limit }: { readonly skip: number; readonly limit: number },
): Promise<ContextId[]> {
  const streams: Stream[] = sources.map((next) => ({ next, piece: [], place: 0, over: false }))
  const page: ContextId[] = []
  for (let passed = 0; page.length < limit;) {
    const empty = streams.filter(({ piece, place, over }) => place >= piece.length && !over)
    await Promise.all(empty.map(fill))
    const lowest = streams.reduce<Stream | null>(
      (best, stream) => (headOf(stream) < (best ? headOf(best) : Infinity) ? stream : best),
      null,
    )
    if (!lowest) break
    const id = headOf(lowest)
    lowest.place += 1
    if (passed < skip) passed += 1
    else page.push(id)
  }
  return page
}

async function fill(stream: Stream): Promise<void> {
  stream.piece = await stream.next()
  stream.place = 0
  stream.over = stream.piece.length === 0
}

const headOf = ({ piece, place }: Stream): number => piece[place] ?? Infinity
