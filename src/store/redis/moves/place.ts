// store/redis: places in the feed of moves: the ids of entries of a Redis stream, `<milliseconds>-<number>`.
import type { CommittedMove, FeedItem } from '../../../ports/feeds.ts'
import { listOf, texts, type Reply } from '../scripts.ts'

const PLACE = /^(\d{1,15})-(\d{1,15})$/

export const isPlace = (text: string): boolean => PLACE.test(text)

/** When Redis made the entry, epoch milliseconds. */
export const timeOf = (place: string): number => Number(place.slice(0, place.indexOf('-')))
const numberOf = (place: string): number => Number(place.slice(place.indexOf('-') + 1))

export function isPlaceBefore(one: string, other: string): boolean {
  const [time, otherTime] = [timeOf(one), timeOf(other)]
  return time === otherTime ? numberOf(one) < numberOf(other) : time < otherTime
}

/** Parsed when it is first asked for: readers who want everything do not. */
class EntryItem implements FeedItem {
  readonly id: string
  readonly text: string
  readonly #facts: string
  #move: CommittedMove | undefined

  constructor(id: string, facts: string, text: string) {
    this.id = id
    this.#facts = facts
    this.text = text
  }

  get move(): CommittedMove {
    this.#move ??= { message: JSON.parse(this.text), facts: JSON.parse(this.#facts), previousAt: null }
    return this.#move
  }
}

/** An entry in the reply of a script. Entries without a message say that some are missing, or that the feed began anew. */
export function itemIn(entry: Reply): FeedItem {
  const [place, fields = []] = listOf(entry)
  const [name, facts = '', , text = ''] = texts(fields)
  const id = String(place)
  return name === 'f' ? new EntryItem(id, facts, text) : { id, move: null, text: '' }
}
