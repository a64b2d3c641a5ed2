// engine: a mailbox for each context. One turn at a time takes the messages from it, in the order in which they came;
// the number that may wait is bounded.
import type { ContextId } from '../model/context.ts'
import { FluxError } from '../model/failure.ts'
import type { Input } from './interpreter/decision.ts'
import { isBounded, type Message, type MessageOptions, type MessageOutcome } from './message.ts'
import { Pace } from './pace.ts'
import type { RootRequest } from './start-request.ts'
import { Starts, type StartOptions } from './starts.ts'
import { TurnLoop, type TurnLoopParts } from './turn-loop.ts'

/** Messages that may wait for one context. */
const MAX_MESSAGES = 1000
/** Messages decided in one turn. */
const MAX_BATCH_MESSAGES = 100

const NO_OPTIONS = {}

export type MailboxesParts = TurnLoopParts

export class Mailboxes {
  /** The messages that wait, of each context in which a turn is under way. */
  readonly #waiting = new Map<ContextId, Message[]>()
  readonly #turns: TurnLoop
  readonly #starts: Starts
  #onIdle: (() => void) | null = null

  constructor(parts: MailboxesParts) {
    const pace = new Pace()
    this.#turns = new TurnLoop(parts, pace, {
      putBack: (id, messages) => this.#waiting.get(id)?.unshift(...messages),
      onEnd: (id, { yields }) => {
        if (yields && this.#waiting.get(id)?.length) setImmediate(() => this.#next(id))
        else this.#next(id)
      },
    })
    this.#starts = new Starts(parts, pace, (id) => this.#hold(id))
  }

  /**
   * Sends a context a message; resolves after the commit.
   * @throws FluxError when the context doesn't exist, or its mailbox is full; RowTaken when the guard of one of its rows
   * fails
   */
  post(id: ContextId, input: Input, { waits, rows, rowsAlways }: MessageOptions = NO_OPTIONS): Promise<MessageOutcome> {
    return new Promise((resolve, reject) => {
      const message = { input, rows, rowsAlways, resolve, reject }
      const mailbox = this.#waiting.get(id)
      if (mailbox && mailbox.length >= MAX_MESSAGES && waits !== true && isBounded(input)) {
        reject(
          new FluxError({
            kind: 'busy',
            detail: `${MAX_MESSAGES} messages already wait for context ${id}`,
            retryAfter: 1,
          }),
        )
      } else if (mailbox) {
        mailbox.push(message)
      } else {
        this.#waiting.set(id, [])
        this.#turns.begin(id, [message])
      }
    })
  }

  /**
   * Starts a context; resolves after the commit.
   * @throws FluxError when its inputs, tags or start state are invalid; RowTaken when the guard of one of its rows fails
   */
  start(request: RootRequest, options: StartOptions = NO_OPTIONS): Promise<MessageOutcome> {
    return this.#starts.start(request, options)
  }

  /** Whether any message waits for that context, or a turn is under way in it. */
  isBusy(id: ContextId): boolean {
    return this.#waiting.has(id)
  }

  /** Resolves when no message waits and no turn is under way. */
  async idle(): Promise<void> {
    while (this.#waiting.size > 0)
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve
      })
  }

  /**
   * Makes messages to that context wait until the returned function is called. Where a turn is under way they wait
   * already, and that turn goes on with them.
   */
  #hold(id: ContextId): () => void {
    if (this.#waiting.has(id)) return () => {}
    this.#waiting.set(id, [])
    return () => this.#next(id)
  }

  /** The next turn of that context, if messages wait. */
  #next(id: ContextId): void {
    const mailbox = this.#waiting.get(id)
    if (mailbox && mailbox.length > 0) return this.#turns.begin(id, mailbox.splice(0, MAX_BATCH_MESSAGES))
    this.#waiting.delete(id)
    if (this.#waiting.size === 0) this.#onIdle?.()
  }
}
