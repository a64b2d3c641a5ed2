// inspector/diagram: where the states lie. Their own places are kept, spread so that nothing overlaps and labels have
// room; where places are missing, dagre lays the states out.
import { graphlib, layout } from '@dagrejs/dagre'
import type { Graph, GraphEdge, GraphState } from './graph.ts'

export interface Box {
  readonly name: string
  /** Of the left upper corner, in pixels. */
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

export const BOX_WIDTH = 172
export const BOX_HEIGHT = 44
/** Between two states, for labels and lines. */
const GAP = { x: 116, y: 48, most: 200 }
/** Around the drawing. */
export const MARGIN = 40
/**
 * A larger graph is laid out by fewer of its edges, and by so many at most: the time grows with their lengths and crossings,
 * and others wait for it.
 */
const MAX_LAID_OUT_EDGES = 30
const MAX_LEADING_EDGES = 200
/** A drawing is never spread more. */
const MAX_SPREAD = 6

/** Room for the longest label beside the bends of lines, unless that is very long. */
function rankGap(edges: readonly GraphEdge[]): number {
  const longest = Math.max(0, ...edges.map(({ label }) => label.length))
  return Math.min(GAP.most, Math.max(GAP.x, Math.ceil(longest * 6.4) + 64))
}

type Point = { readonly x: number; readonly y: number }

/** Left upper corners are at or right of and below (MARGIN, MARGIN). */
export function boxesOf(graph: Graph): readonly Box[] {
  const places = graph.states.map(({ place }) => place).filter((place) => place !== null)
  const own = places.length === graph.states.length ? spread(places) : null
  const points = own ?? laidOut(graph)
  const left = Math.min(...points.map(({ x }) => x))
  const top = Math.min(...points.map(({ y }) => y))
  return graph.states.map(({ name }, index) => {
    const { x, y } = points[index] ?? { x: left, y: top }
    return {
      name,
      x: Math.round(x - left) + MARGIN,
      y: Math.round(y - top) + MARGIN,
      width: BOX_WIDTH,
      height: BOX_HEIGHT,
    }
  })
}

/**
 * The edges that the layout knows. The time it takes grows with the lengths of edges, so those of a large graph are the
 * ones that lead one step further from the start.
 */
function leadingEdges({ states, edges, start }: Graph): readonly GraphEdge[] {
  const others = edges.filter(({ from, to }) => from !== to)
  if (others.length <= MAX_LAID_OUT_EDGES) return others
  const depths = depthsOf({ states, edges: others, start })
  const leading = others.filter(({ from, to }) => (depths.get(to) ?? 0) - (depths.get(from) ?? 0) === 1)
  const firsts = new Set(new Map(leading.toReversed().map((edge) => [edge.to, edge])).values())
  return [...firsts, ...leading.filter((edge) => !firsts.has(edge))].slice(0, MAX_LEADING_EDGES)
}

/** Steps from the start. Exceptions count only where nothing else leads to. */
function depthsOf({ states, edges, start }: Graph): ReadonlyMap<string, number> {
  const next = new Map<string, GraphEdge[]>(states.map(({ name }) => [name, []]))
  for (const edge of edges) next.get(edge.from)?.push(edge)
  const depths = new Map<string, number>()
  for (const root of [...(start === null ? [] : [start]), ...states.map(({ name }) => name)]) {
    if (depths.has(root)) continue
    depths.set(root, 0)
    const queue = [root]
    for (const withExceptions of [false, true])
      for (const name of queue)
        for (const { to, kind } of next.get(name) ?? []) {
          if (depths.has(to) || (kind === 'exception' && !withExceptions)) continue
          depths.set(to, (depths.get(name) ?? 0) + 1)
          queue.push(to)
        }
  }
  return depths
}

/** null: two states lie so close together that they can't be spread. */
function spread(places: readonly Point[]): readonly Point[] | null {
  let [minX, minY] = [Infinity, Infinity]
  for (const [index, one] of places.entries())
    for (const other of places.slice(index + 1)) {
      const dx = Math.abs(one.x - other.x)
      const dy = Math.abs(one.y - other.y)
      // They are beside each other, or one is above the other.
      if (dx >= dy) minX = Math.min(minX, dx)
      else minY = Math.min(minY, dy)
      if (dx === 0 && dy === 0) return null
    }
  const scaleX = Math.max(1, (BOX_WIDTH + GAP.x) / minX)
  const scaleY = Math.max(1, (BOX_HEIGHT + GAP.y) / minY)
  if (scaleX > MAX_SPREAD || scaleY > MAX_SPREAD) return null
  return places.map(({ x, y }) => ({ x: x * scaleX, y: y * scaleY }))
}

function laidOut({ states, edges, start }: Graph): readonly Point[] {
  const graph = new graphlib.Graph()
  const leading = leadingEdges({ states, edges, start })
  // The best ranks take a minute for some large graphs, and are no better: each edge of these leads one step further.
  const ranker = leading.length > MAX_LAID_OUT_EDGES ? 'tight-tree' : 'network-simplex'
  graph.setGraph({ rankdir: 'LR', nodesep: GAP.y, ranksep: rankGap(edges), edgesep: 20, ranker })
  graph.setDefaultEdgeLabel(() => ({}))
  // Names may be any text, so nodes are known by their numbers.
  const numbers = new Map(states.map(({ name }, index) => [name, String(index)]))
  for (const index of states.keys()) graph.setNode(String(index), { width: BOX_WIDTH, height: BOX_HEIGHT })
  for (const { from, to } of leading) graph.setEdge(numbers.get(from) ?? '', numbers.get(to) ?? '', { minlen: 1 })
  layout(graph)
  return states.map((_state: GraphState, index) => {
    const { x = 0, y = 0 } = graph.node(String(index))
    return { x, y }
  })
}
