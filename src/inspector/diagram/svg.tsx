// inspector/diagram: the drawing as SVG. Classes say what a piece means; the style sheet says how it looks.
import { readFileSync } from 'node:fs'
import { raw } from 'hono/html'
import type { Child } from 'hono/jsx'
import { cutText } from '../parts/texts.ts'
import type { DrawnLine, DrawnState, Drawing, Point } from './drawing.ts'
import type { GraphState } from './graph.ts'

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
    /** The states that it was in, each with the move that led there. `event` null: it had none; undefined: any. */
    readonly stays: readonly {
      readonly from: string | null
      readonly event: string | null | undefined
      readonly state: string
    }[]
    /** Whether it has ended, so that nothing comes next. */
    readonly hasEnded: boolean
    /** When it waits for a time: since when and until when, epoch milliseconds. */
    readonly wakes: Wakes | null
  }
  /** Address of a state. */
  readonly hrefOf: (state: string) => string
}

const BADGE = { min: 9, max: 16 }
const CORNER_PX = 8
const TITLE_CHARACTERS = 17
const CALLS_CHARACTERS = 20

export const diagram = (drawing: Drawing, marks: Marks, label: string) => (
  <figure id="diagram">
    <div class="diagram" tabindex={0} role="group" aria-label={label}>
      {svgOf(drawing, marks)}
    </div>
    <figcaption class="row">
      <span>{drawing.children.length === 1 ? '1 state' : `${drawing.children.length} states`}</span>
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

/** `behind`: what lies behind the drawing. */
function svgOf(
  { width, height, edges, children, start }: Drawing,
  marks: Marks,
  attributes = {},
  behind: Child = null,
) {
  const first = children.find(({ state }) => state.name === start)
  return (
    <svg
      viewBox={`0 0 ${width} ${height}`}
      width={width}
      height={height}
      xmlns="http://www.w3.org/2000/svg"
      {...attributes}
    >
      {behind}
      {edges.map((line) => {
        const points = pointsOf(line)
        return (
          <g class={lineClass(line, marks)}>
            <title>{lineTitle(line)}</title>
            <path class="way" d={pathOf(points)} />
            <path class="arrow" d="M0 0L-8 4L-8 -4Z" transform={endOf(points)} />
          </g>
        )
      })}
      {edges.map((line) => lineLabels(line, marks))}
      {first && <path class="start" d={`M${first.x - 26} ${first.y + first.height / 2}h18m-6 -5l6 5l-6 5`} />}
      {children.map((state) => drawnState(state, marks))}
    </svg>
  )
}

/** An SVG document, light or dark as its viewer is. It has the part of the style sheet that it needs. */
export const svgFileOf = (drawing: Drawing, label: string): string =>
  String(
    svgOf(
      drawing,
      { hrefOf: (state) => `#${encodeURIComponent(state)}` },
      { class: 'diagram', role: 'img', 'aria-label': label },
      <>
        <style>{raw(styleOfDrawings())}</style>
        <rect width="100%" height="100%" fill="var(--page)" />
      </>,
    ),
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
  const wasHere = context?.stays.some((stay) => stay.state === name)
  const classes = ['state', kind, isEnd && 'end', wasHere && 'visited', isHere && `here ${context.tone}`]
  const middle = y + height / 2
  return (
    <a href={hrefOf(name)} class={classes.filter(Boolean).join(' ')}>
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
const lineLabels = (line: DrawnLine, marks: Marks) =>
  line.labels.map(({ text, x, y, width, height }) => (
    <g class={lineClass(line, marks)}>
      <rect class="behind" x={x} y={y} width={width} height={height} />
      <text x={x + width / 2} y={y + height - 3}>
        {text}
        {text !== line.edge.label && <title>{lineTitle(line)}</title>}
      </text>
    </g>
  ))

function lineClass({ edge: { from, to, kind, label } }: DrawnLine, { context }: Marks) {
  const event = kind === 'event' ? label : null
  const wasTaken = context?.stays.some(
    (stay) => stay.from === from && stay.state === to && [event, undefined].includes(stay.event),
  )
  const isNext = context?.current === from && !context.hasEnded
  return ['line', kind, wasTaken && 'taken', isNext && 'ahead'].filter(Boolean).join(' ')
}

const lineTitle = ({ edge: { from, to, label } }: DrawnLine) =>
  label === '' ? `${from} → ${to}` : `${from} → ${to}: ${label}`

/** The end of a name says more. */
function cutLeft(text: string, most: number) {
  const characters = [...text]
  return characters.length <= most ? text : `…${characters.slice(1 - most).join('')}`
}

/** Where a line begins, bends and ends. */
export const pointsOf = ({ sections }: DrawnLine): readonly Point[] =>
  sections.flatMap(({ startPoint, bendPoints = [], endPoint }) => [startPoint, ...bendPoints, endPoint])

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

/** The place and the direction of the end of a line. */
function endOf(points: readonly Point[]) {
  const [before, end] = points.slice(-2)
  if (!before || !end) return undefined
  const degrees = (Math.atan2(end.y - before.y, end.x - before.x) * 180) / Math.PI
  return `translate(${end.x} ${end.y}) rotate(${degrees})`
}

/** Signs of 14 by 14 pixels. */
const KINDS: { readonly [kind in GraphState['kind']]: string } = {
  waiting: 'M7 1a6 6 0 1 0 .01 0M7 4v3.2l2.2 1.6',
  function: 'M9.5 2C7 1.5 7 3 6.7 5L5.6 11c-.3 1.500-1 2-2.400 1.600M3.500 6h6',
  script: 'M5 3L1.500 7L5 11M9 3l3.500 4L9 11',
  child: 'M2 2h7v5h-7zM5 10h7v-5M5 7v5h7v-2',
  map: 'M2 4.500h8.500M8 2l2.500 2.500L8 7M12 9.500h-8.500M6 7l-2.500 2.500L6 12',
}
