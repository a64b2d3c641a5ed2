// observe: what metrics are counted in between two scrapes. The children of prom-client hash their labels and check
// them anew with each call, which takes ten times as long as the addition itself: here it is one addition to a number
// that the caller has at hand. `exposition.ts` shows the numbers at a scrape.

/** A number. */
export class Tally {
  value = 0
}

/** How often values were not above each of some bounds. */
export class Distribution {
  readonly bounds: Float64Array
  /** The count for each bound, without those of lower bounds; the last one counts what is above all of them. */
  readonly counts: Float64Array
  sum = 0

  /** @param bounds ascending */
  constructor(bounds: readonly number[]) {
    this.bounds = Float64Array.from(bounds)
    this.counts = new Float64Array(bounds.length + 1)
  }

  observe(value: number) {
    const { bounds, counts } = this
    let place = 0
    while (value > (bounds[place] ?? Infinity)) place += 1
    counts[place] = (counts[place] ?? 0) + 1
    this.sum += value
  }
}

/** What stands for labels that are too many. */
export const OTHER = 'other'
/** Labels of one metric: more would cost those who scrape and store them too much. */
const MAX_SERIES = 5000

/** The numbers of one metric, by its labels. */
export class Series<T> {
  readonly #create: () => T
  readonly #open: number
  readonly #max: number
  readonly #cells = new Map<string, { readonly values: readonly string[]; readonly cell: T }>()

  /**
   * @param create makes the number of new labels
   * @param open how many of the labels, from the first on, have values of which there may be any number: beyond the
   * bound they are `other`
   */
  constructor(create: () => T, open = 1, max = MAX_SERIES) {
    this.#create = create
    this.#open = open
    this.#max = max
  }

  /** The number of these labels. To be kept by a caller that asks often. */
  of(first: string, second = '', third = '') {
    const known = this.#cells.get(`${first}\0${second}\0${third}`)
    if (known) return known.cell
    const given = [first, second, third]
    const values = this.#cells.size < this.#max ? given : given.map((value, at) => (at < this.#open ? OTHER : value))
    const key = values.join('\0')
    const made = this.#cells.get(key) ?? { values, cell: this.#create() }
    this.#cells.set(key, made)
    return made.cell
  }

  all() {
    return this.#cells.values()
  }
}
