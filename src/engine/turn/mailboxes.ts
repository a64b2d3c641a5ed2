// engine/turn: a mailbox for each context. One turn at a time takes the messages from it, in order of arrival. The number of
// waiting messages is bounded.
import type { ContextId } from '../../model/context.ts'
import { FluxError, overloaded } from '../../model/failure.ts'
import type { Signals } from '../../ports/signals.ts'
import type { Input } from '../interpreter/decision.ts'
import { isBounded, type Message, type MessageOptions, type MessageOutcome } from './message.ts'
import type { RootRequest } from './start-request.ts'
import { TurnLoop, type StartOptions, type TurnLoopParts } from './turn-loop.ts'

/** Number of waiting messages at which calls to a context are refused. */
const MAX_MESSAGES = 1000
/** Maximum number of messages decided in one turn. */
const MAX_BATCH_MESSAGES = 100

export interface MailboxesParts extends TurnLoopParts {
  /** Contexts in which calls may have turns under way at once, starts included. */
  readonly maxCalls: number
  readonly signals: Pick<Signals, 'depth'>
}

export class Mailboxes {
  /** The waiting messages of each context that has a turn in progress. */
  readonly #waiting = new Map<ContextId, Message[]>()
  /** Those of them in which a call began the first turn. */
  readonly #called = new Set<ContextId>()
  /** Starts of calls that are under way. */
  #callStarts = 0
  readonly #maxCalls: number
  readonly #signals: MailboxesParts['signals']
  readonly #turns: TurnLoop
  #onIdle: (() => void) | null = null

  constructor(parts: MailboxesParts) {
    this.#maxCalls = parts.maxCalls
    this.#signals = parts.signals
    this.#turns = new TurnLoop(parts, {
      hold: (id) => this.#hold(id),
      putBack: (id, messages) => this.#waiting.get(id)?.unshift(...messages),
      onEnd: (id, { yields }) => {
        if (yields && this.#waiting.get(id)?.length) setImmediate(() => this.#next(id))
        else this.#next(id)
      },
    })
  }

  /**
   * Sends a message to a context. Resolves after the commit.
   * @throws FluxError when the context doesn't exist, or its mailbox is full; of a call, `overloaded`; RowTaken when the
   * guard of one of its rows fails
   */
  post(
    id: ContextId,
    input: Input,
    { isCall = false, waits = false, rows, rowsAlways, first }: MessageOptions = {},
  ): Promise<MessageOutcome> {
    return new Promise((resolve, reject) => {
      const message = { input, rows, rowsAlways, first, resolve, reject }
      const mailbox = this.#waiting.get(id)
      this.#signals.depth(mailbox === undefined ? 0 : mailbox.length)
      if (mailbox && mailbox.length >= MAX_MESSAGES && !waits && isBounded(input)) {
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
        this.#waiting.set(id, [])
        this.#turns.begin(id, [message])
      }
    })
  }

  /**
   * Starts a context. Resolves after the commit.
   * @throws FluxError when its inputs, tags or start state are invalid; of a call, `overloaded`; RowTaken when the guard
   * of one of its rows fails
   */
  start(request: RootRequest, options: StartOptions = {}): Promise<MessageOutcome> {
    if (options.isCall !== true) return this.#turns.start(request, options)
    if (this.#isFull) return Promise.reject(tooManyCalls())
    this.#callStarts += 1
    const onEnd = () => {
      this.#callStarts -= 1
    }
    return this.#turns.start(request, options, onEnd)
  }

  get #isFull(): boolean {
    return this.#called.size + this.#callStarts >= this.#maxCalls
  }

  /** Whether a message waits for that context, or a turn of it is in progress. */
  isBusy(id: ContextId): boolean {
    return this.#waiting.has(id)
  }

  /** Resolves when no message waits and no turn is in progress. */
  async idle(): Promise<void> {
    while (this.#waiting.size > 0)
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve
      })
  }

  /**
   * Makes messages to that context wait until the returned function is called. If a turn is in progress, they wait
   * already, and its end starts the next turn.
   */
  #hold(id: ContextId): () => void {
    if (this.#waiting.has(id)) return () => {}
    this.#waiting.set(id, [])
    return () => this.#next(id)
  }

  /** Begins the next turn of that context if messages wait. */
  #next(id: ContextId): void {
    const mailbox = this.#waiting.get(id)
    if (mailbox && mailbox.length > 0) return this.#turns.begin(id, mailbox.splice(0, MAX_BATCH_MESSAGES))
    this.#waiting.delete(id)
    this.#called.delete(id)
    if (this.#waiting.size === 0) this.#onIdle?.()
  }
}

const tooManyCalls = () => overloaded('the server has too many commits under way at present')
