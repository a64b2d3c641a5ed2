// engine/calls: rehearses a call: its own handler decides, with the rights of its caller, and nothing happens.
import { randomUUID } from 'node:crypto'
import type { Told } from '../../api/calls.ts'
import type { EventAnswer } from '../../api/events.ts'
import { MAX_SAMPLED, type Assumptions, type Rehearsed } from '../../api/rehearsal.ts'
import { NO_SIGNALS } from '../contexts/deps.ts'
import { BroadcastRun } from '../fanout/broadcast-run.ts'
import type { BroadcastEvent } from '../fanout/broadcast-rows.ts'
import { hashOf } from '../fanout/kept-broadcasts.ts'
import { BroadcastPlace } from '../fanout/receivers.ts'
import { Idempotency } from '../idempotency/idempotency.ts'
import { inProgress, mismatch, readKept, readKeptToAll, rowKeyOf, type ScopedKey } from '../idempotency/kept-answer.ts'
import { Rehearsal } from '../rehearsal/rehearsal.ts'
import { withoutNewIds, wouldOf } from '../rehearsal/would.ts'
import { unclaimedAnswer } from '../pending/unclaimed-events.ts'
import { isReadable, type CallEnv } from './call-env.ts'

/**
 * The answer that the call would have, and what would become of the contexts. `handle`: the handler of the call.
 * @throws FluxError as the call
 */
export function rehearse<A extends object>(
  env: CallEnv,
  assume: Assumptions,
  handle: (env: CallEnv) => Promise<Told<A>>,
): Promise<Told<Rehearsed<A>>> {
  return env.rehearsals.run(async () => {
    const rehearsal = new Rehearsal(env, assume)
    const { mailboxes, store, clock } = rehearsal
    let counts: object | undefined
    const dry: CallEnv = {
      ...env,
      mailboxes,
      store,
      clock,
      signals: NO_SIGNALS,
      refusals: { log: async () => {} },
      idempotency: new Idempotency({ ...env.given, store, clock }),
      async toAll(event, call) {
        const told = await sendToSome(dry, event, call)
        counts = told.counts
        return told
      },
    }
    const { answer, replayed } = await handle(dry)
    await rehearsal.goOn()
    // Relatives of a context may be of services that the caller may not read.
    const readable = [...rehearsal.contexts].filter(([, { now }]) => isReadable(env)(now.flux))
    const isNew = (id: number) => rehearsal.isNew(id)
    const would = await wouldOf(new Map(readable), isNew)
    const whole = { ...withoutNewIds(answer, isNew), dryRun: true as const, ...counts, would }
    return { answer: whole, rehearsed: true, ...(replayed && { replayed }) }
  })
}

/** Sends an event to the first contexts that wait for it. `call`: its key; null: it has none. */
async function sendToSome(env: CallEnv, sent: BroadcastEvent, call: ScopedKey | null) {
  const { store, clock } = env
  const row = call && (await readKeptToAll(store, rowKeyOf(call)))
  if (row) {
    const kept = readKept<EventAnswer>(row.value)
    if (kept.hash !== hashOf(sent)) throw mismatch()
    if (kept.answer === null) throw inProgress()
    return { answer: kept.answer, replayed: true as const }
  }
  const now = clock.now()
  const stored = { sent, upTo: await store.highestId(), expiresAt: now, drawn: { seed: randomUUID(), now } }
  const unclaimed = { endBroadcast: async (...end: Parameters<typeof unclaimedAnswer>) => unclaimedAnswer(...end) }
  const parts = { ...env, unclaimed, most: MAX_SAMPLED }
  const run = new BroadcastRun(parts, { key: '', stored, place: new BroadcastPlace(null) })
  await run.prepare()
  const answer = await run.sendUnstored()
  const { transitions, executions, ignored, pending } = answer
  const wouldMove = transitions.length + pending.filter(({ contextId }) => contextId !== null).length
  const [wouldStart, wouldIgnore] = [executions.length, ignored.length]
  const matched = wouldMove + wouldStart + wouldIgnore
  return { answer, counts: { matched, wouldMove, wouldStart, wouldIgnore, ...(run.isCut && { sampled: true }) } }
}
