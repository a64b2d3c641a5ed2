// inspector/diagram: finds the way of each line between two states: along lanes, around states, with few corners, and
// beside other lines (A* on the lanes).
import type { Box } from './layout.ts'
import { Heap } from './heap.ts'
import { Lanes, portsOf, type Port } from './lanes.ts'

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
/** A drawing with more crossings of lanes than this has straight lines. */
const MAX_CROSSINGS = 120_000

/** The corners of each line, in the order of the connections. */
export function routesOf(boxes: readonly Box[], connections: readonly Way[]): readonly (readonly Point[])[] {
  const named = new Map(boxes.map((box) => [box.name, box]))
  const lanes = new Lanes(boxes)
  const isSmall = lanes.xs.length * lanes.ys.length <= MAX_CROSSINGS
  const used = new Map<string, number>()
  const routes = new Map<number, readonly Point[]>()
  // Short ones first, since these have less room for a detour.
  const order = [...connections.entries()].toSorted(
    ([, one], [, other]) => distance(named, one) - distance(named, other),
  )
  for (const [index, { from, to }] of order) {
    const [source, target] = [named.get(from), named.get(to)]
    if (!source || !target) continue
    const found = isSmall ? new Search(lanes, source, target, used).run() : null
    routes.set(index, found ?? straight(source, target))
  }
  return connections.map((_connection, index) => routes.get(index) ?? [])
}

const distance = (named: ReadonlyMap<string, Box>, { from, to }: Way): number => {
  const [source, target] = [named.get(from), named.get(to)]
  return source && target ? Math.abs(source.x - target.x) + Math.abs(source.y - target.y) : 0
}

const straight = (source: Box, target: Box): readonly Point[] => [
  { x: source.x + source.width, y: source.y + source.height / 2 },
  { x: target.x, y: target.y + target.height / 2 },
]

/** How a line comes to a crossing: 0 at its port, 1 along a row, 2 along a column. */
type Heading = 0 | 1 | 2

interface Step {
  readonly crossing: number
  readonly heading: Heading
  readonly cost: number
  readonly before: Step | null
  /** Of the line, at its first crossing. */
  readonly port: Port
}

class Search {
  readonly #lanes: Lanes
  readonly #goals = new Map<number, Port>()
  readonly #starts: readonly Port[]
  readonly #used: Map<string, number>
  readonly #target: Box
  /** Least cost so far of each crossing and heading. */
  readonly #costs = new Map<number, number>()
  readonly #open = new Heap<Step>()

  constructor(lanes: Lanes, source: Box, target: Box, used: Map<string, number>) {
    this.#lanes = lanes
    this.#used = used
    this.#target = target
    // A line of a state to itself leaves at the right and comes back from above or below, so that it is seen.
    const isLoop = source === target
    this.#starts = portsOf(source, 'out').filter(({ dx }) => !isLoop || dx === 1)
    for (const port of portsOf(target, 'in').filter(({ dy }) => !isLoop || dy !== 0)) {
      const crossing = lanes.crossingOf(port)
      const known = this.#goals.get(crossing)
      if (!known || this.#costOf(port) < this.#costOf(known)) this.#goals.set(crossing, port)
    }
  }

  run(): readonly Point[] | null {
    for (const port of this.#starts) {
      const heading: Heading = port.dx === 0 ? 2 : 1
      this.#offer({ crossing: this.#lanes.crossingOf(port), heading, cost: this.#costOf(port), before: null, port })
    }
    let best: { readonly step: Step; readonly port: Port; readonly cost: number } | null = null
    for (;;) {
      const next = this.#open.pop()
      if (next === null || (best !== null && next.rank >= best.cost)) break
      const { item: step } = next
      const port = this.#goals.get(step.crossing)
      if (port) {
        const turns = step.heading === (port.dx === 0 ? 2 : 1) ? 0 : CORNER_COST
        const cost = step.cost + this.#costOf(port) + turns
        if (best === null || cost < best.cost) best = { step, port, cost }
      }
      this.#go(step)
    }
    return best && this.#keep(best.step, best.port)
  }

  /** A port that another line uses is worse. */
  #costOf(port: Port): number {
    return port.cost + (this.#used.get(`${port.x},${port.y}`) ?? 0) * 60
  }

  #go(step: Step): void {
    const { xs, ys } = this.#lanes
    const column = step.crossing % xs.length
    const row = (step.crossing - column) / xs.length
    const ways = [
      { to: step.crossing - 1, heading: 1, is: column > 0, length: (xs[column] ?? 0) - (xs[column - 1] ?? 0) },
      {
        to: step.crossing + 1,
        heading: 1,
        is: column < xs.length - 1,
        length: (xs[column + 1] ?? 0) - (xs[column] ?? 0),
      },
      { to: step.crossing - xs.length, heading: 2, is: row > 0, length: (ys[row] ?? 0) - (ys[row - 1] ?? 0) },
      {
        to: step.crossing + xs.length,
        heading: 2,
        is: row < ys.length - 1,
        length: (ys[row + 1] ?? 0) - (ys[row] ?? 0),
      },
    ] as const
    for (const { to, heading, is, length } of ways) {
      if (!is || this.#lanes.isBlocked(to)) continue
      const corner = step.heading === heading ? 0 : CORNER_COST
      const taken = this.#lanes.taken(step.crossing, to) > 0 ? TAKEN_COST : 0
      this.#offer({ crossing: to, heading, cost: step.cost + length + corner + taken, before: step, port: step.port })
    }
  }

  #offer(step: Step): void {
    const key = step.crossing * 3 + step.heading
    if (step.cost >= (this.#costs.get(key) ?? Infinity)) return
    this.#costs.set(key, step.cost)
    this.#open.push({ item: step, rank: step.cost + this.#atLeast(step.crossing) })
  }

  /** The way to the target is never shorter. */
  #atLeast(crossing: number): number {
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

  #keep(last: Step, port: Port): readonly Point[] {
    const { xs, ys } = this.#lanes
    const points: Point[] = [this.#endAt(port, last.crossing)]
    let first = last
    for (let step: Step | null = last; step; step = step.before) {
      const column = step.crossing % xs.length
      points.push({ x: xs[column] ?? 0, y: ys[(step.crossing - column) / xs.length] ?? 0 })
      if (step.before) this.#lanes.take(step.before.crossing, step.crossing)
      first = step
    }
    for (const { x, y } of [port, first.port]) this.#used.set(`${x},${y}`, (this.#used.get(`${x},${y}`) ?? 0) + 1)
    points.push(this.#endAt(first.port, first.crossing))
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
