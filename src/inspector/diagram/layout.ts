// inspector/diagram: where states, lines and labels lie. ELK lays them out in columns from left to right.
//
// - A layout may take a second, so it is made in a thread, and is given up after a while.
// - Where the file places all states, those above each other stay so, in their order.
import { createRequire } from 'node:module'
import { Worker } from 'node:worker_threads'
import type { ElkNode } from 'elkjs'
import { cutText } from '../parts/texts.ts'
import type { Graph } from './graph.ts'

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
const LABEL = { 'elk.edgeLabels.inline': 'true' }
/** States whose places differ by less than the width of one, as the file gives them times this, are one column. */
const COLUMN_SCALE = 4

/** The graph with places; its states and lines are in their order. null: it took too long. */
export function laidOut({ states, edges, start }: Graph): Promise<ElkNode | null> {
  const places = new Set(states.flatMap(({ place }) => (place ? [`${place.x} ${place.y}`] : [])))
  const isPlaced = places.size === states.length
  // Names may be any text, so states are known by their numbers.
  const ids = new Map(states.map(({ name }, index) => [name, `s${index}`]))
  const idOf = (name: string) => ids.get(name) ?? ''
  return runThread({
    id: '',
    layoutOptions: isPlaced ? { ...LAYOUT, ...PLACED } : LAYOUT,
    children: states.map(({ name, place }) => ({
      id: idOf(name),
      ...BOX,
      ...(isPlaced && place
        ? { x: place.x * COLUMN_SCALE, layoutOptions: { ...STATE, 'elk.position': `(${place.x}, ${place.y})` } }
        : { layoutOptions: name === start ? { ...STATE, 'elk.layered.layering.layerConstraint': 'FIRST' } : STATE }),
    })),
    edges: edges.map(({ from, to, label }, index) => {
      const text = cutText(label, MAX_LABEL_CHARACTERS)
      const size = { width: text.length * CHARACTER_PX + 8, height: LABEL_HEIGHT_PX }
      return {
        id: `e${index}`,
        sources: [idOf(from)],
        targets: [idOf(to)],
        labels: text === '' ? [] : [{ text, ...size, layoutOptions: LABEL }],
      }
    }),
  })
}

const require = createRequire(import.meta.url)
const THREAD = `
  const { parentPort, workerData } = require('node:worker_threads')
  const Elk = require(${JSON.stringify(require.resolve('elkjs/lib/elk.bundled.js'))})
  new Elk().layout(workerData).then((graph) => parentPort.postMessage(graph))
`
const MAX_LAYOUT_MS = 30_000
const MAX_THREAD_MB = 512

async function runThread(graph: ElkNode): Promise<ElkNode | null> {
  const thread = new Worker(THREAD, {
    eval: true,
    execArgv: [],
    workerData: graph,
    resourceLimits: { maxOldGenerationSizeMb: MAX_THREAD_MB },
  })
  const timer = setTimeout(() => void thread.terminate(), MAX_LAYOUT_MS)
  try {
    return await new Promise((resolve, reject) => {
      thread.once('message', resolve)
      thread.once('error', reject)
      thread.once('exit', () => resolve(null))
    })
  } finally {
    clearTimeout(timer)
    void thread.terminate()
  }
}
