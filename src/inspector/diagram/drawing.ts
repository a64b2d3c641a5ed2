// inspector/diagram: the drawing of a definition: boxes, lines and labels. It is computed once for each definition.
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
export const MAX_DRAWN_STATES = 150
const MAX_DRAWN_EDGES = 600

/** Drawings that are kept. */
const MAX_KEPT = 200

export class Drawings {
  readonly #kept = new Map<string, Drawing | null>()

  /** @param hash content hash of the definition. Gives null where it is too large to be drawn, or has no states. */
  of(hash: string, definition: JsonObject): Drawing | null {
    const known = this.#kept.get(hash)
    if (known !== undefined) return known
    const drawing = drawingOf(definition)
    this.#kept.set(hash, drawing)
    const [oldest] = this.#kept.size > MAX_KEPT ? this.#kept.keys() : []
    if (oldest !== undefined) this.#kept.delete(oldest)
    return drawing
  }
}

export function drawingOf(definition: JsonObject): Drawing | null {
  const graph = graphOf(definition)
  const { states, edges, start } = graph
  if (states.length === 0 || states.length > MAX_DRAWN_STATES || edges.length > MAX_DRAWN_EDGES) return null
  const boxes = boxesOf(graph)
  const routes = routesOf(boxes, edges)
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
