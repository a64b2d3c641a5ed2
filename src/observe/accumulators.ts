// observe: what metrics are counted in between two scrapes. The children of prom-client hash their labels and check them
// anew with each call, which takes ten times as long as the addition itself: here it is one addition to a number that
// whoever counts has at hand. prom-client gets the numbers when somebody asks for them.

/** A number that only grows, or that a gauge shows. */
export class Tally {
  value = 0
}

/** How often values were not above each of some bounds. */
export class Distribution {
  readonly #bounds: Float64Array
  /** Of each bound, without those of lower ones; the last one: above all of them. */
  readonly #counts: Float64Array
  #sum = 0

  /** @param bounds ascending */
  constructor(bounds: readonly number[]) {
    this.#bounds = Float64Array.from(bounds)
    this.#counts = new Float64Array(bounds.length + 1)
  }

  observe(value: number): void {
    const bounds = this.#bounds
    let place = 0
    while (value > (bounds[place] ?? Infinity)) place += 1
    this.#counts[place] = (this.#counts[place] ?? 0) + 1
    this.#sum += value
  }

  /** As Prometheus has it: each bucket has the values of the lower ones, too. */
  shown(): {
    readonly buckets: readonly (readonly [le: number | '+Inf', count: number])[]
    sum: number
    count: number
  } {
    let count = 0
    const buckets = Array.from(this.#counts, (own, place) => {
      count += own
      return [this.#bounds[place] ?? '+Inf', count] as const
    })
    return { buckets, sum: this.#sum, count }
  }
}

/** What stands for labels that are too many. */
const OTHER = 'other'
/** Labels of one metric: more would cost whoever scrapes and stores them too much. */
const MAX_SERIES = 5000

interface Labelled<T> {
  readonly values: readonly string[]
  readonly cell: T
}

/** The numbers of one metric, by its labels. */
export class Series<T> {
  readonly #create: () => T
  readonly #open: number
  readonly #max: number
  readonly #cells = new Map<string, Labelled<T>>()

  /**
   * @param create makes the number of new labels
   * @param open how many of the labels, from the first on, have values of which there may be any number: beyond the bound
   * they are `other`
   */
  constructor(create: () => T, open = 1, max = MAX_SERIES) {
    this.#create = create
    this.#open = open
    this.#max = max
  }

  /** The number of these labels. To be kept by whoever asks often. */
  of(...values: readonly string[]): T {
    const known = this.#cells.get(values.join('\0'))
    if (known) return known.cell
    const kept = this.#cells.size < this.#max ? values : values.map((value, at) => (at < this.#open ? OTHER : value))
    const key = kept.join('\0')
    const cell = this.#cells.get(key)?.cell ?? this.#create()
    this.#cells.set(key, { values: kept, cell })
    return cell
  }

  all(): Iterable<Labelled<T>> {
    return this.#cells.values()
  }
}
