// inspector/diagram: the drawing as SVG. Classes say what a piece means; the style sheet says how it looks.
import { readFileSync } from 'node:fs'
import { raw } from 'hono/html'
import type { FC, PropsWithChildren } from 'hono/jsx'
import { cutText } from '../parts/texts.ts'
import type { DrawnLine, DrawnState, Drawing, Point } from './drawing.ts'
import type { GraphEdge, GraphState } from './graph.ts'

/** When a context waits for a time: since when and until when, epoch milliseconds. */
interface Wakes {
  readonly since: number
  readonly at: number
  readonly now: number
}

/** What is drawn besides the definition. */
interface Marks {
  /** How many contexts are in each state. */
  readonly counts?: ReadonlyMap<string, number>
  /** The context that is drawn. */
  readonly context?: {
    readonly current: string
    /** Class of its status. */
    readonly tone: string
    readonly visited: ReadonlySet<string>
    /** Moves that it made, as `moveKey` writes them. */
    readonly taken: ReadonlySet<string>
    /** Whether it has ended, so that nothing comes next. */
    readonly hasEnded: boolean
    readonly wakes: Wakes | null
  }
  /** Address of a state. */
  readonly hrefOf: (state: string) => string
}

const BADGE = { min: 9, max: 16 }
const CORNER_PX = 8
const TITLE_CHARACTERS = 17
const CALLS_CHARACTERS = 20

/** A move, as the history of a context names it. `event` null: it had none. */
export const moveKey = (from: string, to: string, event: string | null): string => JSON.stringify([from, to, event])

interface DiagramProps {
  readonly drawing: Drawing
  readonly marks: Marks
  readonly class?: string
  readonly role?: 'img'
}

export const Diagram: FC<DiagramProps & { readonly label: string }> = ({ label, ...diagram }) => {
  const count = diagram.drawing.states.length
  return (
    <figure id="diagram">
      <div class="diagram" tabindex={0} role="group" aria-label={label}>
        <DiagramSvg {...diagram} />
      </div>
      <figcaption class="row">
        <span>{count === 1 ? '1 state' : `${count} states`}</span>
        <span class="scrolls">scroll to see all of them</span>
        <a class="opens" href="#diagram">
          Open large
        </a>
        <a class="closes" href="#main">
          Close
        </a>
      </figcaption>
    </figure>
  )
}

/** `children`: what lies behind the drawing. */
export const DiagramSvg: FC<PropsWithChildren<DiagramProps>> = ({ drawing, marks, children, ...rest }) => {
  const { width, height, lines, states, start } = drawing
  const first = states.find(({ state }) => state.name === start)
  return (
    <svg viewBox={`0 0 ${width} ${height}`} width={width} height={height} xmlns="http://www.w3.org/2000/svg" {...rest}>
      {children}
      {lines.map(({ edge, points }) => (
        <g class={lineClass(edge, marks)}>
          <title>{lineTitle(edge)}</title>
          <path class="way" d={pathOf(points)} />
          <path class="arrow" d={arrowOf(points)} />
        </g>
      ))}
      {lines.map((line) => lineLabel(line, marks))}
      {first && <path class="start" d={`M${first.x - 26} ${first.y + first.height / 2}h18m-6 -5l6 5l-6 5`} />}
      {states.map((state) => drawnState(state, marks))}
    </svg>
  )
}

/** Marks for a drawing that is a file of its own. */
const MARKS = { hrefOf: (state: string) => `#${encodeURIComponent(state)}` }

/** An SVG document, light or dark as its viewer is. It has the part of the style sheet that it needs. */
export const svgFileOf = (drawing: Drawing, label: string): string =>
  String(
    <DiagramSvg drawing={drawing} marks={MARKS} class="diagram" role="img" aria-label={label}>
      <style>{raw(styleOfDrawings())}</style>
      <rect width="100%" height="100%" fill="var(--page)" />
    </DiagramSvg>,
  )

function styleOfDrawings(): string {
  const sheet = readFileSync(new URL('../assets/style.css', import.meta.url), 'utf8')
  const part = (from: string, to: string) => sheet.slice(sheet.indexOf(from), sheet.indexOf(to))
  const rules = part('.diagram {', '@media (max-width: 800px)')
  return part(':root {', '* { box-sizing') + rules.replace(/^\.diagram \{.*$/m, '.diagram { font: 12px var(--sans) }')
}

function drawnState({ state, x, y, width, height }: DrawnState, { counts, context, hrefOf }: Marks) {
  const { name, title, kind, comment, isEnd, calls } = state
  const isHere = context?.current === name
  const classes = ['state', kind, isEnd && 'end', context?.visited.has(name) && 'visited']
  const middle = y + height / 2
  return (
    <a href={hrefOf(name)} class={[...classes, isHere && `here ${context.tone}`].filter(Boolean).join(' ')}>
      <title>{[name, calls, comment].filter(Boolean).join('\n')}</title>
      <rect x={x} y={y} width={width} height={height} rx={isEnd ? 22 : 6} />
      <path class="kind" d={KINDS[kind]} transform={`translate(${x + 10} ${middle - 7})`} />
      <text x={x + 32} y={calls ? middle - 3 : middle + 5} class="name">
        {cutText(title, TITLE_CHARACTERS)}
      </text>
      {calls && (
        <text x={x + 32} y={middle + 13} class="calls">
          {cutLeft(calls, CALLS_CHARACTERS)}
        </text>
      )}
      {isHere && context.wakes && ring(x + width - 4, y + 2, context.wakes)}
      {counts && badge(x + width - 2, y - 3, counts.get(name) ?? 0, Math.max(...counts.values()))}
    </a>
  )
}

/** Its area grows with the count. */
function badge(x: number, y: number, count: number, most: number) {
  if (count === 0) return null
  const radius = Math.sqrt(BADGE.min ** 2 + (BADGE.max ** 2 - BADGE.min ** 2) * (count / most))
  return (
    <g class="badge">
      <circle cx={x} cy={y} r={radius.toFixed(1)} />
      <text x={x} y={y + 4}>
        {count < 1000 ? count : count < 1e6 ? `${Math.floor(count / 1000)}k` : `${Math.floor(count / 1e6)}M`}
      </text>
    </g>
  )
}

/** A ring that empties until the context wakes. */
function ring(x: number, y: number, { since, at, now }: Wakes) {
  const left = at <= since ? 0 : Math.min(1, Math.max(0, (at - now) / (at - since)))
  return (
    <g class="ring">
      <circle class="empty" cx={x} cy={y} r={10} />
      <circle
        class="left"
        cx={x}
        cy={y}
        r={10}
        pathLength={100}
        stroke-dasharray={`${(left * 100).toFixed(1)} 100`}
        transform={`rotate(-90 ${x} ${y})`}
        data-since={since}
        data-at={at}
      />
    </g>
  )
}

/** Above all lines, so that none goes through its text. */
const lineLabel = ({ edge, label }: DrawnLine, marks: Marks) =>
  label && (
    <g class={lineClass(edge, marks)}>
      <rect class="behind" x={label.x} y={label.y} width={label.width} height={label.height} />
      <text x={label.x + label.width / 2} y={label.y + label.height - 3}>
        {label.text}
        {label.text !== edge.label && <title>{lineTitle(edge)}</title>}
      </text>
    </g>
  )

function lineClass({ from, to, kind, label }: GraphEdge, { context }: Marks): string {
  const wasTaken = context?.taken.has(moveKey(from, to, kind === 'event' ? label : null))
  const isNext = context?.current === from && !context.hasEnded
  return ['line', kind, wasTaken && 'taken', isNext && 'ahead'].filter(Boolean).join(' ')
}

const lineTitle = ({ from, to, label }: GraphEdge): string =>
  label === '' ? `${from} → ${to}` : `${from} → ${to}: ${label}`

/** The end of a name says more. */
const cutLeft = (text: string, most: number): string => {
  const characters = [...text]
  return characters.length <= most ? text : `…${characters.slice(1 - most).join('')}`
}

/** With rounded corners. */
function pathOf(points: readonly Point[]): string {
  return points
    .map((point, index) => {
      const [before, after] = [points[index - 1], points[index + 1]]
      if (!before) return `M${point.x} ${point.y}`
      if (!after) return `L${point.x} ${point.y}`
      const enter = towards(point, before)
      const leave = towards(point, after)
      return `L${enter.x} ${enter.y}Q${point.x} ${point.y} ${leave.x} ${leave.y}`
    })
    .join('')
}

/** From one point in the direction of another, as far as the corner is round. */
function towards(from: Point, to: Point): Point {
  const length = Math.abs(to.x - from.x) + Math.abs(to.y - from.y)
  const share = Math.min(CORNER_PX, length / 2) / (length || 1)
  return { x: from.x + (to.x - from.x) * share, y: from.y + (to.y - from.y) * share }
}

function arrowOf(points: readonly Point[]): string {
  const [before, end] = points.slice(-2)
  if (!before || !end) return ''
  const [dx, dy] = [Math.sign(end.x - before.x), Math.sign(end.y - before.y)]
  const back = { x: end.x - dx * 8, y: end.y - dy * 8 }
  return `M${end.x} ${end.y}L${back.x - dy * 4} ${back.y + dx * 4}L${back.x + dy * 4} ${back.y - dx * 4}Z`
}

/** Signs of 14 by 14 pixels. */
const KINDS: { readonly [kind in GraphState['kind']]: string } = {
  waiting: 'M7 1a6 6 0 1 0 .01 0M7 4v3.2l2.2 1.6',
  function: 'M9.5 2C7 1.5 7 3 6.7 5L5.6 11c-.3 1.500-1 2-2.400 1.600M3.500 6h6',
  script: 'M5 3L1.500 7L5 11M9 3l3.500 4L9 11',
  child: 'M2 2h7v5h-7zM5 10h7v-5M5 7v5h7v-2',
  map: 'M2 4.500h8.500M8 2l2.500 2.500L8 7M12 9.500h-8.500M6 7l-2.500 2.500L6 12',
}
