// cli: prints the report of loading for people.
import { shownPlace, type Fault } from '../definitions/report.ts'
import { plain } from './remote/text.ts'

const SEVERITIES = ['fault', 'warning'] as const

/** `a.flux:2` comes before `a.flux:10`. */
const { compare } = new Intl.Collator('en', { numeric: true })

/** One line for each fault or warning: faults first, each kind in the order of files and places. */
export const reportLines = (report: readonly Fault[]): string[] =>
  SEVERITIES.flatMap((severity) =>
    report
      .filter((fault) => fault.severity === severity)
      .map(lineOf)
      .sort(compare),
  )

/** `2 faults, 1 warning` */
export const reportSummary = (report: readonly Fault[]): string =>
  SEVERITIES.map((severity) => counted(report.filter((fault) => fault.severity === severity).length, severity)).join(
    ', ',
  )

export const isBroken = (report: readonly Fault[]): boolean => report.some(({ severity }) => severity === 'fault')

export const counted = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`

const lineOf = (fault: Fault) =>
  plain(
    `${shownPlace(fault)}: ${fault.severity === 'warning' ? 'warning: ' : ''}${fault.reason.replace(/[\r\n]\s*/g, ' ')}`,
  )
