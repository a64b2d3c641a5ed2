// What must hold in the end of calls under keys: one effect for each key and addressee, the same answer for each repeat, no key without
// an effect and no effect without its key, receipts that tell it; and of each commit, that a context key has one context.
import { type ContextId, type ContextRecord, isFinished } from '../../src/model/context.ts'
import { decodeRecord } from '../../src/engine/record/decode.ts'
import type { KeyUse, Variant } from './keyed-calls.ts'
import type { Attempt, KeyedCalls } from './keyed-workload.ts'
import type { Ledger } from './ledger.ts'
import type { Memory } from '../../src/store/memory/memory.ts'

type Wrong = (what: string) => void

/** Of each commit: whether a key has two contexts. */
export function checkContextKeys(ledger: Ledger, wrong: Wrong): void {
  const seen = new Map<string, ContextId>()
  for (const { id, fluxName, key, status } of ledger.records.values()) {
    if (key === null || (isFinished(status) && fluxName !== 'Never')) continue
    const other = seen.get(`${fluxName}/${key}`)
    if (other !== undefined) wrong(`contexts ${other} and ${id} of ${fluxName} have the key ${key}`)
    seen.set(`${fluxName}/${key}`, id)
  }
}

/** Contexts in which that call had its effect, each as often as it had it; null: that leaves no mark. */
function effectsOf({ kind, token }: Variant, records: readonly ContextRecord[]): ContextId[] | null {
  const startedBy = (record: ContextRecord) => record.input['token'] === token
  switch (kind) {
    case 'start':
      return records.flatMap((record) => (startedBy(record) ? record.id : []))
    case 'event':
      return records.flatMap((record) => {
        const seen = record.output['seen']
        const times = Array.isArray(seen) ? seen.filter((one) => one === token).length : 0
        return Array.from({ length: times + (startedBy(record) ? 1 : 0) }, () => record.id)
      })
    case 'tag':
      return records.flatMap(({ id, tags }) => (tags.includes(`t${token}`) ? id : []))
    case 'terminate':
      return null
  }
}

/** Gives what doesn't hold, in words. */
export async function keyedFaultsOf(calls: KeyedCalls, memory: Memory, probed: number): Promise<string[]> {
  const faults: string[] = []
  const wrong = (what: string) => {
    faults.push(what)
  }
  const records = [...memory.contexts.values()].map(({ context }) => decodeRecord(context))
  for (const { name, reply } of calls.starts) checkStart(records, name, reply, wrong)
  for (const use of calls.uses) {
    const attempts = calls.attempts.filter((one) => one.use === use)
    const probes = new Set(calls.attempts.slice(probed).filter((one) => one.use === use))
    for (const addressee of new Set(use.variants.map((one) => one.addressee))) {
      const variants = use.variants.filter((one) => one.addressee === addressee)
      const own = attempts.filter(({ variant }) => variants.includes(variant))
      checkUse(variants, { attempts: own, probes, records }, (what) => wrong(`key ${use.key}: ${what}`))
    }
    if (use.variants[0]?.kind === 'event')
      await checkReceipt(calls, use, { attempts, records }, (what) => wrong(`receipt ${use.key}: ${what}`))
  }
  return faults
}

interface Facts {
  readonly attempts: readonly Attempt[]
  readonly records: readonly ContextRecord[]
}

function checkStart(records: readonly ContextRecord[], key: string, reply: Attempt['reply'], wrong: Wrong): void {
  const record = records.find(({ id }) => id === reply?.contextId)
  if (record?.key !== key) wrong(`the start by ${key} told of context ${reply?.contextId}, whose key is ${record?.key}`)
  const replaced = reply?.replaced
  if (replaced !== undefined && records.find(({ id }) => id === replaced)?.status !== 'TERMINATED')
    wrong(`context ${replaced} was replaced, and was not ended`)
}

function checkUse(
  variants: readonly Variant[],
  { attempts, probes, records }: Facts & { readonly probes: ReadonlySet<Attempt> },
  wrong: Wrong,
): void {
  const done = attempts.filter(({ told }) => told === 'done')
  const answered = new Set(done.map(({ variant }) => variant))
  if (answered.size > 1) wrong(`answered for ${[...answered].map(({ name }) => `'${name}'`).join(' and ')}`)
  if (new Set(done.map(({ reply }) => JSON.stringify(reply))).size > 1)
    wrong(`answered in different ways: ${done.map(({ reply }) => JSON.stringify(reply)).join(' and ')}`)
  const firsts = done.filter(({ replayed }) => !replayed)
  if (firsts.length > 1) wrong(`${firsts.length} answers are not told to be repeats`)
  const effective = variants.filter((variant) => (effectsOf(variant, records) ?? []).length > 0)
  if (effective.length > 1) wrong(`both contents had an effect`)
  for (const variant of variants) {
    const own = attempts.filter((one) => one.variant === variant)
    checkEffects(variant, own, records, wrong)
    const had = own.some((one) => one.told === 'done' && !probes.has(one))
    const last = own.findLast((one) => probes.has(one))
    if (last && had && !(last.told === 'done' && last.replayed))
      wrong(`'${variant.name}' was answered, and is forgotten`)
    if (last && effective.includes(variant) && last.told !== 'done')
      wrong(`'${variant.name}' had an effect, and is not remembered`)
  }
  const isRefused = attempts.some((one) => probes.has(one) && one.failure?.kind === 'idempotencyMismatch')
  if (isRefused && answered.size === 0) wrong('is kept, and had no effect')
}

/** Each call had its effect once, if it is told so or if it is unknown, and never if it is refused. */
function checkEffects(
  variant: Variant,
  own: readonly Attempt[],
  records: readonly ContextRecord[],
  wrong: Wrong,
): void {
  const effects = effectsOf(variant, records)
  if (effects === null) return
  const { name, isBroadcast, kind } = variant
  const reply = own.find(({ told }) => told === 'done')?.reply ?? null
  if (new Set(effects).size < effects.length) wrong(`'${name}' had its effect twice in a context: ${effects.join()}`)
  if (!isBroadcast && effects.length > 1) wrong(`'${name}' had ${effects.length} effects: ${effects.join()}`)
  // What stays under way is carried on, although its sender was told that the store is out of reach.
  const mayGoOn = own.some(
    ({ told, failure }) => told === 'unknown' || (isBroadcast && failure?.kind === 'unavailable'),
  )
  if (reply === null && !mayGoOn && effects.length > 0) wrong(`'${name}' is refused, and had an effect`)
  if (reply === null) return
  if (isBroadcast && (reply.ignored ?? []).length > 0) return
  const moved = [...(reply.transitions ?? []), ...(reply.executions ?? [])].map(({ contextId }) => contextId)
  const expected =
    kind === 'start' ? (reply.started === true ? [reply.contextId ?? 0] : []) : kind === 'event' ? moved : null
  if (expected && effects.toSorted().join() !== expected.toSorted().join())
    wrong(`'${name}' is told to have its effect in ${expected.join()}, and had it in ${effects.join()}`)
  if (kind === 'tag' && effects.length !== 1) wrong(`'${name}' is done, and the tag is there ${effects.length} times`)
}

/** It tells whom the event moved and started, and is there only if the event was taken. */
async function checkReceipt(
  calls: KeyedCalls,
  { key, variants }: KeyUse,
  { attempts, records }: Facts,
  wrong: Wrong,
): Promise<void> {
  const receipt = await calls.receiptOf(key)
  const answer = attempts.find(({ told }) => told === 'done')
  if (!receipt || !answer) {
    if (receipt) wrong('is there of an event that was not taken')
    if (answer) wrong('is not there of an event that was taken')
    return
  }
  if (!receipt.done) wrong('tells that the event is under way')
  const told = [...receipt.moved, ...receipt.started].map(({ contextId }) => contextId).toSorted()
  const effects = variants.flatMap((variant) => effectsOf(variant, records) ?? []).toSorted()
  if (told.join() !== effects.join()) wrong(`tells of ${told.join()}, and the event was for ${effects.join()}`)
  const repeats = attempts.filter(({ replayed }) => replayed).length
  const unheard = attempts.filter((one) => one.told === 'unknown').length
  if (receipt.repeated > repeats + unheard) wrong(`counts ${receipt.repeated} repeats of ${repeats}`)
}
