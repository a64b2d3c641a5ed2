// cli: the report of loading, as people read it.
import type { Fault } from '../definitions/report.ts'

/** A line each: faults first, each kind by file, pointer and reason. */
export function reportLines(report: readonly Fault[]): string[] {
  return sorted(report, 'fault').concat(sorted(report, 'warning'))
}

/** `2 faults, 1 warning` */
export function reportSummary(report: readonly Fault[]): string {
  const faults = report.filter(({ severity }) => severity === 'fault').length
  return `${count(faults, 'fault')}, ${count(report.length - faults, 'warning')}`
}

export const isBroken = (report: readonly Fault[]): boolean => report.some(({ severity }) => severity === 'fault')

export const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`

/** Compared part by part as code units: the same order in every locale. */
function sorted(report: readonly Fault[], severity: Fault['severity']): string[] {
  return report.filter((fault) => fault.severity === severity)
    .sort((one, other) => compare(one.file, other.file) || compare(one.pointer, other.pointer) || compare(one.reason, other.reason))
    .map(({ file, pointer, reason }) => `${file}#${pointer}: ${severity === 'warning' ? 'warning: ' : ''}${reason.replaceAll(/\s*[\r\n]\s*/g, ' ')}`)
}

const compare = (one: string, other: string): number => Number(one > other) - Number(one < other)
