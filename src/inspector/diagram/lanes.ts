// inspector/diagram: the grid on which lines between states may run, and which of its pieces are taken.
import type { Box } from './layout.ts'

/** From a state to the lanes that pass it, in pixels. */
const LANES = [14, 26]
/** Lanes that lie closer together are one. */
const MIN_DISTANCE = 5

/** A port of a state: where a line begins or ends. */
export interface Port {
  readonly x: number
  readonly y: number
  /** The way from the state. */
  readonly dx: -1 | 0 | 1
  readonly dy: -1 | 0 | 1
  /** What it costs to use it. */
  readonly cost: number
}

const OUT = { right: 0, bottom: 30, top: 34, left: 90 }
const IN = { left: 0, top: 30, bottom: 34, right: 90 }
/** From the middle of a side, with what each costs more. */
const OFFSETS = { side: [0, -14, 14], top: [0, -24, 24, -48, 48] }

/** @param end whether lines begin there, or end */
export function portsOf(box: Box, end: 'out' | 'in'): readonly Port[] {
  const cost = end === 'out' ? OUT : IN
  const [middleX, middleY] = [box.x + box.width / 2, box.y + box.height / 2]
  const ports: Port[] = []
  for (const [rank, offset] of OFFSETS.side.entries()) {
    ports.push({ x: box.x + box.width, y: middleY + offset, dx: 1, dy: 0, cost: cost.right + rank * 4 })
    ports.push({ x: box.x, y: middleY + offset, dx: -1, dy: 0, cost: cost.left + rank * 4 })
  }
  for (const [rank, offset] of OFFSETS.top.entries()) {
    ports.push({ x: middleX + offset, y: box.y, dx: 0, dy: -1, cost: cost.top + rank * 4 })
    ports.push({ x: middleX + offset, y: box.y + box.height, dx: 0, dy: 1, cost: cost.bottom + rank * 4 })
  }
  return ports
}

export class LaneGrid {
  readonly xs: readonly number[]
  readonly ys: readonly number[]
  readonly #isBlocked: Uint8Array
  /** How many lines take the piece to the right of each crossing, and the piece below it. */
  readonly #right: Uint8Array
  readonly #below: Uint8Array

  constructor(boxes: readonly Box[]) {
    this.xs = sorted(boxes.flatMap(({ x, width }) => linesOf(x, width, OFFSETS.top)))
    this.ys = sorted(boxes.flatMap(({ y, height }) => linesOf(y, height, OFFSETS.side)))
    const size = this.xs.length * this.ys.length
    this.#isBlocked = new Uint8Array(size)
    this.#right = new Uint8Array(size)
    this.#below = new Uint8Array(size)
    for (const box of boxes) this.#block(box)
  }

  /** The number of the crossing where a line that uses this port comes upon the lanes. */
  crossingOf({ x, y, dx, dy }: Port): number {
    const column = nearest(this.xs, x + dx * (LANES[0] ?? 0))
    return nearest(this.ys, y + dy * (LANES[0] ?? 0)) * this.xs.length + column
  }

  isBlocked(crossing: number): boolean {
    return this.#isBlocked[crossing] === 1
  }

  /** How many lines take the piece between two crossings that lie side by side. */
  taken(from: number, to: number): number {
    const first = Math.min(from, to)
    return (Math.abs(from - to) === 1 ? this.#right[first] : this.#below[first]) ?? 0
  }

  take(from: number, to: number): void {
    const first = Math.min(from, to)
    const pieces = Math.abs(from - to) === 1 ? this.#right : this.#below
    pieces[first] = Math.min(255, (pieces[first] ?? 0) + 1)
  }

  #block({ x, y, width, height }: Box): void {
    for (const [row, lineY] of this.ys.entries()) {
      if (lineY <= y - 8 || lineY >= y + height + 8) continue
      for (const [column, lineX] of this.xs.entries())
        if (lineX > x - 8 && lineX < x + width + 8) this.#isBlocked[row * this.xs.length + column] = 1
    }
  }
}

const linesOf = (at: number, size: number, offsets: readonly number[]): number[] => [
  ...LANES.flatMap((lane) => [at - lane, at + size + lane]),
  ...offsets.map((offset) => at + size / 2 + offset),
]

function sorted(lines: readonly number[]): number[] {
  const result: number[] = []
  for (const line of lines.toSorted((one, other) => one - other))
    if (line - (result.at(-1) ?? -Infinity) >= MIN_DISTANCE) result.push(line)
  return result
}

function nearest(lines: readonly number[], at: number): number {
  let best = 0
  for (const [index, line] of lines.entries())
    if (Math.abs(line - at) < Math.abs((lines[best] ?? Infinity) - at)) best = index
  return best
}
