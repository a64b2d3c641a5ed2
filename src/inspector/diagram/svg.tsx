// inspector/diagram: the drawing as SVG. Classes say what a piece means; the style sheet says how it looks.
import type { FC } from 'hono/jsx'
import { cutText } from '../parts/texts.ts'
import type { DrawnLine, DrawnState, Drawing } from './drawing.ts'
import type { StateKind } from './graph.ts'
import type { Point } from './route.ts'

/** What is drawn besides the definition. */
export interface Marks {
  /** How many contexts are in each state. */
  readonly counts?: ReadonlyMap<string, number>
  /** Of one context. */
  readonly context?: {
    readonly current: string
    /** Class of its status. */
    readonly tone: string
    readonly visited: ReadonlySet<string>
    /** Moves that it made, as `moveKey` writes them. */
    readonly taken: ReadonlySet<string>
    /** Whether it has ended, so that nothing comes next. */
    readonly hasEnded: boolean
    /** When it waits for a time: since when and until when, epoch milliseconds. */
    readonly wakes: { readonly since: number; readonly at: number; readonly now: number } | null
  }
  /** Address of a state. */
  readonly hrefOf: (state: string) => string
}

const BADGE = { min: 9, max: 16 }
const RADIUS_PX = 8
const TITLE_CHARACTERS = 17
const CALLS_CHARACTERS = 20

/** A move, as the history of a context names it. `event` null: it had none. */
export const moveKey = (from: string, to: string, event: string | null): string => JSON.stringify([from, to, event])

function isTaken({ from, to, kind, label }: DrawnLine['edge'], taken: ReadonlySet<string>): boolean {
  if (kind === 'event') return taken.has(moveKey(from, to, label))
  return taken.has(moveKey(from, to, null))
}

export const Diagram: FC<{ readonly drawing: Drawing; readonly marks: Marks; readonly label: string }> = ({
  drawing,
  marks,
  label,
}) => {
  const { width, height, lines, states, start } = drawing
  const most = Math.max(1, ...(marks.counts?.values() ?? []))
  const first = states.find(({ name }) => name === start)
  const unlabelled = lines.filter((line) => line.edge.label !== '' && line.label === null).length
  return (
    <figure id="diagram">
      <div class="diagram" tabindex={0} role="group" aria-label={label}>
        <svg viewBox={`0 0 ${width} ${height}`} width={width} height={height} xmlns="http://www.w3.org/2000/svg">
          {lines.map((line) => (
            <Line line={line} marks={marks} />
          ))}
          {lines.map((line) => (
            <LineLabel line={line} marks={marks} />
          ))}
          {first && <path class="start" d={`M${first.x - 26} ${first.y + first.height / 2}h18m-6 -5l6 5l-6 5`} />}
          {states.map((state) => (
            <State drawn={state} marks={marks} most={most} />
          ))}
        </svg>
      </div>
      <figcaption class="row">
        <span>{states.length === 1 ? '1 state' : `${states.length} states`}</span>
        {unlabelled > 0 && <span>{`Without room for their labels: ${unlabelled}; point at a line to read it`}</span>}
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

const State: FC<{ readonly drawn: DrawnState; readonly marks: Marks; readonly most: number }> = ({
  drawn: { state, x, y, width, height },
  marks: { counts, context, hrefOf },
  most,
}) => {
  const isHere = context?.current === state.name
  const classes = ['state', state.kind, state.isEnd && 'end', context?.visited.has(state.name) && 'visited']
  const second = state.calls ?? ''
  const textY = second === '' ? y + height / 2 + 5 : y + height / 2 - 3
  return (
    <a href={hrefOf(state.name)} class={[...classes, isHere && `here ${context.tone}`].filter(Boolean).join(' ')}>
      <title>{[state.name, second, state.comment].filter(Boolean).join('\n')}</title>
      <rect x={x} y={y} width={width} height={height} rx={state.isEnd ? height / 2 : 6} />
      <path class="kind" d={KINDS[state.kind]} transform={`translate(${x + 10} ${y + height / 2 - 7})`} />
      <text x={x + 32} y={textY} class="name">
        {cutText(state.title, TITLE_CHARACTERS)}
      </text>
      {second !== '' && (
        <text x={x + 32} y={y + height / 2 + 13} class="calls">
          {cutLeft(second, CALLS_CHARACTERS)}
        </text>
      )}
      {isHere && context.wakes && <Ring x={x + width} y={y} wakes={context.wakes} />}
      <Badge count={counts?.get(state.name) ?? 0} most={most} x={x + width} y={y} />
    </a>
  )
}

/** Its area grows with the count. */
const Badge: FC<{ readonly count: number; readonly most: number; readonly x: number; readonly y: number }> = ({
  count,
  most,
  x,
  y,
}) => {
  if (count === 0) return null
  const radius = Math.sqrt(BADGE.min ** 2 + (BADGE.max ** 2 - BADGE.min ** 2) * (count / most))
  return (
    <g class="badge">
      <circle cx={x - 2} cy={y - 3} r={radius.toFixed(1)} />
      <text x={x - 2} y={y + 1}>
        {count < 1000 ? String(count) : count < 1e6 ? `${Math.floor(count / 1000)}k` : `${Math.floor(count / 1e6)}M`}
      </text>
    </g>
  )
}

/** A ring that empties until the context wakes. */
const Ring: FC<{
  readonly x: number
  readonly y: number
  readonly wakes: { readonly since: number; readonly at: number; readonly now: number }
}> = ({ x, y, wakes: { since, at, now } }) => {
  const left = at <= since ? 0 : Math.min(1, Math.max(0, (at - now) / (at - since)))
  return (
    <g class="ring">
      <circle class="empty" cx={x - 4} cy={y + 2} r={10} />
      <circle
        class="left"
        cx={x - 4}
        cy={y + 2}
        r={10}
        pathLength={100}
        stroke-dasharray={`${(left * 100).toFixed(1)} 100`}
        transform={`rotate(-90 ${x - 4} ${y + 2})`}
        data-since={since}
        data-at={at}
      />
    </g>
  )
}

const Line: FC<{ readonly line: DrawnLine; readonly marks: Marks }> = ({ line: { edge, points }, marks }) => (
  <g class={lineClass(edge, marks)}>
    <title>{lineTitle(edge)}</title>
    <path class="way" d={pathOf(points)} />
    <path class="arrow" d={arrowOf(points)} />
  </g>
)

/** Above all lines, so that none goes through its text. */
const LineLabel: FC<{ readonly line: DrawnLine; readonly marks: Marks }> = ({ line: { edge, label }, marks }) =>
  label && (
    <g class={lineClass(edge, marks)}>
      <rect
        class="behind"
        x={(label.x - label.width / 2).toFixed(1)}
        y={label.y - 8}
        width={label.width.toFixed(1)}
        height={16}
      />
      <text x={label.x.toFixed(1)} y={label.y + 4}>
        {label.text}
        {label.text !== edge.label && <title>{lineTitle(edge)}</title>}
      </text>
    </g>
  )

function lineClass(edge: DrawnLine['edge'], { context }: Marks): string {
  const wasTaken = context !== undefined && isTaken(edge, context.taken)
  const isNext = context !== undefined && !context.hasEnded && context.current === edge.from
  return ['line', edge.kind, wasTaken && 'taken', isNext && 'ahead'].filter(Boolean).join(' ')
}

const lineTitle = ({ from, to, label }: DrawnLine['edge']): string =>
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
  const share = Math.min(RADIUS_PX, length / 2) / (length || 1)
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
const KINDS: { readonly [kind in StateKind]: string } = {
  waiting: 'M7 1a6 6 0 1 0 .01 0M7 4v3.2l2.2 1.6',
  function: 'M9.5 2C7 1.5 7 3 6.7 5L5.6 11c-.3 1.500-1 2-2.400 1.600M3.500 6h6',
  script: 'M5 3L1.500 7L5 11M9 3l3.500 4L9 11',
  child: 'M2 2h7v5h-7zM5 10h7v-5M5 7v5h7v-2',
  map: 'M2 4.500h8.500M8 2l2.500 2.500L8 7M12 9.500h-8.500M6 7l-2.500 2.500L6 12',
}
