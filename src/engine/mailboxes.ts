// engine: a mailbox for each context, processed by one turn at a time. What waits in it is decided and committed
// together; each message fails alone.
import type { CompiledFlux } from '../definitions/flux.ts'
import type { ContextId } from '../model/context.ts'
import { FluxError, notFound, overloaded, unavailable, type Failure } from '../model/failure.ts'
import type { ContextRecord } from '../model/record.ts'
import type { CommitOutcome, Write } from '../ports/store.ts'
import type { StartRequest, RootRequest } from './start-request.ts'
import type { Commits, CommitWatcher } from './commit.ts'
import type { Input } from './interpreter/decision.ts'
import { Pace } from './pace.ts'
import { runStart, runTurn, type TurnResult } from './turn.ts'
import { TurnData, type TurnDataParts } from './turn-data.ts'
import type { TurnEnv } from './unit-of-work.ts'

/** Messages that may wait for one context. */
const MAX_MESSAGES = 1000
/** Messages decided in one turn. */
const MAX_BATCH_MESSAGES = 100

export interface MessageOutcome {
  /** False: it was refused, or else it was stale or not addressed to the context. */
  readonly moved: boolean
  /** Why it was refused. */
  readonly failure: Failure | null
  /** As committed. */
  readonly record: ContextRecord
  readonly flux: CompiledFlux
}

interface Message {
  readonly input: Input
  readonly resolve: (outcome: MessageOutcome) => void
  readonly reject: (error: unknown) => void
}

/** One turn, over as many tries as it takes. */
interface Turn {
  readonly id: ContextId
  messages: Message[]
  readonly data: TurnData
  /** How often another server was faster. */
  lost: number
  /** The context has grown too large: it is to end. */
  ends: Input | null
}

/** A context that is being started. */
interface Start {
  readonly request: StartRequest
  readonly watcher: CommitWatcher | null
  readonly data: TurnData
  readonly resolve: (outcome: MessageOutcome) => void
  readonly reject: (error: unknown) => void
}

/** A message, by its place among those of the turn, and what was thrown at it. */
type Culprit = Pick<TurnResult & { kind: 'threw' }, 'place' | 'error'>

type Decided = TurnResult & { kind: 'decided' }

export interface MailboxesParts extends TurnDataParts {
  readonly commits: Commits
  readonly env: () => TurnEnv
  /** Contexts that may be busy at once with what calls ask for. */
  readonly maxCalls: number
}

/** `isCall`: a caller from outside asks for it, who is refused when there is too much to do. */
interface PostOptions {
  readonly isCall?: boolean
}

/**
 * What comes from outside is bounded; answers of steps, wake-ups and the end of a context are not: somebody else bounds
 * them.
 */
const isBounded = (input: Input): boolean =>
  input.type === 'TAG' || input.type === 'TERMINATE' || input.type === 'EVENT'

export class Mailboxes {
  readonly #parts: MailboxesParts
  /** Of the contexts that something waits for, or is under way in. */
  readonly #mailboxes = new Map<ContextId, Message[]>()
  readonly #pace = new Pace()
  /** Those of them that a call has made busy, and starts of calls. */
  readonly #called = new Set<ContextId>()
  #starts = 0
  #onIdle: (() => void) | null = null

  constructor(parts: MailboxesParts) {
    this.#parts = parts
  }

  /**
   * Sends a context a message; resolves after the commit.
   * @throws FluxError when it doesn't exist, or its mailbox is full; of a call, `overloaded`
   */
  post(id: ContextId, input: Input, { isCall = false }: PostOptions = {}): Promise<MessageOutcome> {
    return new Promise((resolve, reject) => {
      const message = { input, resolve, reject }
      const mailbox = this.#mailboxes.get(id)
      if (mailbox && mailbox.length >= MAX_MESSAGES && isBounded(input)) {
        reject(
          new FluxError({
            kind: 'busy',
            detail: `${MAX_MESSAGES} messages already wait for context ${id}`,
            retryAfter: 1,
          }),
        )
      } else if (mailbox) {
        mailbox.push(message)
      } else if (isCall && this.#isFull) {
        reject(tooManyCalls())
      } else {
        if (isCall) this.#called.add(id)
        this.#mailboxes.set(id, [])
        this.#begin(id, [message])
      }
    })
  }

  /**
   * Starts a context; resolves after the commit. A watcher hears of that commit, too, and of all later ones of this
   * server until it is let go.
   * @throws FluxError when its inputs, tags or start state are invalid; of a call, `overloaded`
   */
  start(
    request: RootRequest,
    { watcher = null, isCall = false }: PostOptions & { readonly watcher?: CommitWatcher | null } = {},
  ): Promise<MessageOutcome> {
    return new Promise((succeed, fail) => {
      if (isCall && this.#isFull) return fail(tooManyCalls())
      if (isCall) this.#starts += 1
      const resolve = (outcome: MessageOutcome) => {
        if (isCall) this.#starts -= 1
        succeed(outcome)
      }
      const reject = (error: unknown) => {
        if (isCall) this.#starts -= 1
        fail(error)
      }
      const { flux, startState, input, untyped, unknown, tags, trigger, request: sent } = request
      const partition = this.#parts.ids.nextPartition()
      const whole = { flux, startState, input, untyped, unknown, tags, trigger, parent: null, partition, request: sent }
      const begun = { request: whole, watcher, data: new TurnData(this.#parts), resolve, reject }
      this.#pace.run(() => this.#tryStart(begun))
    })
  }

  get #isFull(): boolean {
    return this.#called.size + this.#starts >= this.#parts.maxCalls
  }

  /** Whether anything waits for that context, or is under way in it. */
  isBusy(id: ContextId): boolean {
    return this.#mailboxes.has(id)
  }

  /** Resolves when no mailbox has anything left. */
  async idle(): Promise<void> {
    while (this.#mailboxes.size > 0)
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve
      })
  }

  #begin(id: ContextId, messages: Message[]): void {
    const turn = { id, messages, data: new TurnData(this.#parts), lost: 0, ends: null }
    this.#trySoon(turn)
  }

  /** At once, unless much was decided for others just now. */
  #trySoon(turn: Turn): void {
    this.#pace.run(() => this.#try(turn))
  }

  /** Decides, until nothing is lacking and nothing throws, and commits. */
  #try(turn: Turn): void {
    const { id, data } = turn
    try {
      for (;;) {
        data.rewind()
        const inputs = turn.ends ? [turn.ends] : turn.messages.map(({ input }) => input)
        const env = this.#parts.env()
        const result = runTurn(id, inputs, data, turn.ends ? { ...env, maxRecord: Infinity } : env)
        switch (result.kind) {
          case 'decided':
            this.#pace.spend(result.steps)
            return this.#commit(turn, result)
          case 'lacks':
            return void data.fetch(result.need, id).then(
              () => this.#trySoon(turn),
              (error: unknown) => this.#goWithout(turn, { place: result.place, error }),
            )
          case 'notFound':
            return this.#fail(turn, notFound(`there is no context ${id}`))
          case 'refused':
            return this.#fail(turn, new FluxError(result.failure))
          case 'threw':
            this.#takeOut(turn, result)
            break
          case 'tooLarge':
            this.#narrow(turn, result)
        }
        if (turn.messages.length === 0) return this.#end(turn)
      }
    } catch (error) {
      this.#fail(turn, error)
    }
  }

  /** Half of what a message does must not become true: all others are decided again without it. */
  #takeOut(turn: Turn, { place, error }: Culprit): void {
    const [message] = turn.messages.splice(place, 1)
    message?.reject(error)
  }

  /** A relative that can't be read concerns only the message that asks for it; a store that is away, all of them. */
  #goWithout(turn: Turn, culprit: Culprit): void {
    const { place, error } = culprit
    const isAway = error instanceof FluxError && error.failure.kind === 'unavailable'
    if (isAway || place < 0 || turn.messages.length <= 1) return this.#fail(turn, error)
    this.#takeOut(turn, culprit)
    this.#trySoon(turn)
  }

  /** One of the messages is too much, and the others are innocent. Alone, it ends the context. */
  #narrow(turn: Turn, { error }: TurnResult & { kind: 'tooLarge' }): void {
    if (turn.ends) throw error
    if (turn.messages.length > 1) this.#putBack(turn, turn.messages.splice(1))
    else
      turn.ends = {
        type: 'OUTGROWN',
        error: { message: error.message, type: error.name, className: error.name, realException: null },
      }
  }

  #commit(turn: Turn, decided: Decided): void {
    const { work, writes } = decided
    const { commits } = this.#parts
    const conclude = (isTrue: boolean) => (isTrue ? this.#settle(turn, decided) : this.#again(turn))
    const fail = (error: unknown) => this.#fail(turn, error)
    if (writes.length === 0) commits.isCurrent(work).then(conclude, fail)
    else
      commits
        .commit(work, writes, { lost: turn.lost, incarnation: turn.data.incarnation })
        .then((outcome) => conclude(outcome.ok), fail)
  }

  /** Another server was faster, or what was decided on was old. */
  #again(turn: Turn): void {
    turn.lost += 1
    turn.data.forget()
    this.#trySoon(turn)
  }

  /** Tells the senders of what has become true. */
  #settle(turn: Turn, { context, results, writes }: Decided): void {
    const rest = turn.messages.splice(results.length)
    results.forEach((result, place) => {
      const failure = result.kind === 'refused' ? result.failure : null
      turn.messages[place]?.resolve({
        moved: result.kind === 'next',
        failure,
        record: context.record,
        flux: context.flux,
      })
    })
    this.#putBack(turn, rest)
    // Where nothing is written, nothing is waited for, and others want to be served, too.
    this.#end(turn, { yields: writes.length === 0 })
  }

  #fail(turn: Turn, error: unknown): void {
    for (const { reject } of turn.messages) reject(error)
    this.#end(turn)
  }

  #putBack({ id }: Turn, messages: readonly Message[]): void {
    if (messages.length > 0) this.#mailboxes.get(id)?.unshift(...messages)
  }

  #end({ id, data }: Turn, { yields = false } = {}): void {
    data.release()
    if (yields && this.#mailboxes.get(id)?.length) setImmediate(() => this.#next(id))
    else this.#next(id)
  }

  #next(id: ContextId): void {
    const mailbox = this.#mailboxes.get(id)
    if (mailbox && mailbox.length > 0) return this.#begin(id, mailbox.splice(0, MAX_BATCH_MESSAGES))
    this.#mailboxes.delete(id)
    this.#called.delete(id)
    if (this.#mailboxes.size === 0) this.#onIdle?.()
  }

  #tryStart(start: Start): void {
    const { request, data, reject } = start
    try {
      data.rewind()
      const result = runStart(request, data, this.#parts.env())
      switch (result.kind) {
        case 'decided':
          this.#pace.spend(result.steps)
          return this.#commitStart(start, result)
        case 'lacks':
          return void data.fetch(result.need, null).then(() => this.#tryStart(start), reject)
        case 'refused':
          return reject(new FluxError(result.failure))
        case 'tooLarge':
          return reject(new FluxError({ kind: 'tooLarge', detail: result.error.message }))
        case 'threw':
        case 'notFound':
          throw new Error(`the start of a context came to '${result.kind}'`)
      }
    } catch (error) {
      reject(error)
    }
  }

  /**
   * What is sent to the context meanwhile, by a broadcast that finds it, waits. What was sent to that id before has a
   * turn under way, which goes on with its mailbox.
   */
  #commitStart({ request, watcher, data, resolve, reject }: Start, { work, context, writes }: Decided): void {
    const { commits } = this.#parts
    const { id } = context.record
    const isFirst = !this.#mailboxes.has(id)
    if (isFirst) this.#mailboxes.set(id, [])
    if (watcher) commits.watch(id, watcher)
    const goOn = () => {
      if (isFirst) this.#next(id)
    }
    const fail = (error: unknown) => {
      commits.unwatch(id)
      reject(error)
      goOn()
    }
    commits.commit(work, writes, { lost: 0, incarnation: data.incarnation }).then((outcome) => {
      if (!outcome.ok && !this.#isStartedEarlier(outcome, writes))
        return fail(unavailable(`context ${id} exists already`))
      resolve({ moved: true, failure: null, record: context.record, flux: request.flux })
      return goOn()
    }, fail)
  }

  /**
   * The answer to the commit was lost, and before it was asked for again another message has moved the new context on:
   * it is there, as wanted.
   */
  #isStartedEarlier({ stale, current }: CommitOutcome & { ok: false }, writes: readonly Write[]): boolean {
    const ours = writes.find(({ context }) => context.id === stale)?.context.parts['base']
    if (ours === undefined || current?.parts['base'] !== ours) return false
    this.#parts.commits.reconcile(stale)
    return true
  }
}

const tooManyCalls = () => overloaded('the server has too many commits under way at present')

/** Where a context stands, as the answer to an event reports it. */
export const standOf = ({ record, flux }: MessageOutcome) => ({
  contextId: record.id,
  state: flux.states[record.state]?.name ?? '',
})
