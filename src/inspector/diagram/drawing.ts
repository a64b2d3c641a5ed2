// inspector/diagram: the drawing of a definition: boxes, lines and labels. ELK lays them out in columns from left to right.
//
// - A layout may take a second, so it is made in a thread, one after the other, and is given up after a while. It is made
//   once for each definition.
// - Where the file places all states, those above each other stay so, in their order.
// - A definition with very many states or transitions is shown as a list. The diagram fits the width of its page;
//   `#diagram` shows it large, by CSS alone.
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { Worker } from 'node:worker_threads'
import type { ElkNode } from 'elkjs'
import type { JsonObject } from '../../model/json/value.ts'
import { cutText } from '../parts/texts.ts'
import { graphOf, type GraphEdge, type GraphState } from './graph.ts'

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
  /** One: where the line begins, bends and ends. */
  readonly sections: readonly {
    readonly startPoint: Point
    readonly bendPoints?: readonly Point[]
    readonly endPoint: Point
  }[]
  /** None, or one. */
  readonly labels: readonly (Area & { readonly text: string })[]
}

/** The graph that ELK was given, with places. */
export interface Drawing extends Area {
  readonly start: string | null
  /** The states. */
  readonly children: readonly DrawnState[]
  readonly edges: readonly DrawnLine[]
}

/** A definition with more is shown as a list. */
export const MAX_DRAWN_STATES = 150
const MAX_DRAWN_EDGES = 300
/** Drawings that are remembered. */
const MAX_DRAWINGS = 100

/**
 * Makes drawings, one at a time, and remembers them by the content hashes of their definitions. It gives null for a
 * definition that has no states, or could not be drawn.
 */
export function drawingMaker() {
  /** The one that was asked for last comes last. */
  const made = new Map<string, Promise<Drawing | null>>()
  let last: Promise<Drawing | null> = Promise.resolve(null)

  return (hash: string, definition: JsonObject): Promise<Drawing | null> => {
    const drawing =
      made.get(hash) ??
      last
        .then(() => drawingOf(definition))
        .catch((error: Error) => {
          // What takes too long will do so again; a thread that could not start may start the next time.
          if (error.name !== 'AbortError') made.delete(hash)
          return null
        })
    if (!made.delete(hash)) last = drawing
    made.set(hash, drawing)
    const [oldest] = made.keys()
    if (made.size > MAX_DRAWINGS && oldest !== undefined) made.delete(oldest)
    return drawing
  }
}

/** The size of a state, at least. */
export const BOX = { width: 172, height: 44 }
/** Pixels of a character of a label, about. */
const CHARACTER_PX = 6.4
const LABEL_HEIGHT_PX = 14
const MAX_LABEL_CHARACTERS = 28

const LAYOUT = {
  'elk.algorithm': 'layered',
  'elk.direction': 'RIGHT',
  'elk.edgeRouting': 'ORTHOGONAL',
  'elk.padding': '[left=40, top=40, right=40, bottom=40]',
  'elk.spacing.nodeNode': '40',
  'elk.spacing.edgeNode': '20',
  'elk.spacing.edgeEdge': '14',
  'elk.layered.spacing.nodeNodeBetweenLayers': '28',
  'elk.layered.spacing.edgeNodeBetweenLayers': '14',
  'elk.layered.spacing.edgeEdgeBetweenLayers': '14',
}
/** Keeps the columns that the file makes, and the order of their states. */
const PLACED = {
  'elk.layered.cycleBreaking.strategy': 'INTERACTIVE',
  'elk.layered.layering.strategy': 'INTERACTIVE',
  'elk.layered.crossingMinimization.semiInteractive': 'true',
}
/** Options of a state: it grows with the lines that begin or end there. */
const STATE = {
  'elk.nodeSize.constraints': '[PORTS, MINIMUM_SIZE]',
  'elk.nodeSize.minimum': `(${BOX.width}, ${BOX.height})`,
  'elk.spacing.portPort': '10',
}
const FIRST = { 'elk.layered.layering.layerConstraint': 'FIRST' }
const LABEL = { 'elk.edgeLabels.inline': 'true' }
/** States whose places differ by less than the width of one, as the file gives them times this, are one column. */
const COLUMN_SCALE = 4

/** null: it has no states, or is too large. @throws Error when it takes too long, or no thread can start */
export async function drawingOf(definition: JsonObject): Promise<Drawing | null> {
  const { states, edges, start } = graphOf(definition)
  if (states.length === 0 || states.length > MAX_DRAWN_STATES || edges.length > MAX_DRAWN_EDGES) return null
  const places = new Set(states.flatMap(({ place }) => (place ? [`${place.x} ${place.y}`] : [])))
  const isPlaced = places.size === states.length
  // Names may be any text, so states are known by their numbers.
  const idOf = (name: string) => `s${states.findIndex((state) => state.name === name)}`
  return laidOut({
    id: '',
    start,
    layoutOptions: isPlaced ? { ...LAYOUT, ...PLACED } : LAYOUT,
    children: states.map((state, index) => {
      const place = isPlaced ? state.place : null
      const own = place ? { 'elk.position': `(${place.x}, ${place.y})` } : state.name === start && FIRST
      return {
        id: `s${index}`,
        state,
        ...BOX,
        ...(place && { x: place.x * COLUMN_SCALE }),
        layoutOptions: { ...STATE, ...own },
      }
    }),
    edges: edges.map((edge, index) => {
      const text = cutText(edge.label, MAX_LABEL_CHARACTERS)
      const size = { width: text.length * CHARACTER_PX + 8, height: LABEL_HEIGHT_PX }
      return {
        id: `e${index}`,
        edge,
        sources: [idOf(edge.from)],
        targets: [idOf(edge.to)],
        labels: text === '' ? [] : [{ text, ...size, layoutOptions: LABEL }],
      }
    }),
  })
}

const require = createRequire(import.meta.url)
const THREAD = `
  const { parentPort, workerData } = require('node:worker_threads')
  const Elk = require(${JSON.stringify(require.resolve('elkjs/lib/elk.bundled.js'))})
  new Elk().layout(workerData).then((graph) => parentPort.postMessage(JSON.stringify(graph)))
`
const MAX_LAYOUT_MS = 30_000
const MAX_THREAD_MB = 512

/** What ELK makes of a graph. @throws Error when it takes too long, or no thread can start */
async function laidOut(graph: ElkNode & Pick<Drawing, 'start'>): Promise<Drawing> {
  const thread = new Worker(THREAD, {
    eval: true,
    execArgv: [],
    workerData: graph,
    resourceLimits: { maxOldGenerationSizeMb: MAX_THREAD_MB },
  })
  // Also after it is no longer waited for: an error without a listener would end the process.
  thread.on('error', () => {})
  try {
    const [text] = await once(thread, 'message', { signal: AbortSignal.timeout(MAX_LAYOUT_MS) })
    return JSON.parse(text, rounded)
  } finally {
    void thread.terminate()
  }
}

/** Numbers without the faults of computing with fractions, so that lines are rows and columns. */
const rounded = (_name: string, value: unknown) => (typeof value === 'number' ? Math.round(value * 1000) / 1000 : value)
