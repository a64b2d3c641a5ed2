// The report: the handler each time it was measured, the rows beside its mean, and the goals.
import type { Row } from './cases.ts'
import { OTHERS_ALONE, OTHERS_BESIDE, type FloodTraces } from './webhooks.ts'

const HEAD = ['', 'connections', 'per second', 'p50 ms', 'p99 ms', 'CPU µs', '× handler']

export function table(rows: readonly Row[], yardstick: readonly Row[]): string[] {
  const lines = [...yardstick, ...rows].map((row) => [
    row.name,
    String(row.connections),
    row.perSecond.toFixed(0),
    row.p50Ms.toFixed(2),
    row.p99Ms.toFixed(2),
    row.cpuUs === null ? '' : row.cpuUs.toFixed(0),
    ratio(row, yardstick).toFixed(2),
  ])
  const widths = HEAD.map((title, column) => Math.max(title.length, ...lines.map((line) => line[column]?.length ?? 0)))
  return [HEAD, ...lines].map((line) =>
    line
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  '),
  )
}

/** What a row is held to: the share of the handler at many connections. */
const SHARES: readonly (readonly [RegExp, number])[] = [
  [/^event.*Redis always/, 0.22],
  [/^event.*Redis everysec/, 0.27],
  [/^event by id/, 0.25],
  [/^start, Redis always/, 0.18],
  [/^start/, 0.22],
  [/^webhook, start/, 0.2],
  [/^webhook, forged/, 0.5],
  [/^webhook, verified/, 0.2],
]
/** Of events in one request: the share of the handler, how many times as fast as single calls, and megabytes. */
const LINES = { share: 0.7, timesSingle: 3, growthMb: 64 }
/** Events beside held waits, of those without. */
const BESIDE_WAITS = 0.9
/** Events beside streams of moves, of those without. */
const BESIDE_STREAMS = 0.9
/** Times of other callers beside a flood of forged requests, of those without. */
const BESIDE_FLOOD = 2
/** Processor time of an event, and its median time at one connection. */
const EVENT = { cpuUs: 75, p50Ms: 0.4 }

export function goals(rows: readonly Row[], yardstick: readonly Row[]): string[] {
  return rows.flatMap((row) => {
    const { name, connections, cpuUs, p50Ms, p99Ms } = row
    const share = SHARES.find(([rule]) => rule.test(name))?.[1]
    const shares = share !== undefined && connections > 1
    const isEvent = name.startsWith('event by id')
    const alone = /^ticks beside .* waits/.test(name) ? aloneOf(rows, name) : undefined
    return [
      ...(alone
        ? [
            verdict(
              `${name}: at least ${BESIDE_WAITS} of those without`,
              row.perSecond >= BESIDE_WAITS * alone.perSecond,
            ),
          ]
        : []),
      ...(/^ticks beside .* streams/.test(name) ? [besideStreams(rows, row)] : []),
      ...(shares ? [verdict(`${name}: at least ${share} of the handler`, ratio(row, yardstick) >= share)] : []),
      ...(shares && isEvent && cpuUs !== null
        ? [verdict(`${name}: at most ${EVENT.cpuUs} µs of CPU`, cpuUs <= EVENT.cpuUs)]
        : []),
      ...(isEvent && connections === 1 && name.includes('Redis everysec')
        ? [verdict(`${name}: p50 at most ${EVENT.p50Ms} ms`, p50Ms <= EVENT.p50Ms)]
        : []),
      ...(row.traces ? goalsOfFlood(row.traces) : []),
      ...(name.startsWith(OTHERS_BESIDE) ? [besideFlood(rows, row)] : []),
      ...(row.growth ? goalsOfLines(row, { rows, yardstick }) : []),
      ...(name.startsWith('list') && connections === 1 ? [verdict(`${name}: p99 below 5 ms`, p99Ms < 5)] : []),
    ]
  })
}

function goalsOfLines(
  row: Row,
  { rows, yardstick }: { readonly rows: readonly Row[]; readonly yardstick: readonly Row[] },
): string[] {
  const { name, perSecond, growth = { server: 0, client: 0 } } = row
  const single = rows[rows.indexOf(row) - 1]?.perSecond ?? Infinity
  const times = perSecond / single
  const grown = Math.max(growth.server, growth.client)
  return [
    verdict(`${name}: at least ${LINES.share} of the handler`, ratio(row, yardstick) >= LINES.share),
    verdict(
      `${name}: ${times.toFixed(1)} times single calls, at least ${LINES.timesSingle}`,
      times >= LINES.timesSingle,
    ),
    verdict(`${name}: memory grew by ${grown.toFixed(0)} MB, at most ${LINES.growthMb}`, grown <= LINES.growthMb),
  ]
}

const goalsOfFlood = ({ seconds, contexts, storeGrowth, logLines }: FloodTraces): string[] => [
  verdict(`a flood of forged requests: ${contexts} contexts, none`, contexts === 0),
  verdict(`a flood of forged requests: the store grew by ${storeGrowth}, by nothing`, storeGrowth <= 0),
  // The line of a second is written at its end, so a flood may take up one more.
  verdict(`a flood of forged requests: ${logLines} lines of the log, one a second`, logLines <= seconds + 1),
]

function besideFlood(rows: readonly Row[], { name, p99Ms }: Row): string {
  const without = rows.find((row) => row.name === name.replace(OTHERS_BESIDE, OTHERS_ALONE))?.p99Ms ?? NaN
  return verdict(
    `${name}: p99 ${p99Ms.toFixed(1)} ms, at most ${BESIDE_FLOOD} × ${without.toFixed(1)}`,
    p99Ms <= BESIDE_FLOOD * without,
  )
}

function besideStreams(rows: readonly Row[], row: Row): string {
  const without = rows[rows.indexOf(row) - 1]
  const share = row.perSecond / (without?.perSecond ?? NaN)
  const cpu = (row.cpuUs ?? NaN) / (without?.cpuUs ?? NaN)
  return verdict(
    `${row.name}: ${share.toFixed(2)} of those without, at least ${BESIDE_STREAMS}; ${cpu.toFixed(2)} of their processor time`,
    share >= BESIDE_STREAMS,
  )
}

/** The same without held waits, on the same store. */
const aloneOf = (rows: readonly Row[], name: string): Row | undefined =>
  rows.find((row) => row.name === `ticks, nobody waits${/, Redis .*$/.exec(name)?.[0] ?? ''}`)

export const verdict = (goal: string, met: boolean) => `${met ? 'met   ' : 'MISSED'}  ${goal}`

/** Beside the handler's mean over the whole run. */
function ratio({ perSecond, connections, against = connections }: Row, yardstick: readonly Row[]): number {
  return perSecond / mean(yardstick.filter((row) => row.connections === against).map((row) => row.perSecond))
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
