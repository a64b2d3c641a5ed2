// http: work that is done side by side, as much of it as is allowed, and in order where it concerns the same thing. What
// concerns everything is done after all that came before it, and before all that comes after.

/** What a piece of work concerns: a context, or something else by its name; everything; or nothing else does. */
export type Concern = number | string | 'everything' | null

export interface LaneJob {
  readonly concern: Concern
  /** Under which it has its effect once: one that repeats it begins when it is done, and gets its answer. */
  readonly key: string | null
  /**
   * Never rejects. Calls `placed` when it has its place in the order of its context: those behind it need not wait until
   * it is done.
   */
  run(placed: () => void): Promise<void>
}

/** Of one thing. */
interface Lane {
  /** Under way. */
  count: number
  /** Whether the last that began has its place. */
  isPlaced: boolean
  /** Of the jobs under way. */
  readonly keys: Set<string>
  readonly waiting: LaneJob[]
}

/** Jobs of one thing at a time: as many messages as a context takes in one turn. */
const LANE_JOBS = 100

export class Lanes {
  readonly #atOnce: number
  readonly #onRoom: () => void
  readonly #lanes = new Map<number | string, Lane>()
  /** Under way or waiting. */
  #count = 0
  /** Concerns everything, and waits or is under way: nothing else begins. */
  #barrier: LaneJob | null = null

  constructor({ atOnce, onRoom }: { readonly atOnce: number; readonly onRoom: () => void }) {
    this.#atOnce = atOnce
    this.#onRoom = onRoom
  }

  get isIdle(): boolean {
    return this.#count === 0
  }

  /** Whether there is no room now: nothing may be added. `onRoom` is called each time when something is done. */
  get isFull(): boolean {
    return this.#barrier !== null || this.#count >= this.#atOnce
  }

  add(job: LaneJob): void {
    const { concern } = job
    this.#count += 1
    if (concern === 'everything') {
      this.#barrier = job
      if (this.#count === 1) this.#begin(job, null)
    } else if (concern === null) this.#begin(job, null)
    else this.#enter(concern, job)
  }

  #enter(concern: number | string, job: LaneJob): void {
    let lane = this.#lanes.get(concern)
    if (lane === undefined) {
      lane = { count: 0, isPlaced: true, keys: new Set(), waiting: [] }
      this.#lanes.set(concern, lane)
    }
    if (lane.waiting.length === 0 && mayBegin(lane, job)) this.#begin(job, lane)
    else lane.waiting.push(job)
  }

  #begin(job: LaneJob, lane: Lane | null): void {
    if (lane) {
      lane.isPlaced = false
      lane.count += 1
      if (job.key !== null) lane.keys.add(job.key)
    }
    let [isPlaced, hasBegun] = [false, false]
    const placed = () => {
      if (!lane || isPlaced) return
      isPlaced = lane.isPlaced = true
      // Until it has begun, its caller begins those behind it.
      if (hasBegun) this.#goOn(lane)
    }
    const ended = () => {
      placed()
      this.#end(job, lane)
    }
    void job.run(placed).then(ended)
    hasBegun = true
  }

  #end(job: LaneJob, lane: Lane | null): void {
    this.#count -= 1
    if (lane) this.#leave(job, lane)
    if (this.#barrier === job) this.#barrier = null
    else if (this.#barrier !== null && this.#count === 1) this.#begin(this.#barrier, null)
    this.#onRoom()
  }

  #leave({ concern, key }: LaneJob, lane: Lane): void {
    lane.count -= 1
    if (key !== null) lane.keys.delete(key)
    this.#goOn(lane)
    if (lane.count === 0 && concern !== null) this.#lanes.delete(concern)
  }

  #goOn(lane: Lane): void {
    for (let next = lane.waiting[0]; next !== undefined && mayBegin(lane, next); next = lane.waiting[0]) {
      lane.waiting.shift()
      this.#begin(next, lane)
    }
  }
}

const mayBegin = ({ count, isPlaced, keys }: Lane, { key }: LaneJob): boolean =>
  count === 0 || (count < LANE_JOBS && isPlaced && !(key !== null && keys.has(key)))
