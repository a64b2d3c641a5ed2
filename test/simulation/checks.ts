// What must hold in the end, when nothing has gone wrong for a while: of what callers were told, of what functions
// returned, and of the store's indexes.
import { type ContextId, type ContextRecord, isFinished } from '../../src/model/context.ts'
import { decodeRecord } from '../../src/engine/record/decode.ts'
import { checkIndexes } from './check-indexes.ts'
import type { Ledger } from './ledger.ts'
import type { Memory } from '../../src/store/memory/memory.ts'
import type { Call } from './runner.ts'
import { checkNotes } from './check-notes.ts'
import { isNoteTag, TOKENS, type Sent } from './workload.ts'

export interface End {
  readonly memory: Memory
  readonly ledger: Ledger
  readonly sent: readonly Sent[]
  readonly calls: readonly Call[]
  /** Epoch milliseconds. */
  readonly now: number
}

export type Wrong = (what: string) => void

export const listOf = (record: ContextRecord, name: string): unknown[] => {
  const value = record.output[name]
  return Array.isArray(value) ? value : []
}

/** Gives what doesn't hold, in words. */
export async function faultsOf(end: End): Promise<string[]> {
  const faults: string[] = []
  const wrong = (what: string) => {
    faults.push(what)
  }
  const records = [...end.memory.contexts.values()].map(({ context }) => decodeRecord(context))
  for (const { id, version } of records)
    if (end.ledger.records.get(id)?.version !== version)
      wrong(`context ${id} has version ${version}, and was committed in another`)
  const byId = new Map(records.map((record) => [record.id, record]))
  for (const one of end.sent) checkSent(one, byId, records, wrong)
  for (const record of records) {
    checkEnd(record, end, wrong)
    checkOrder(record, wrong)
    checkResults(record, end.calls, wrong)
    checkChildren(record, records, wrong)
  }
  checkTags(end.sent, byId, wrong)
  checkNotes(records, end, wrong)
  await checkIndexes(records, end, wrong)
  return faults
}

/** What is acknowledged is there, once; what is refused isn't; of what is unknown, either. */
function checkSent(
  { do: what, token, told, contextId, answer, listening }: Sent,
  byId: ReadonlyMap<ContextId, ContextRecord>,
  records: readonly ContextRecord[],
  wrong: Wrong,
): void {
  const count = (id: ContextId | null) => tokensOf(byId.get(id ?? 0)).filter((seen) => seen === token).length
  if (what === 'start') {
    const started = records.filter(
      ({ input, parent, fluxName }) => parent === null && fluxName !== 'Begun' && input['token'] === token,
    )
    if (
      told === 'done'
        ? started.length !== 1 || started[0]?.id !== contextId
        : started.length > (told === 'refused' ? 0 : 1)
    )
      wrong(`start ${token} is ${told}, and there are ${started.length} contexts of it`)
  }
  if (what === 'event') {
    const times = count(contextId)
    if (told === 'done' ? times !== 1 : times > (told === 'refused' ? 0 : 1))
      wrong(`event ${token} to context ${contextId} is ${told}, and took effect ${times} times`)
  }
  if (what === 'terminate' && told === 'done' && byId.get(contextId ?? 0)?.status !== 'TERMINATED')
    wrong(`context ${contextId} was terminated, and is ${byId.get(contextId ?? 0)?.status}`)
  if (what !== 'broadcast') return
  const moved = new Set(answer?.transitions.map((one) => one.contextId))
  const ignored = new Set(answer?.ignored.map((one) => one.contextId))
  const started = new Set(answer?.executions.map((one) => one.contextId))
  for (const { id } of records) {
    const times = count(id)
    if (times > 1) wrong(`broadcast ${token} took effect ${times} times in context ${id}`)
    if (told === 'refused' && times > 0) wrong(`broadcast ${token} is refused, and took effect in context ${id}`)
    if (told !== 'done') continue
    if ((moved.has(id) || started.has(id)) && times !== 1)
      wrong(`broadcast ${token} moved context ${id}, and took effect ${times} times`)
    if (times === 1 && !moved.has(id) && !started.has(id) && ignored.size === 0)
      wrong(`broadcast ${token} took effect in context ${id}, and its sender wasn't told`)
  }
  for (const id of listening)
    if (told === 'done' && !moved.has(id) && !ignored.has(id))
      wrong(`broadcast ${token} did not reach context ${id}, which waited for it`)
}

function tokensOf(record: ContextRecord | undefined): unknown[] {
  if (!record) return []
  if (record.fluxName !== 'Child') return listOf(record, 'seen')
  const { reply } = record.output
  // What the function makes of the answer comes after it.
  const state = Object.values(record.states)[0]?.input['token']
  return typeof reply === 'string' && reply.startsWith('answer')
    ? [Number(/\d+/.exec(reply)?.[0])]
    : typeof state === 'number'
      ? [state]
      : []
}

/** What one client sent one after the other is in that order. */
function checkOrder(record: ContextRecord, wrong: Wrong): void {
  // One that another context was about to take may be passed over.
  if (record.fluxName === 'Late') return
  const last = new Map<number, number>()
  for (const token of listOf(record, 'seen')) {
    if (typeof token !== 'number') continue
    const client = Math.floor(token / TOKENS)
    if ((last.get(client) ?? 0) > token) wrong(`context ${record.id} has ${token} after ${last.get(client)}`)
    last.set(client, token)
  }
}

/** Everything has settled: what isn't finished waits for an event, and nothing is forgotten. */
function checkEnd(record: ContextRecord, { memory }: End, wrong: Wrong): void {
  const { id, status, due, lease, moves, tail } = record
  const kept = memory.contexts.get(id)
  if (!isFinished(status) && (status !== 'WAITING' || due !== null || lease !== null))
    wrong(`context ${id}, a ${record.fluxName}, is ${status} in the end`)
  if (isFinished(status) && (due !== null || lease !== null || kept?.context.owner !== null))
    wrong(`context ${id} is ${status}, and has a due time or a lease`)
  if (kept?.isNotified) wrong(`context ${id}, which is ${status}, must still look at its relatives`)
  const numbers = [...(kept?.log ?? []), ...tail.split('\n')].flatMap((row) =>
    row === '' ? [] : Number(/,(\d+)\]$/.exec(row)?.[1]),
  )
  if (numbers.length !== moves || numbers.some((number, index) => number !== index))
    wrong(`context ${id} made ${moves} moves, and its history has ${numbers.join()}`)
  // Each event is a move, besides the start.
  const seen = listOf(record, 'seen').length
  if (record.fluxName === 'Tally' && status === 'WAITING' && moves !== seen + 1)
    wrong(`context ${id} made ${moves} moves, and heard ${seen} events`)
}

/** Each result is what a call of that very step returned, and each step gave one. */
function checkResults(record: ContextRecord, calls: readonly Call[], wrong: Wrong): void {
  if (record.fluxName !== 'Work') return
  const results = listOf(record, 'results')
  const returned = new Set(calls.filter(({ contextId }) => contextId === record.id).map((call) => call.returned))
  results.forEach((result, round) => {
    if (typeof result !== 'string' || !returned.has(result))
      wrong(`context ${record.id} has a result that nothing returned: ${String(result)}`)
    else if (!result.endsWith(`/${round}`)) wrong(`context ${record.id} has ${result} as result ${round}`)
  })
  const steps = results.map((result) => String(result).split('/')[0])
  if (new Set(steps).size !== steps.length) wrong(`context ${record.id} has two results of one step: ${results.join()}`)
  if (
    record.status === 'COMPLETED' &&
    record.input['rounds'] !== results.length &&
    !calls.some(({ contextId, attempt }) => contextId === record.id && attempt === 3) &&
    record.error === null &&
    record.state === 1
  )
    wrong(`context ${record.id} ended after ${results.length} rounds`)
  for (const { contextId, attempt } of calls)
    if (contextId === record.id && attempt > 3) wrong(`context ${record.id} has an attempt ${attempt}`)
}

/** A parent has what became of each of its children, once, and none outlives it. */
function checkChildren(record: ContextRecord, records: readonly ContextRecord[], wrong: Wrong): void {
  const children = records.filter(({ parent }) => parent?.id === record.id)
  if (isFinished(record.status))
    for (const child of children)
      if (!isFinished(child.status)) wrong(`context ${child.id} outlives its parent ${record.id}`)
  if (record.fluxName !== 'Parent') return
  const replies = listOf(record, 'replies')
  const expected = children
    .map(({ id, status, output }) => ({ id, status, reply: output['reply'] ?? null }))
    .sort((a, b) => a.id - b.id)
  if (
    record.status === 'COMPLETED' &&
    (children.length !== record.input['rounds'] || replies.length !== children.length)
  )
    wrong(`parent ${record.id} had ${children.length} children and ${replies.length} replies`)
  replies.forEach((reply, index) => {
    const child = expected[index]
    const told = String(reply)
    if (
      child?.status === 'COMPLETED'
        ? reply !== child.reply
        : child?.status === 'TERMINATED'
          ? reply !== 'ServiceTerminated' && reply !== 'TimeoutError'
          : reply !== 'ServiceFailed'
    )
      wrong(`parent ${record.id} was told ${told}, child ${child?.id} is ${child?.status}: ${String(child?.reply)}`)
  })
}

/** A tag that only one call was about is there as that call's sender was told. */
function checkTags(sent: readonly Sent[], byId: ReadonlyMap<ContextId, ContextRecord>, wrong: Wrong): void {
  for (const { do: what, tag, contextId, told } of sent) {
    if (what !== 'addTag' || tag === null || tag === 'red' || isNoteTag(tag)) continue
    const isThere = byId.get(contextId ?? 0)?.tags.includes(tag) === true
    const removals = sent.filter(
      (other) => other.do === 'removeTag' && other.tag === tag && other.contextId === contextId,
    )
    if (removals.length === 0 && told !== 'unknown' && isThere !== (told === 'done'))
      wrong(`adding ${tag} to context ${contextId} is ${told}, and it ${isThere ? 'has' : 'lacks'} it`)
    if (isThere && removals.some((removal) => removal.told === 'done'))
      wrong(`${tag} was removed from context ${contextId}, which has it`)
  }
}
