// The report: the handler each time it was measured, the rows beside its mean, and the goals.
import type { Row } from './cases.ts'

const HEAD = ['', 'connections', 'per second', 'p50 ms', 'p99 ms', '× handler']

export function table(rows: readonly Row[], yardstick: readonly Row[]): string[] {
  const lines = [...yardstick, ...rows].map((row) => [
    row.name,
    String(row.connections),
    row.perSecond.toFixed(0),
    row.p50.toFixed(2),
    row.p99.toFixed(2),
    ratio(row, yardstick).toFixed(2),
  ])
  const widths = HEAD.map((title, column) => Math.max(title.length, ...lines.map((line) => line[column]?.length ?? 0)))
  return [HEAD, ...lines].map((line) =>
    line
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  '),
  )
}

export function goals(rows: readonly Row[], yardstick: readonly Row[]): string[] {
  return rows.flatMap((row) => {
    const share = /^event.*Redis always/.test(row.name)
      ? 0.17
      : /^event.*Redis/.test(row.name)
        ? 0.22
        : /^(event|start$|webhook, start)/.test(row.name)
          ? 0.2
          : null
    if (share !== null && row.connections > 1)
      return [verdict(`${row.name}: at least ${share} of the handler`, ratio(row, yardstick) >= share)]
    if (/^event.*Redis/.test(row.name) && row.connections === 1)
      return [verdict(`${row.name}: p50 below 0.6 ms`, row.p50 < 0.6)]
    if (row.name.startsWith('list') && row.connections === 1)
      return [verdict(`${row.name}: p99 below 5 ms`, row.p99 < 5)]
    return []
  })
}

const verdict = (goal: string, met: boolean) => `${met ? 'met   ' : 'MISSED'}  ${goal}`

/** Beside the handler's mean over the whole run. */
function ratio({ perSecond, connections, against = connections }: Row, yardstick: readonly Row[]): number {
  return perSecond / mean(yardstick.filter((row) => row.connections === against).map((row) => row.perSecond))
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
