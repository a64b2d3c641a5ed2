// The report: rows beside the handler's mean, how steady that was, and the goals.
import type { Row } from './cases.ts'

const HEAD = ['', 'connections', 'per second', 'p50 ms', 'p99 ms', '× handler']

/** The handler's mean with so many connections. A broadcast, one request for many, is held against the most that it does. */
function handlerRate(yardstick: readonly Row[], row: Row): number {
  const most = Math.max(...yardstick.map(({ connections }) => connections))
  const connections = row.name.startsWith('broadcast') ? most : row.connections
  return mean(yardstick.filter((one) => one.connections === connections).map(({ perSecond }) => perSecond))
}

export function table(rows: readonly Row[], yardstick: readonly Row[]): string[] {
  const lines = [...yardstick, ...rows].map((row) => [
    row.name, String(row.connections), row.perSecond.toFixed(0), row.p50.toFixed(2), row.p99.toFixed(2), ratio(row, yardstick).toFixed(2),
  ])
  const widths = HEAD.map((title, column) => Math.max(title.length, ...lines.map((line) => line[column]?.length ?? 0)))
  return [HEAD, ...lines].map((line) => line.map((cell, column) => column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)).join('  '))
}

export function goals(rows: readonly Row[], yardstick: readonly Row[]): string[] {
  return rows.flatMap((row) => {
    if (/^(event|start$)/.test(row.name)) return [verdict(`${row.name}: at least 0.2 of the handler`, ratio(row, yardstick) >= 0.2)]
    if (row.name.startsWith('list') && row.connections === 1) return [verdict(`${row.name}: p99 below 5 ms`, row.p99 < 5)]
    return []
  })
}

const verdict = (goal: string, met: boolean) => `${met ? 'met   ' : 'MISSED'}  ${goal}`
const ratio = (row: Row, yardstick: readonly Row[]) => row.perSecond / handlerRate(yardstick, row)
const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
