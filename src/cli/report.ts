// cli: prints the report of loading for people.
import type { Fault } from '../definitions/report.ts'
import { plain } from './remote/text.ts'

/** One line for each fault or warning: faults first, each kind ordered by file, place, pointer and reason. */
export function reportLines(report: readonly Fault[]): string[] {
  return sorted(report, 'fault').concat(sorted(report, 'warning'))
}

/** `2 faults, 1 warning` */
export function reportSummary(report: readonly Fault[]): string {
  const faults = report.filter(({ severity }) => severity === 'fault').length
  return `${counted(faults, 'fault')}, ${counted(report.length - faults, 'warning')}`
}

/** One line that says what of the files has no effect here; empty: nothing. */
export function leftAlone(report: readonly Fault[]): string[] {
  const warnings = report.filter(({ severity }) => severity === 'warning')
  const keys = warnings.filter(({ part }) => part === 'key').map(({ pointer }) => nameOf(pointer))
  const files = warnings.filter(({ reason }) => reason.startsWith('skipped: ')).map(({ file }) => nameOf(file))
  const told = [
    ...(keys.length > 0 ? [`${counted(keys.length, 'unknown key')}, kept (${listed(keys)})`] : []),
    ...(files.length > 0 ? [`${counted(files.length, 'file')}, skipped (${listed(files)})`] : []),
  ]
  return told.length > 0 ? [plain(`left alone: ${told.join('; ')}`)] : []
}

const MAX_LISTED = 10

/** The last part of a path, or of a pointer. */
const nameOf = (path: string) =>
  path
    .slice(path.lastIndexOf('/') + 1)
    .replace(/~1/g, '/')
    .replace(/~0/g, '~')

function listed(names: readonly string[]) {
  const all = [...new Set(names)].sort()
  return [...all.slice(0, MAX_LISTED), ...(all.length > MAX_LISTED ? ['…'] : [])].join(', ')
}

export const isBroken = (report: readonly Fault[]): boolean => report.some(({ severity }) => severity === 'fault')

export const counted = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`

interface Place extends Pick<Fault, 'file' | 'pointer'> {
  readonly line?: number | null
  readonly column?: number | null
}

/**
 * `Greeting.flux:12:5 #/states/0/action`, which editors and terminals lead to; without a place in the file,
 * `Greeting.flux#/states/0/action`.
 */
export const shownPlace = ({ file, pointer, line, column }: Place): string =>
  line == null ? `${file}#${pointer}` : `${file}:${line}:${column ?? 1} #${pointer}`

const oneLine = (text: string) =>
  text
    .split(/[\r\n]/)
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join(' ')

/** Compared by code units, so the order is the same in every locale. */
function sorted(report: readonly Fault[], severity: Fault['severity']) {
  return report
    .filter((fault) => fault.severity === severity)
    .sort((one, other) => Number(keyOf(one) > keyOf(other)) - Number(keyOf(one) < keyOf(other)))
    .map((fault) => plain(`${shownPlace(fault)}: ${severity === 'warning' ? 'warning: ' : ''}${oneLine(fault.reason)}`))
}

/** Faults of the file as a whole come first. */
const keyOf = ({ file, line = 0, column = 0, pointer, reason }: Fault) =>
  [file, ...[line, column].map((place) => String(place).padStart(9, '0')), pointer, reason].join('\0')
