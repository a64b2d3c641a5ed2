// cli/test: what becomes of scenarios, and what they cover, as lines for people.
import { relative } from 'node:path'
import type { Coverage } from '../../testing/coverage.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import { shownPlace } from '../../definitions/report.ts'
import type { ScenarioFailure } from '../../testing/scenario/read.ts'
import type { ScenarioResult } from '../../testing/scenario/suite.ts'
import type { ServiceCoverage } from '../../testing/types.ts'
import { mermaidOf } from '../mermaid.ts'
import { plain, plainText, styled, tableLines } from '../remote/text.ts'
import { counted } from '../report.ts'

/** Of a failure: where, what was expected and seen, and the way that was taken. */
export function resultLines(
  { scenario, service, ok, milliseconds, failure, file }: ScenarioResult,
  hasColour: boolean,
) {
  const word = ok ? 'ok    ' : 'failed'
  const head = `${hasColour ? styled(ok ? 'green' : 'red', word) : word} ${plain(`${service ?? ''} ${scenario}`.trim())}`
  return [`${head} (${milliseconds} ms)`, ...(failure ? failureLines(failure, relative('', file)) : [])]
}

/** What has failed, without the name of the scenario. */
export function failureLines(failure: ScenarioFailure, file: string): string[] {
  const { message, mismatches, way } = failure
  return [
    `  ${shownPlace({ ...failure, file })}: ${message}`,
    ...mismatches.flatMap(({ pointer: at, expected, seen }) => [
      `    ${at}: expected ${JSON.stringify(expected)}`,
      `    ${' '.repeat(at.length)}  seen     ${JSON.stringify(seen) ?? 'nothing'}`,
    ]),
    ...(way.length > 0 ? ['  the way that was taken:', ...way.map((move) => `    ${move}`)] : []),
  ].map(plainText)
}

export function summaryOf(results: readonly ScenarioResult[], milliseconds: number): string {
  const failed = results.filter(({ ok }) => !ok).length
  const outcome = failed === 0 ? 'all as expected' : `${failed} failed`
  return `${counted(results.length, 'scenario')} in ${(milliseconds / 1000).toFixed(1)} s: ${outcome}`
}

/** Whether at least so many percent of the transitions were taken. */
export const isCovered = ({ transitions: { taken, never } }: ServiceCoverage, percent: number): boolean =>
  taken.length * 100 >= (taken.length + never.length) * percent

const share = ({ taken, never }: ServiceCoverage['states']) => `${taken.length} of ${taken.length + never.length}`

interface Covered {
  readonly services: readonly CompiledFlux[]
  readonly coverage: Coverage
}

/** A table of the services, the states and transitions that were never taken, and diagrams if they are wanted. */
export function coverageLines({ services, coverage }: Covered, isDrawn: boolean, columns: number | null): string[] {
  const all = services.map((flux) => ({ flux, name: `${flux.package}/${flux.fluxName}`, ...coverage.of(flux) }))
  const rows = all.map(({ name, states, transitions }) => [name, share(states), share(transitions)])
  const never = all.flatMap(({ name, states, transitions }) =>
    [...states.never, ...transitions.never].map((each) => plain(`  ${name}: ${each}`)),
  )
  const drawn = all.flatMap(({ flux, name }) => [
    '',
    plain(`%% ${name}`),
    mermaidOf(flux.source, (state, transition) => coverage.isTaken(flux, state, transition)),
  ])
  return [
    '',
    ...tableLines([['SERVICE', 'STATES', 'TRANSITIONS'], ...rows], columns, false),
    ...(never.length > 0 ? ['', 'Never taken:', ...never] : []),
    ...(isDrawn ? drawn : []),
    '',
  ]
}
