// inspector/diagram: finds the way of each line between two states: along lanes, around states, with few corners, and
// beside other lines (A* on the lanes).
import type { Box } from './layout.ts'
import { Heap } from './heap.ts'
import { LaneGrid, portsOf, type Port } from './lanes.ts'

export interface Point {
  readonly x: number
  readonly y: number
}

export interface Way {
  readonly from: string
  readonly to: string
}

/** Pixels that a corner, and a piece that another line takes, are worth. */
const CORNER_COST = 40
const TAKEN_COST = 120
/** What is left of the way counts more than it is long: far fewer crossings are looked at, and ways stay good. */
const HASTE = 2
/** A drawing with more crossings of lanes than this is not routed. */
const MAX_CROSSINGS = 500_000
/** Crossings that are looked at for all lines together, about half a second. */
const MAX_STEPS = 1_500_000

/**
 * The corners of each line, in the order of the connections; null: there are too many states and lines. `turn` is called
 * after each line, to let others work.
 */
export async function routesOf(
  boxes: readonly Box[],
  connections: readonly Way[],
  turn: () => Promise<void>,
): Promise<readonly (readonly Point[])[] | null> {
  const named = new Map(boxes.map((box) => [box.name, box]))
  const lanes = new LaneGrid(boxes)
  if (lanes.xs.length * lanes.ys.length > MAX_CROSSINGS) return null
  const router = new Router(lanes)
  const routes = new Map<number, readonly Point[]>()
  // Short ones first, since these have less room for a detour.
  const order = [...connections.entries()].toSorted(
    ([, one], [, other]) => distance(named, one) - distance(named, other),
  )
  for (const [index, { from, to }] of order) {
    const [source, target] = [named.get(from), named.get(to)]
    if (!source || !target) continue
    const found = router.route(source, target)
    if (!found) return null
    routes.set(index, found)
    await turn()
  }
  return connections.map((_connection, index) => routes.get(index) ?? [])
}

const distance = (named: ReadonlyMap<string, Box>, { from, to }: Way): number => {
  const [source, target] = [named.get(from), named.get(to)]
  return source && target ? Math.abs(source.x - target.x) + Math.abs(source.y - target.y) : 0
}

/** How a line comes to a crossing: along a row, or along a column. */
const ROW = 0
const COLUMN = 1

/** What is known of a crossing and a heading is kept under their number: `crossing * 2 + heading`. */
class Router {
  readonly #lanes: LaneGrid
  /** How many lines use a port. */
  readonly #used = new Map<string, number>()
  readonly #costs: Float64Array
  readonly #before: Int32Array
  /** The line of which cost and step before are, and of which it is done. */
  readonly #known: Int32Array
  readonly #done: Int32Array
  readonly #open = new Heap()
  #goals = new Map<number, Port>()
  #starts = new Map<number, Port>()
  #target: Box | null = null
  #line = 0
  #steps = 0

  constructor(lanes: LaneGrid) {
    this.#lanes = lanes
    const size = lanes.xs.length * lanes.ys.length * 2
    this.#costs = new Float64Array(size)
    this.#before = new Int32Array(size)
    this.#known = new Int32Array(size)
    this.#done = new Int32Array(size)
  }

  /** null: there is none, or all lines together took too many steps. */
  route(source: Box, target: Box): readonly Point[] | null {
    this.#line += 1
    this.#target = target
    this.#open.clear()
    this.#begin(source, target)
    let best: { readonly step: number; readonly port: Port; readonly cost: number } | null = null
    for (;;) {
      if (best !== null && this.#open.rank >= best.cost) break
      const step = this.#open.pop()
      if (step === null) break
      if (this.#done[step] === this.#line) continue
      this.#done[step] = this.#line
      if (++this.#steps > MAX_STEPS) return null
      const port = this.#goals.get(step >> 1)
      if (port) {
        const corner = (step & 1) === (port.dx === 0 ? COLUMN : ROW) ? 0 : CORNER_COST
        const cost = (this.#costs[step] ?? 0) + this.#costOf(port) + corner
        if (best === null || cost < best.cost) best = { step, port, cost }
      }
      this.#go(step)
    }
    return best && this.#keep(best.step, best.port)
  }

  #begin(source: Box, target: Box): void {
    // A line of a state to itself leaves at the right and comes back from below, so that it and its label are seen.
    const isLoop = source === target
    const middle = target.x + target.width / 2
    this.#goals = new Map()
    this.#starts = new Map()
    for (const port of portsOf(target, 'in').filter(({ x, dy }) => !isLoop || (dy > 0 && x <= middle))) {
      const crossing = this.#lanes.crossingOf(port)
      const known = this.#goals.get(crossing)
      if (!known || this.#costOf(port) < this.#costOf(known)) this.#goals.set(crossing, port)
    }
    for (const port of portsOf(source, 'out').filter(({ dx }) => !isLoop || dx === 1)) {
      const step = this.#lanes.crossingOf(port) * 2 + (port.dx === 0 ? COLUMN : ROW)
      if (this.#offer(step, this.#costOf(port), -1)) this.#starts.set(step, port)
    }
  }

  /** A port that another line uses is worse. */
  #costOf(port: Port): number {
    return port.cost + (this.#used.get(`${port.x},${port.y}`) ?? 0) * 60
  }

  #go(step: number): void {
    const { xs, ys } = this.#lanes
    const crossing = step >> 1
    const column = crossing % xs.length
    const row = (crossing - column) / xs.length
    const [x, y] = [xs[column] ?? 0, ys[row] ?? 0]
    if (column > 0) this.#goTo(step, crossing - 1, ROW, x - (xs[column - 1] ?? 0))
    if (column < xs.length - 1) this.#goTo(step, crossing + 1, ROW, (xs[column + 1] ?? 0) - x)
    if (row > 0) this.#goTo(step, crossing - xs.length, COLUMN, y - (ys[row - 1] ?? 0))
    if (row < ys.length - 1) this.#goTo(step, crossing + xs.length, COLUMN, (ys[row + 1] ?? 0) - y)
  }

  #goTo(step: number, crossing: number, heading: number, length: number): void {
    if (this.#lanes.isBlocked(crossing)) return
    const corner = (step & 1) === heading ? 0 : CORNER_COST
    const taken = this.#lanes.taken(step >> 1, crossing) > 0 ? TAKEN_COST : 0
    this.#offer(crossing * 2 + heading, (this.#costs[step] ?? 0) + length + corner + taken, step)
  }

  /** Whether it is better than what was known. */
  #offer(step: number, cost: number, before: number): boolean {
    if (this.#known[step] === this.#line && cost >= (this.#costs[step] ?? 0)) return false
    this.#known[step] = this.#line
    this.#costs[step] = cost
    this.#before[step] = before
    this.#open.push(step, cost + HASTE * this.#atLeast(step >> 1))
    return true
  }

  /** The way to the target is never shorter. */
  #atLeast(crossing: number): number {
    if (!this.#target) return 0
    const { xs, ys } = this.#lanes
    const column = crossing % xs.length
    const [x, y] = [xs[column] ?? 0, ys[(crossing - column) / xs.length] ?? 0]
    const { x: left, y: top, width, height } = this.#target
    return Math.max(left - 14 - x, 0, x - left - width - 14) + Math.max(top - 14 - y, 0, y - top - height - 14)
  }

  /** Lanes may lie a few pixels beside a port: lines go straight all the same. */
  #endAt({ x, y, dx }: Port, crossing: number): Point {
    const { xs, ys } = this.#lanes
    const column = crossing % xs.length
    return dx === 0 ? { x: xs[column] ?? x, y } : { x, y: ys[(crossing - column) / xs.length] ?? y }
  }

  #keep(last: number, port: Port): readonly Point[] {
    const { xs, ys } = this.#lanes
    const points: Point[] = [this.#endAt(port, last >> 1)]
    let first = last
    for (let step = last; step >= 0; step = this.#before[step] ?? -1) {
      const crossing = step >> 1
      const column = crossing % xs.length
      points.push({ x: xs[column] ?? 0, y: ys[(crossing - column) / xs.length] ?? 0 })
      const before = this.#before[step] ?? -1
      if (before >= 0) this.#lanes.take(before >> 1, crossing)
      first = step
    }
    const start = this.#starts.get(first) ?? port
    for (const { x, y } of [port, start]) this.#used.set(`${x},${y}`, (this.#used.get(`${x},${y}`) ?? 0) + 1)
    points.push(this.#endAt(start, first >> 1))
    return withoutBetween(points.toReversed())
  }
}

/** Leaves only the ends and the corners. */
const withoutBetween = (points: readonly Point[]): Point[] =>
  points.filter((point, index) => {
    const [before, after] = [points[index - 1], points[index + 1]]
    if (!before || !after) return true
    return !((before.x === point.x && point.x === after.x) || (before.y === point.y && point.y === after.y))
  })
