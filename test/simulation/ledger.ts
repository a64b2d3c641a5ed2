// What became true in the store, commit by commit, and what must hold of each commit.
import type { Catalog } from '../../src/definitions/catalog.ts'
import { type ContextId, type ContextRecord, isFinished, readyKindOf, UNOWNED } from '../../src/model/context.ts'
import type { StoredContext, Write } from '../../src/ports/store.ts'
import { decodeHead } from '../../src/engine/record/decode.ts'
import type { Witness } from './faults.ts'
import type { Call } from './runner.ts'
import type { Scheduler } from './scheduler.ts'

/** States that only time leads to. */
const TIMED: { readonly [fluxName: string]: readonly string[] } = { Timer: ['Expired', 'Over'], Child: ['Late'] }
/**
 * Milliseconds that a timer may be late when nothing goes wrong: a sweep, and the way to the store and back a few
 * times.
 */
const LATE_MS = 6_500

export class Ledger implements Witness {
  /** As last committed, without data. */
  readonly records = new Map<ContextId, ContextRecord>()
  /** Whether the server of that boot id may be taken for dead. */
  mayBeDead: (owner: string) => boolean = () => true
  /** Names of servers, by boot id. */
  servers: ReadonlyMap<string, string> = new Map()
  /** By number, as it stands in their results. */
  calls: readonly Call[] = []
  /** Called after each commit. */
  onCommit: () => void = () => {}
  /** Since when nothing goes wrong, epoch milliseconds. */
  calmSince = Infinity
  /** By step key: JSON of its arguments. */
  readonly #args = new Map<string, string>()
  /** When an attempt may begin, by context. */
  readonly #pauses = new Map<ContextId, { readonly epoch: number; readonly attempt: number; readonly until: number }>()
  readonly #catalog: Catalog
  readonly #scheduler: Scheduler
  readonly #violations: string[]

  constructor({
    catalog,
    scheduler,
    violations,
  }: {
    readonly catalog: Catalog
    readonly scheduler: Scheduler
    readonly violations: string[]
  }) {
    this.#catalog = catalog
    this.#scheduler = scheduler
    this.#violations = violations
  }

  committed(writes: readonly Write[], befores: readonly (StoredContext | null)[]): void {
    writes.forEach(({ context }, index) => {
      const [before, record] = [this.records.get(context.id) ?? null, decodeHead(context)]
      this.records.set(context.id, record)
      const wrong = (what: string) => {
        this.#violations.push(`context ${context.id}, version ${context.version}: ${what}`)
      }
      if (context.version !== (befores[index]?.version ?? 0) + 1)
        wrong(`follows version ${befores[index]?.version ?? 0}`)
      if (context.due !== record.due) wrong('its due times differ')
      if (
        (context.owner === null ? null : readyKindOf(context.owner) ? UNOWNED : context.owner) !==
        (record.lease?.owner ?? null)
      )
        wrong('its owners differ')
      if ((context.endedAt !== null) !== isFinished(record.status))
        wrong(`is ${record.status}, with ${context.endedAt} as its end`)
      const seconds =
        record.fluxName === 'Timer' && record.due !== null && record.due !== before?.due
          ? Number(/"seconds":([\d.]+)/.exec(context.parts['input'] ?? '')?.[1])
          : null
      if (seconds !== null && record.due !== record.updatedAt + seconds * 1000)
        wrong(`waits for ${(record.due ?? 0) - record.updatedAt} ms, and was told ${seconds} s`)
      if (!before) return
      if (isFinished(before.status)) wrong(`is written after its end as ${before.status}`)
      if (record.moves < before.moves) wrong('forgets moves')
      this.#checkTime(before, record, wrong)
      this.#checkLease(before, record, wrong)
      const [result, earlier] = [lastResult(context), lastResult(befores[index] ?? null)]
      const answerer = result === earlier ? undefined : this.calls[Number(result?.split('/')[1])]?.server
      const leaseholder = this.servers.get(before.lease?.owner ?? '')
      if (answerer !== undefined && answerer !== leaseholder)
        wrong(`takes the answer of ${answerer}, and its step is leased to ${leaseholder}`)
    })
    this.onCommit()
  }

  purged(id: ContextId): void {
    this.#violations.push(`context ${id} is purged`)
  }

  stateOf({ package: owner, fluxName, state }: ContextRecord): string {
    return this.#catalog.find(owner, fluxName)?.states[state]?.name ?? ''
  }

  /** No timer early, and where nothing goes wrong none late. */
  #checkTime(before: ContextRecord, record: ContextRecord, wrong: (what: string) => void): void {
    const [phase, next] = [before.position.phase, record.position.phase]
    const { epoch, attempt } = record.position
    if (next === 'backoff' && record.due !== null) this.#pauses.set(record.id, { epoch, attempt, until: record.due })
    if (before.due === null || record.status === 'TERMINATED') return
    const goesOn = phase !== next || epoch !== before.position.epoch
    const isTimed =
      TIMED[record.fluxName]?.includes(this.stateOf(record)) === true && this.stateOf(record) !== this.stateOf(before)
    if (!goesOn || !(isTimed || phase === 'delayed' || phase === 'backoff')) return
    if (record.updatedAt < before.due) wrong(`goes on ${before.due - record.updatedAt} ms before its time`)
    const late = this.#scheduler.now - Math.max(before.due, this.calmSince + LATE_MS)
    if (late > LATE_MS) wrong(`goes on ${late} ms after its time`)
  }

  /** A step is taken from nobody who lives. */
  #checkLease(before: ContextRecord, record: ContextRecord, wrong: (what: string) => void): void {
    const [from, to] = [before.lease?.owner, record.lease?.owner]
    this.#checkTakeovers(before, record, wrong)
    if (from === undefined || to === undefined || from === to || from === UNOWNED || to === UNOWNED) return
    const [known, next] = [before.position, record.position]
    if (known.epoch === next.epoch && known.attempt === next.attempt && !this.mayBeDead(from))
      wrong(`is taken over from ${from}, which lives`)
  }

  /** Only a step that a server was running counts as lost: not one that was ready, or was given back. */
  #checkTakeovers(before: ContextRecord, record: ContextRecord, wrong: (what: string) => void): void {
    const [from, to, known, next] = [before.lease, record.lease, before.position, record.position]
    if (!to) return
    const isSame = from !== null && known.epoch === next.epoch && known.attempt === next.attempt
    const isLost = isSame && from.owner !== to.owner && from.owner !== UNOWNED && to.owner !== UNOWNED
    const expected = isSame ? from.takeovers + (isLost ? 1 : 0) : 0
    if (to.takeovers !== expected) wrong(`counts ${to.takeovers} takeovers, and had ${expected}`)
    if (to.owner === UNOWNED && record.stepStartedAt !== undefined) wrong('is ready, and has begun')
  }

  /** Of a step that begins. */
  called({ contextId, stepKey, attempt, args, at }: Call): void {
    const wrong = (what: string) => {
      this.#violations.push(`step ${stepKey}, attempt ${attempt}: ${what}`)
    }
    const known = this.#args.get(stepKey)
    if (known !== undefined && known !== args) wrong(`is called with ${args}, and was with ${known}`)
    this.#args.set(stepKey, args)
    const record = this.records.get(contextId)
    if (!record) return wrong('its context was never committed')
    const pause = this.#pauses.get(contextId)
    if (pause && stepKey === `${contextId}-${pause.epoch}` && pause.attempt === attempt && at < pause.until)
      wrong(`begins ${pause.until - at} ms too early`)
    const { epoch } = record.position
    if (Number(stepKey.split('-')[1]) > epoch) wrong('begins before it was committed')
  }
}

/** The newest of a service that keeps the results of its steps. */
const lastResult = (context: StoredContext | null): string | undefined =>
  /"([\d-]+\/\d+\/\d*)"\]/.exec(context?.parts['output'] ?? '')?.[1]
