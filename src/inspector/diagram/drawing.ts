// inspector/diagram: the drawing of a definition: boxes, lines and labels. It is computed once for each definition.
//
// - A diagram is computed once for each definition (`diagram/drawing.ts`): the file's own places, spread, or dagre's;
//   lines by A* over lanes around the states, each with few corners and beside the others; labels where there is room.
//   dagre works in one turn, and its time grows with the lengths of transitions, so of a graph with more than 30 it
//   knows those that lead one state further. A definition with more than 80 states or 300 transitions is shown as a
//   list. The diagram fits the width of its page; `#diagram` shows it large, by CSS alone.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { JsonObject } from '../../model/json/value.ts'
import { graphOf, type GraphEdge, type GraphState } from './graph.ts'
import { labelsOf, type Label } from './labels.ts'
import { boxesOf, MARGIN, type Box } from './layout.ts'
import { routesOf, type Point } from './route.ts'

export interface DrawnState extends Box {
  readonly state: GraphState
}

export interface DrawnLine {
  readonly edge: GraphEdge
  readonly points: readonly Point[]
  readonly label: Label | null
}

export interface Drawing {
  readonly width: number
  readonly height: number
  readonly start: string | null
  readonly states: readonly DrawnState[]
  readonly lines: readonly DrawnLine[]
}

/** A definition with more states is shown as a list. */
export const MAX_DRAWN_STATES = 80
const MAX_DRAWN_EDGES = 300

/** Memory for drawings that are kept, about. */
const MAX_KEPT_BYTES = 32 * 1_048_576

interface Kept {
  readonly drawing: Promise<Drawing | null>
  /** 0 while it is being made. */
  bytes: number
}

export class Drawings {
  /** The one that was asked for last comes last. */
  readonly #kept = new Map<string, Kept>()
  readonly #most: number
  #bytes = 0

  constructor(most = MAX_KEPT_BYTES) {
    this.#most = most
  }

  /** @param hash content hash of the definition. Gives null where it is too large to be drawn, or has no states. */
  of(hash: string, definition: JsonObject): Promise<Drawing | null> {
    const kept = this.#kept.get(hash) ?? { drawing: drawingOf(definition), bytes: 0 }
    const isNew = !this.#kept.delete(hash)
    this.#kept.set(hash, kept)
    if (isNew)
      kept.drawing.then(
        (drawing) => this.#keep(kept, bytesOf(drawing)),
        () => this.#kept.delete(hash),
      )
    return kept.drawing
  }

  #keep(made: Kept, bytes: number): void {
    made.bytes = bytes
    this.#bytes += bytes
    for (const [hash, kept] of this.#kept) {
      if (this.#bytes <= this.#most) return
      if (kept.bytes === 0) continue
      this.#kept.delete(hash)
      this.#bytes -= kept.bytes
    }
  }
}

/** What a drawing takes in memory, about: its texts keep those of the definition. */
function bytesOf(drawing: Drawing | null): number {
  if (!drawing) return 256
  const states = drawing.states.map(
    ({ state: { name, title, calls, comment } }) =>
      400 + 2 * (name.length + title.length + (calls ?? '').length + (comment ?? '').length),
  )
  const lines = drawing.lines.map(({ edge: { label }, points }) => 400 + 2 * label.length + 64 * points.length)
  return [...states, ...lines].reduce((sum, bytes) => sum + bytes, 256)
}

export async function drawingOf(definition: JsonObject): Promise<Drawing | null> {
  const graph = graphOf(definition)
  const { states, edges, start } = graph
  if (states.length === 0 || states.length > MAX_DRAWN_STATES || edges.length > MAX_DRAWN_EDGES) return null
  const boxes = boxesOf(graph)
  // Other requests are served between two parts of the work.
  await nextTurn()
  const routes = await routesOf(boxes, edges, nextTurn)
  if (!routes) return null
  const labels = labelsOf(
    boxes,
    edges.map(({ label }, index) => ({ points: routes[index] ?? [], text: label })),
  )
  const points = [
    ...routes.flat(),
    ...boxes.flatMap(({ x, y, width, height }) => [
      { x, y },
      { x: x + width, y: y + height },
    ]),
  ]
  const left = Math.min(...points.map(({ x }) => x)) - MARGIN
  const top = Math.min(...points.map(({ y }) => y)) - MARGIN
  const moved = <P extends Point>(point: P): P => ({ ...point, x: point.x - left, y: point.y - top })
  return {
    width: Math.max(...points.map(({ x }) => x)) - left + MARGIN,
    height: Math.max(...points.map(({ y }) => y)) - top + MARGIN,
    start,
    states: states.flatMap((state, index) => {
      const box = boxes[index]
      return box ? [{ ...moved(box), state }] : []
    }),
    lines: edges.map((edge, index) => {
      const label = labels[index] ?? null
      return { edge, points: (routes[index] ?? []).map(moved), label: label && moved(label) }
    }),
  }
}
