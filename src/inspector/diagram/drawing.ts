// inspector/diagram: the drawing of a definition: boxes, lines and labels.
//
// - A drawing is made once for each definition. Where the file places all states, their columns and their order are
//   kept. A definition with very many states or transitions is shown as a list. The diagram fits the width of its page;
//   `#diagram` shows it large, by CSS alone.
import type { JsonObject } from '../../model/json/value.ts'
import { graphOf, type GraphEdge, type GraphState } from './graph.ts'
import { laidOut } from './layout.ts'

/** Pixels from the left upper corner of the drawing. */
export interface Point {
  readonly x: number
  readonly y: number
}

interface Area extends Point {
  readonly width: number
  readonly height: number
}

export interface DrawnState extends Area {
  readonly state: GraphState
}

export interface DrawnLine {
  readonly edge: GraphEdge
  readonly points: readonly Point[]
  /** null: there is no text. */
  readonly label: (Area & { readonly text: string }) | null
}

export interface Drawing {
  readonly width: number
  readonly height: number
  readonly start: string | null
  readonly states: readonly DrawnState[]
  readonly lines: readonly DrawnLine[]
}

/** A definition with more is shown as a list. */
export const MAX_DRAWN_STATES = 150
const MAX_DRAWN_EDGES = 300
/** Drawings that are remembered. */
const MAX_DRAWINGS = 100

export class Drawings {
  /** The one that was asked for last comes last. */
  readonly #made = new Map<string, Promise<Drawing | null>>()
  /** One is made at a time. */
  #last: Promise<unknown> = Promise.resolve()

  /** @param hash content hash of the definition. Gives null where it is too large to be drawn, or has no states. */
  of(hash: string, definition: JsonObject): Promise<Drawing | null> {
    const drawing = this.#made.get(hash) ?? this.#make(hash, definition)
    this.#made.delete(hash)
    this.#made.set(hash, drawing)
    const [oldest] = this.#made.keys()
    if (this.#made.size > MAX_DRAWINGS && oldest !== undefined) this.#made.delete(oldest)
    return drawing
  }

  /** What failed, since no thread could start, is made again when it is asked for. */
  #make(hash: string, definition: JsonObject): Promise<Drawing | null> {
    const drawing = this.#last
      .then(() => drawingOf(definition))
      .catch(() => {
        this.#made.delete(hash)
        return null
      })
    this.#last = drawing
    return drawing
  }
}

export async function drawingOf(definition: JsonObject): Promise<Drawing | null> {
  const graph = graphOf(definition)
  const { states, edges, start } = graph
  if (states.length === 0 || states.length > MAX_DRAWN_STATES || edges.length > MAX_DRAWN_EDGES) return null
  const made = await laidOut(graph)
  if (!made) return null
  const { children = [], edges: lines = [] } = made
  return {
    ...areaOf(made),
    start,
    states: states.map((state, index) => ({ state, ...areaOf(children[index]) })),
    lines: edges.map((edge, index) => {
      const { sections: [section] = [], labels: [label] = [] } = lines[index] ?? {}
      const points = section ? [section.startPoint, ...(section.bendPoints ?? []), section.endPoint].map(rounded) : []
      return { edge, points, label: label ? { text: label.text ?? '', ...areaOf(label) } : null }
    }),
  }
}

const areaOf = ({ x = 0, y = 0, width = 0, height = 0 }: Partial<Area> = {}): Area => ({
  ...rounded({ x, y }),
  width,
  height,
})

/** Without the faults of computing with fractions, so that lines are rows and columns. */
const rounded = ({ x, y }: Point): Point => ({ x: Math.round(x * 1000) / 1000, y: Math.round(y * 1000) / 1000 })
