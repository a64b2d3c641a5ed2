// Clients that call under idempotency keys, repeat themselves, call twice at once and use keys for another content; and
// others beside them who start, replace and end contexts by keys.
import { isReplayed } from '../support/answers.ts'
import type { FluxApi } from '../../src/api/calls.ts'
import { FluxError, type Failure } from '../../src/model/failure.ts'
import { NAMES, someUse, type KeyUse, type Reply, type Variant } from './keyed-calls.ts'
import type { Ledger } from './ledger.ts'
import type { SimulatedServer, World } from './server.ts'

/** One sending of a content, and what came of it. */
export interface Attempt {
  readonly use: KeyUse
  readonly variant: Variant
  readonly told: 'done' | 'refused' | 'unknown'
  readonly reply: Reply | null
  readonly replayed: boolean
  readonly failure: Failure | null
}

/** A start by key without an idempotency key. */
export interface KeyedStart {
  readonly name: string
  readonly reply: Reply
}

/** Milliseconds between two calls of a client. */
const PAUSE_MS = 2_000
/** How often what is under way is asked for again in the end, and milliseconds in between. */
const PROBES = 30
const PROBE_MS = 2_000

/** What all clients of a run share. */
export class KeyedCalls {
  readonly uses: KeyUse[] = []
  readonly attempts: Attempt[] = []
  readonly starts: KeyedStart[] = []
  readonly #world: World
  readonly #ledger: Ledger
  #token = 0

  constructor(world: World, ledger: Ledger) {
    this.#world = world
    this.#ledger = ledger
  }

  /** One client. */
  async work(calls: number): Promise<void> {
    const { random } = this.#world.scheduler
    for (let count = 0; count < calls;) {
      await this.#world.scheduler.sleep(random.between(0, random.chance(0.4) ? 5 : PAUSE_MS))
      const server = random.pick(this.#world.servers)
      if (!server) continue
      count += 1
      await (random.chance(0.3) ? this.#beside(server) : this.#underKey(server))
    }
  }

  /** Asks again for all, when nothing goes wrong any more: what had an effect is remembered, and nothing else. */
  async probe(): Promise<void> {
    for (const use of this.uses) for (const variant of use.variants) await this.#probe(use, variant)
  }

  /** The receipt of an event; null: there is none. */
  async receiptOf(eventId: string) {
    const [server] = this.#world.servers
    if (!server) throw new Error('a server lives')
    try {
      return await server.api.getEvent({ eventId })
    } catch (error) {
      if (error instanceof FluxError && error.failure.kind === 'notFound') return null
      throw error
    }
  }

  async #underKey(server: SimulatedServer): Promise<void> {
    const { random } = this.#world.scheduler
    const use = random.chance(0.45) ? random.pick(this.uses) : undefined
    const known = use ?? this.#newUse()
    const variant = known.variants[random.chance(0.75) ? 0 : 1]
    if (!variant) return
    const calls = [this.#send(server, known, variant)]
    const other = random.pick(this.#world.servers)
    const twin = random.pick(known.variants)
    if (other && twin && random.chance(0.3)) calls.push(this.#send(other, known, twin))
    await Promise.all(calls)
  }

  #newUse(): KeyUse {
    const ids = [...this.#ledger.records.keys()]
    const use = someUse(`i${this.uses.length}`, { random: this.#world.scheduler.random, ids, token: this.#next })
    this.uses.push(use)
    return use
  }

  readonly #next = (): number => (this.#token += 1)

  /** Without an idempotency key: so that those under one meet contexts that come and go. */
  async #beside(server: SimulatedServer): Promise<void> {
    const { random } = this.#world.scheduler
    const key = random.pick(NAMES) ?? 'k1'
    const dice = random.between(0, 9)
    const address = { package: 'keyed', fluxName: 'Order', key }
    if (dice < 6) {
      const existing = random.pick(['refuse', 'use', 'replace'] as const)
      const run = (api: FluxApi) => api.execute({ ...address, existing, input: { token: this.#next() } })
      const { reply } = await this.#call(server, `start Order/${key} ${existing}`, run)
      if (reply) this.starts.push({ name: key, reply })
    } else if (dice < 8)
      await this.#call(server, `finish Order/${key}`, (api) =>
        api.sendEvent({ ...address, event: 'finish', input: { token: this.#next() } }),
      )
    else {
      const input = { token: this.#next(), k: key }
      await this.#call(server, `send ordered ${key}`, (api) => api.sendEvent({ event: 'ordered', input }))
    }
  }

  async #probe(use: KeyUse, variant: Variant): Promise<void> {
    for (let count = 0; count < PROBES; count += 1) {
      const [server] = this.#world.servers
      const attempt = server && (await this.#send(server, use, variant))
      const kind = attempt?.failure?.kind
      if (attempt && kind !== 'idempotencyInProgress' && kind !== 'unavailable') return
      await this.#world.scheduler.sleep(PROBE_MS)
    }
    this.#world.violations.push(`the key ${use.key} stays in use for '${variant.name}'`)
  }

  async #send(server: SimulatedServer, use: KeyUse, variant: Variant): Promise<Attempt> {
    const outcome = await this.#call(server, `${use.key}: ${variant.name}`, variant.send)
    const attempt = { use, variant, ...outcome }
    this.attempts.push(attempt)
    return attempt
  }

  async #call(
    server: SimulatedServer,
    what: string,
    run: (api: FluxApi) => Promise<Reply>,
  ): Promise<Omit<Attempt, 'use' | 'variant'>> {
    const { scheduler, violations } = this.#world
    const tell = (told: string) => scheduler.tell(server, `${what}: ${told}`)
    tell('asks')
    const nothing = { reply: null, replayed: false, failure: null }
    try {
      const reply = await server.whileAlive(run(server.api))
      tell(reply === null ? 'hears nothing' : isReplayed(reply) ? 'done before' : 'done')
      return reply === null
        ? { ...nothing, told: 'unknown' }
        : { ...nothing, told: 'done', reply, replayed: isReplayed(reply) }
    } catch (error) {
      tell(String(error))
      if (!(error instanceof FluxError)) {
        violations.push(`${what}: ${error instanceof Error ? error.stack : String(error)}`)
        return { ...nothing, told: 'unknown' }
      }
      const { failure } = error
      const isUnknown = failure.kind === 'unavailable' && failure.inDoubt === true
      return { ...nothing, told: isUnknown ? 'unknown' : 'refused', failure }
    }
  }
}
