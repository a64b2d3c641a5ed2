// Clients, each with one call at a time to any server, as the seed says; and what they were told, to be held against
// what the store has in the end.
import type { EventAnswer } from '../../src/api/events.ts'
import { type ContextId, type ContextRecord, isFinished } from '../../src/model/context.ts'
import { FluxError, type Failure } from '../../src/model/failure.ts'
import type { Json, JsonObject } from '../../src/model/json/value.ts'
import type { Ledger } from './ledger.ts'
import type { Scheduler } from './scheduler.ts'
import type { SimulatedServer, World } from './server.ts'

/** What a caller was told: done, not done, or nothing that can be relied on. */
export type Outcomes = 'done' | 'refused' | 'unknown'

export interface Sent {
  readonly do: 'start' | 'event' | 'broadcast' | 'terminate' | 'addTag' | 'removeTag' | 'note'
  readonly client: number
  /** In inputs and outputs of contexts; each call has its own. */
  readonly token: number
  readonly told: Outcomes
  /** Of a start that was told, or the one addressed. */
  readonly contextId: ContextId | null
  /** Of a broadcast. */
  readonly answer: EventAnswer | null
  /** Of a broadcast: contexts that waited for it all the time. */
  readonly listening: readonly ContextId[]
  readonly tag: string | null
}

type Outcome<T> =
  | { readonly told: 'done'; readonly value: T }
  | { readonly told: 'refused'; readonly failure: Failure }
  | { readonly told: 'unknown' }

/** Milliseconds between two calls of a client. */
const PAUSE_MS = 2_000
/** A client's tokens are above the last client's. */
export const TOKENS = 1000

const STARTED = ['Tally', 'Tally', 'Timer', 'Work', 'Work', 'Parent', 'Parent', 'Grand', 'Late', 'Late'] as const
/** Tags of notes, and of those that wait for them. */
const NOTE_TAGS = ['p0', 'p1', 'p2'] as const
/** Seconds for which a note may wait. */
const TTLS_S = [5, 60, 600]
/** How often a note with an id is sent again when its sender was told nothing. */
const NOTE_TRIES = 3
/** What waits for `add` from its start to its end. */
const LISTENERS: ReadonlySet<string> = new Set(['Tally', 'Begun'])

export class Client {
  readonly sent: Sent[] = []
  readonly #world: World
  readonly #ledger: Ledger
  readonly #scheduler: Scheduler
  readonly #number: number
  #calls = 0

  constructor(number: number, world: World, ledger: Ledger) {
    this.#number = number
    this.#world = world
    this.#ledger = ledger
    this.#scheduler = world.scheduler
  }

  async work(calls: number): Promise<void> {
    const { random } = this.#scheduler
    while (this.#calls < calls) {
      await this.#scheduler.sleep(random.between(0, random.chance(0.3) ? 5 : PAUSE_MS))
      const server = random.pick(this.#world.servers)
      if (!server) continue
      this.#calls += 1
      await this.#act(server)
    }
  }

  async #act(server: SimulatedServer): Promise<void> {
    const { random } = this.#scheduler
    const dice = random.between(0, 99)
    const record = random.pick([...this.#ledger.records.values()])
    if (this.#world.isOfNotes && dice < 90) {
      if (!record || dice < 25) return this.#start(server, 'Late')
      return dice < 60 ? this.#event(server, record) : this.#noteLater(server)
    }
    if (!record || dice < 30) return this.#start(server)
    if (dice < 60) return this.#event(server, record)
    if (dice < 78) return random.chance(0.4) ? this.#noteLater(server) : this.#broadcast(server)
    if (dice < 84) return this.#terminate(server, record)
    if (dice < 92) return this.#tag(server, record)
    return this.#read(server, record)
  }

  get #token(): number {
    return this.#number * TOKENS + this.#calls
  }

  async #start(server: SimulatedServer, service?: (typeof STARTED)[number]): Promise<void> {
    const { random } = this.#scheduler
    const [token, fluxName] = [this.#token, service ?? random.pick(STARTED) ?? 'Tally']
    const more: { [fluxName: string]: JsonObject } = {
      Timer: { seconds: random.between(1, 12) },
      Work: { rounds: random.between(1, 3) },
      Parent: { rounds: random.between(1, 2), seconds: random.between(1, 40) },
      Grand: { seconds: random.between(1, 10) },
    }
    const tags = fluxName === 'Late' ? [random.pick(NOTE_TAGS) ?? ''] : random.chance(0.3) ? ['red'] : []
    const before = [...this.#ledger.records.keys()]
    const outcome = await this.#call(server, `start ${fluxName} ${token}`, () =>
      server.api.execute({ package: 'sim', fluxName, input: { token, ...more[fluxName] }, tags }),
    )
    if (outcome.told === 'done') this.#checkId(outcome.value.contextId, before)
    this.#note({
      do: 'start',
      token,
      told: outcome.told,
      contextId: outcome.told === 'done' ? outcome.value.contextId : null,
    })
  }

  /** `before`: contexts that there were when its start was asked for. */
  #checkId(id: ContextId, before: readonly ContextId[]): void {
    const { partitions } = this.#world.memory
    const above = before.find((other) => other % partitions === id % partitions && other >= id)
    if (above !== undefined) this.#wrong(`context ${id} was started after context ${above}`)
  }

  async #event(server: SimulatedServer, before: ContextRecord): Promise<void> {
    const { id: contextId, fluxName } = before
    const token = this.#token
    if (fluxName === 'Late') return this.#ready(server, contextId)
    const event =
      fluxName === 'Child' ? 'answer' : fluxName === 'Tally' && this.#scheduler.random.chance(0.05) ? 'finish' : 'add'
    const outcome = await this.#call(server, `send ${event} ${token} to ${contextId}`, () =>
      server.api.sendEvent({ contextId, event, input: { token } }),
    )
    if (event === 'finish') return
    this.#note({ do: 'event', token, told: outcome.told, contextId })
    const record = this.#ledger.records.get(contextId)
    if (outcome.told !== 'refused' || !record || outcome.failure.kind === 'unavailable') return
    if (LISTENERS.has(fluxName) && !isFinished(record.status))
      this.#wrong(`${event} ${token} is refused by context ${contextId}, which waits for it: ${outcome.failure.detail}`)
  }

  async #broadcast(server: SimulatedServer): Promise<void> {
    const { random } = this.#scheduler
    const token = this.#token
    const [event, tags] = [random.chance(0.2) ? 'begin' : 'add', random.chance(0.4) ? ['red'] : []]
    const listen = () =>
      [...this.#ledger.records.values()].filter((record) => hears(record, event, tags)).map(({ id }) => id)
    const before = listen()
    const outcome = await this.#call(
      server,
      `broadcast ${event} ${token} to ${tags.join() || 'all without tags'}`,
      () => server.api.sendEvent({ event, input: { token }, tags }),
    )
    const after = new Set(listen())
    this.#note({
      do: 'broadcast',
      token,
      told: outcome.told,
      contextId: null,
      answer: outcome.told === 'done' ? outcome.value : null,
      listening: before.filter((id) => after.has(id)),
    })
  }

  /** It comes to wait for a note, or is not away. */
  async #ready(server: SimulatedServer, contextId: ContextId): Promise<void> {
    await this.#call(server, `ready ${contextId}`, () => server.api.sendEvent({ contextId, event: 'ready' }))
  }

  /** A note that waits for somebody. With an id, it is sent until its sender is told what became of it. */
  async #noteLater(first: SimulatedServer): Promise<void> {
    const { random } = this.#scheduler
    const [token, tag, ttl] = [this.#token, random.pick(NOTE_TAGS) ?? '', random.pick(TTLS_S) ?? 1]
    const eventId = random.chance(0.4) ? `note-${token}` : undefined
    const sent = { event: 'note', input: { token }, tags: [tag], ttl, ...(eventId !== undefined && { eventId }) }
    let server: SimulatedServer | undefined = first
    for (let tries = 0; tries < (eventId === undefined ? 1 : NOTE_TRIES); tries += 1) {
      const at: SimulatedServer | undefined = server
      if (at) {
        const outcome = await this.#call(at, `note ${token} for ${tag}, ${ttl} s`, () => at.api.sendEvent(sent))
        const isDone = outcome.told === 'done'
        // With an id it may go on although its sender was told otherwise.
        const told = eventId === undefined || isDone ? outcome.told : 'unknown'
        const isLast = isDone || eventId === undefined || tries === NOTE_TRIES - 1
        if (isLast) this.#note({ do: 'note', token, told, contextId: null, answer: isDone ? outcome.value : null, tag })
        if (isLast) return
      }
      await this.#scheduler.sleep(random.between(0, PAUSE_MS))
      server = random.pick(this.#world.servers)
    }
    this.#note({ do: 'note', token, told: 'unknown', contextId: null, tag })
  }

  async #terminate(server: SimulatedServer, { id: contextId }: ContextRecord): Promise<void> {
    const token = this.#token
    const outcome = await this.#call(server, `terminate ${contextId}`, () => server.api.terminate({ contextId }))
    this.#note({ do: 'terminate', token, told: outcome.told, contextId })
    const record = this.#ledger.records.get(contextId)
    if (outcome.told === 'refused' && outcome.failure.kind !== 'unavailable' && record && !isFinished(record.status))
      this.#wrong(`context ${contextId} isn't finished, and can't be terminated: ${outcome.failure.detail}`)
  }

  async #tag(server: SimulatedServer, { id: contextId, tags, fluxName }: ContextRecord): Promise<void> {
    const token = this.#token
    const { random } = this.#scheduler
    const old = random.chance(0.3) ? random.pick(tags) : undefined
    const common = fluxName === 'Late' ? (random.pick(NOTE_TAGS) ?? 'red') : 'red'
    const tag = old ?? (random.chance(0.5) ? common : `tag-${token}`)
    const request = { contextId, tag: [tag] }
    const outcome = await this.#call(
      server,
      `${old ? 'remove' : 'add'} tag ${tag} ${old ? 'from' : 'to'} ${contextId}`,
      () => (old ? server.api.removeTags(request) : server.api.addTags(request)),
    )
    this.#note({ do: old ? 'removeTag' : 'addTag', token, told: outcome.told, contextId, tag })
  }

  /** Whoever reads sees at least what had become true when he asked. */
  async #read(server: SimulatedServer, { id: contextId }: ContextRecord): Promise<void> {
    const least = this.#ledger.records.get(contextId)?.version ?? 0
    const outcome = await this.#call(server, `read ${contextId}`, () => server.api.getContext({ contextId }))
    if (outcome.told === 'done' && outcome.value.version < least)
      this.#wrong(`context ${contextId} is read in version ${outcome.value.version}, and had version ${least}`)
    if (outcome.told === 'refused' && outcome.failure.kind !== 'unavailable')
      this.#wrong(`context ${contextId} can't be read: ${outcome.failure.detail}`)
  }

  #note(sent: Pick<Sent, 'do' | 'token' | 'told' | 'contextId'> & Partial<Sent>): void {
    this.sent.push({ client: this.#number, answer: null, listening: [], tag: null, ...sent })
  }

  #wrong(what: string): void {
    this.#world.violations.push(what)
  }

  async #call<T extends { readonly message?: Json } | object>(
    server: SimulatedServer,
    what: string,
    run: () => Promise<T>,
  ): Promise<Outcome<T>> {
    const tell = (told: string) => this.#scheduler.tell(server, `client ${this.#number}, ${what}: ${told}`)
    tell('asks')
    try {
      const value = await server.whileAlive(run())
      tell(value === null ? 'hears nothing' : 'done')
      return value === null ? { told: 'unknown' } : { told: 'done', value }
    } catch (error) {
      tell(String(error))
      if (!(error instanceof FluxError)) {
        this.#wrong(`${what}: ${error instanceof Error ? error.stack : String(error)}`)
        return { told: 'unknown' }
      }
      const { failure } = error
      return failure.kind === 'unavailable' && failure.inDoubt ? { told: 'unknown' } : { told: 'refused', failure }
    }
  }
}

export const isNoteTag = (tag: string): boolean => NOTE_TAGS.some((one) => one === tag)

function hears({ fluxName, status, tags }: ContextRecord, event: string, sent: readonly string[]): boolean {
  if (!LISTENERS.has(fluxName) || isFinished(status) || (event === 'begin' && fluxName !== 'Begun')) return false
  return tags.length === 0 ? sent.length === 0 : tags.some((tag) => sent.includes(tag))
}
