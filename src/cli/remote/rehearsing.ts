// cli/remote: options of commands that can be rehearsed, and what a rehearsal tells.
import type { Would } from '../../api/rehearsal.ts'
import { flagOption, textOption, UsageError, type Given } from '../command.ts'
import { jsonIn } from './arguments.ts'
import type { Remote } from './remote.ts'
import { plain, plainJson, timeText } from './text.ts'

export const REHEARSAL = {
  'dry-run': flagOption('only tell what would happen'),
  assume: textOption('json|@file|-', 'with --dry-run: outcomes of steps, now, until, random'),
}

export const IF_VERSION = { 'if-version': textOption('number', 'only if the context has this version') }

/** The fields of a call that these options stand for. @throws UsageError */
export async function rehearsalFields(values: Given<typeof REHEARSAL & typeof IF_VERSION>['values'], { io }: Remote) {
  const { 'dry-run': dryRun, 'if-version': version } = values
  const assume = await jsonIn(values.assume, 'assume', io)
  if (assume && !dryRun) throw new UsageError('--assume goes with --dry-run')
  if (version !== undefined && !/^[1-9]\d{0,14}$/.test(version)) throw new UsageError('--if-version must be a number')
  return { ...(dryRun && { dryRun }), ...(assume && { assume }), ...(version && { version: Number(version) }) }
}

interface Answer {
  readonly would?: readonly Would[] | undefined
  readonly matched?: number | undefined
  readonly wouldMove?: number | undefined
  readonly wouldStart?: number | undefined
  readonly wouldIgnore?: number | undefined
}

/** What would happen, for people; null: the call was not rehearsed. */
export function rehearsalLines({ would, matched, ...counts }: Answer, remote: Remote): string[] | null {
  if (!would) return null
  const { wouldMove, wouldStart, wouldIgnore } = counts
  const sums = `of ${matched}, ${wouldMove} would move, ${wouldStart} start, ${wouldIgnore} ignore it`
  const lines = would.flatMap((each) => linesOf(each, remote))
  return [...(wouldMove === undefined ? [] : [sums]), ...(lines.length > 0 ? lines : ['Nothing would change.'])]
}

function linesOf(would: Would, { style }: Remote): string[] {
  const { contextId, fluxName, from, entered, to, status, nextRun, error, changed, steps, children, onEnd } = would
  const way = [from ?? 'start', ...(entered.length > 0 ? entered : from === to ? [] : [to])]
  const due = nextRun === null ? '' : ` until ${timeText(nextRun)}`
  return [
    `${style('bold', String(contextId ?? 'new'))}  ${plain(`${would.package}/${fluxName}  ${way.join(' → ')}: ${status}${due}`)}`,
    ...(error ? [`  ${error.type}: ${error.message}`] : []),
    ...changed.map((one) => `  ${one.pointer}  ${plainJson(one.from)} → ${plainJson(one.to)}`),
    ...steps.map(
      ({ state, className, methodName, kind, arguments: given, assumed }) =>
        `  ${assumed ? 'assumed' : 'starts'}: ${state}, ${className === null ? kind : `${className}.${methodName}`} ${plainJson(given)}`,
    ),
    ...children.map((child) => `  starts ${child.package}/${child.fluxName} ${plainJson(child.input)}`),
    ...(onEnd === null ? [] : [`  its end is sent to ${onEnd}`]),
    ...(would.stopped ? ['  the rehearsal ends here: it has made 10,000 moves'] : []),
  ].map(plain)
}
