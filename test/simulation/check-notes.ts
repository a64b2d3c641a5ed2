// Of notes, which wait for somebody to wait for them: each that was acknowledged as pending is taken exactly once, or its
// time is over, or it is pending still, since nobody waits for it.
import { type ContextRecord, isFinished } from '../../src/model/context.ts'
import { unclaimedRowOf, type UnclaimedRow } from '../../src/engine/pending/unclaimed-store.ts'
import { listOf, type End, type Wrong } from './checks.ts'

export function checkNotes(
  records: readonly ContextRecord[],
  { memory, ledger, sent, now }: Pick<End, 'memory' | 'ledger' | 'sent' | 'now'>,
  wrong: Wrong,
): void {
  const late = records.filter(({ fluxName }) => fluxName === 'Late')
  const held = memory.rows
    .list({ space: 'held', prefix: '', limit: Infinity })
    .map(({ value }) => unclaimedRowOf(value))
  for (const { do: what, token, told, answer } of sent) {
    if (what !== 'note') continue
    const takers = late.flatMap((record) =>
      listOf(record, 'seen').flatMap((seen) => (seen === token ? [record.id] : [])),
    )
    const isHeld = held.some(({ event }) => event.input['token'] === token)
    if (new Set(takers).size < takers.length) wrong(`note ${token} took effect twice in one of ${takers.join()}`)
    if (told === 'refused' && (takers.length > 0 || isHeld)) wrong(`note ${token} is refused, and took effect`)
    if (answer === null) continue
    const moved = answer.transitions.map(({ contextId }) => contextId).sort((a, b) => a - b)
    const [pending] = answer.pending
    if (!pending && (moved.join() !== takers.toSorted((a, b) => a - b).join() || isHeld) && answer.ignored.length === 0)
      wrong(`note ${token} moved ${moved.join()}, and was taken by ${takers.join()}`)
    if (!pending) continue
    const isOver = pending.expiresAt !== null && pending.expiresAt <= now
    if (takers.length > 1) wrong(`note ${token} was pending, and was taken by ${takers.join()}`)
    if (takers.length === 1 && isHeld) wrong(`note ${token} was taken by ${takers.join()}, and is pending still`)
    if (takers.length === 0 && !isHeld && !isOver) wrong(`note ${token} was pending, and is lost`)
  }
  for (const row of held) checkHeld(row, late, { memory, ledger, sent, now }, wrong)
}

/** Nobody could take it. */
function checkHeld(
  { event }: UnclaimedRow,
  late: readonly ContextRecord[],
  { ledger }: Pick<End, 'memory' | 'ledger' | 'sent' | 'now'>,
  wrong: Wrong,
): void {
  if (event.claim !== null) wrong(`note ${String(event.input['token'])} is claimed in the end`)
  for (const record of late) {
    const isReady = !isFinished(record.status) && ledger.stateOf(record) === 'Ready'
    if (isReady && record.tags.some((tag) => event.tags.includes(tag)))
      wrong(`note ${String(event.input['token'])} is pending, and context ${record.id} waits for it`)
  }
}
