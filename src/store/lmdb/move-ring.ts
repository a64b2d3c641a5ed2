// store/lmdb: the feed of moves where there is one server: the newest 10,000 to 20,000 messages, in memory. They are gone
// when the process ends.
import { randomBytes } from 'node:crypto'
import type { Clock } from '../../ports/clock.ts'
import {
  KEPT_MOVES,
  sizeOfMove,
  UNREAD_MS,
  type CommittedMove,
  type FeedItem,
  type FeedListener,
  type MoveFeed,
} from '../../ports/feeds.ts'

/** Characters that all may take: where they are large, fewer are kept. */
const MAX_CHARACTERS = 134_217_728

/** An item whose text is made when it is first asked for: perhaps never. */
class RingItem implements FeedItem {
  readonly id: string
  readonly move: CommittedMove | null
  #text: string | null = null

  constructor(id: string, move: CommittedMove | null) {
    this.id = id
    this.move = move
  }

  get text(): string {
    this.#text ??= JSON.stringify(this.move?.message ?? null)
    return this.#text
  }
}

/** Ids are the name of this ring, and a number. */
const ID = /^([\w-]{8})\.(\d{1,15})$/
const numberOf = (id: string) => Number(id.slice(id.indexOf('.') + 1))

export function moveRing(clock: Pick<Clock, 'after'>): MoveFeed {
  /** Identifies this process, and the time for which it is active: ids from before are not known. */
  let name = ''
  const items: RingItem[] = []
  /** Number of the first item that is kept. Those before are gone. */
  let first = 1
  let characters = 0
  let listener: FeedListener | null = null
  /** Number of the first item that the listener was not given. */
  let unheard = 1
  /** Whether the listener will be called, or was called lately. */
  let isScheduled = false
  let callOff: (() => void) | null = null

  const idOf = (number: number) => `${name}.${number}`
  /** The number of the next item. */
  const end = () => first + items.length

  /** The number in an id; null: what is behind it is not known, or kept no more. */
  function knownIn(id: string): number | null {
    const number = numberOf(id)
    return ID.exec(id)?.[1] === name && number >= first - 1 && number < end() ? number : null
  }

  function push(move: CommittedMove | null): void {
    items.push(new RingItem(idOf(end()), move))
    characters += sizeOfMove(move)
    const { length } = items
    if (length >= 2 * KEPT_MOVES || (characters > MAX_CHARACTERS && length > 1)) keep(Math.ceil(length / 2))
    if (listener !== null) tellSoon()
  }

  /** Drops the others. Seldom, and many at once: removing from the front of a long list is slow. */
  function keep(count: number): void {
    const dropped = items.splice(0, items.length - count)
    for (const { move } of dropped) characters -= sizeOfMove(move)
    first += dropped.length
  }

  /** At the end of this turn of the event loop, or when the last call is long enough ago. */
  function tellSoon(): void {
    if (isScheduled) return
    isScheduled = true
    setImmediate(tell)
  }

  function tell(): void {
    isScheduled = false
    if (listener === null || unheard === end()) return
    const news = items.slice(Math.max(0, unheard - first))
    if (unheard < first) news.unshift(new RingItem(idOf(first - 1), null))
    unheard = end()
    isScheduled = true
    clock.after(listener(news), tell)
  }

  /** When there was no reader for a while, commits are not published any more, and what was kept is dropped. */
  function endLater(): void {
    callOff?.()
    callOff = clock.after(UNREAD_MS, () => {
      name = ''
      keep(0)
    })
  }

  return {
    get isActive() {
      return name !== ''
    },
    publish: push,
    miss: () => push(null),
    async activate() {
      if (name === '') name = randomBytes(6).toString('base64url')
      if (listener === null) endLater()
      return idOf(end() - 1)
    },
    listen(from, given) {
      callOff?.()
      listener = given
      unheard = (knownIn(from) ?? end() - 1) + 1
      if (unheard < end()) tellSoon()
      return () => {
        if (listener !== given) return
        listener = null
        endLater()
      }
    },
    async read({ after, limit, characters: most }) {
      const number = knownIn(after)
      const from = number === null ? 0 : number + 1 - first
      const page: RingItem[] = []
      for (let left = most; page.length < limit && left > 0;) {
        const item = items[from + page.length]
        if (item === undefined) break
        page.push(item)
        left -= item.text.length
      }
      const newest = idOf(end() - 1)
      const last = page.at(-1)?.id ?? newest
      return { items: page, end: last, isGap: number === null, isCut: last !== newest }
    },
    isBefore: (one, other) => numberOf(one) < numberOf(other),
    async close() {
      listener = null
      callOff?.()
    },
  }
}
