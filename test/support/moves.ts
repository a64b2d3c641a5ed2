// A feed of moves that keeps in memory what it is told.
import type { CommittedMove, MoveFeed } from '../../src/ports/feeds.ts'

export function feedOf(isActive: boolean) {
  const moves: CommittedMove[] = []
  const feed: MoveFeed = {
    isActive,
    publish: (move) => void moves.push(move),
    miss: () => undefined,
    activate: () => Promise.resolve('1'),
    listen: () => () => undefined,
    read: () => Promise.resolve({ items: [], end: '1', isGap: false, isCut: false }),
    isBefore: () => false,
    close: () => Promise.resolve(),
  }
  return { feed, moves }
}
