// steps: scripts of users. What goes in and what comes out is data.
import { isObject, toJson, type Json } from '../../model/json/value.ts'
import type { ScriptCall } from '../../ports/step-runner.ts'
import { SandboxPool } from './sandbox-pool.ts'
import type { ScriptOutcome } from './sandbox.ts'
import { lineOf, ScriptError } from './script-error.ts'

/** Milliseconds that a script may compute at most, whatever its timeout: about what a timer of Node can wait. */
const MAX_TIME_MS = 2 ** 30
/** Milliseconds for looking whether it can be understood. */
const CHECK_TIME_MS = 1000

/** What comes out of the sandbox: a value, or what was thrown, which has a name. */
interface Answer {
  readonly value?: unknown
  readonly name?: string
  readonly message?: string
  readonly className?: string
  readonly stack?: string
  /** As JSON text. */
  readonly fields?: string
}

export class Scripts {
  readonly #pool = new SandboxPool()
  /** Bytes that a result may have as JSON. */
  readonly #maxResult: number

  constructor({ maxResult }: { readonly maxResult: number }) {
    this.#maxResult = maxResult
  }

  /**
   * @throws Error with the name and the message that the script threw; ResultTooLarge; TimeoutError; whatever the
   * signal was aborted with
   */
  async run({ script, names, signal, timeout, onSlow }: ScriptCall): Promise<Json> {
    signal.throwIfAborted()
    return valueOf(
      await this.#pool.run(
        { script, names, timeout: Math.min(timeout, MAX_TIME_MS), maxResult: this.#maxResult, onSlow },
        signal,
      ),
    )
  }

  /** Whether that script took long the last time. */
  isSlow(script: string): boolean {
    return this.#pool.isSlow(script)
  }

  /** Why it can't be parsed; null if it can. */
  async fault(script: string): Promise<string | null> {
    const outcome = await this.#pool.run({ script, names: null, timeout: CHECK_TIME_MS, maxResult: 0 })
    return 'json' in outcome ? null : outcome.message
  }

  /** Ends what runs. */
  close(): void {
    this.#pool.close()
  }
}

function valueOf(outcome: ScriptOutcome): Json {
  if (!('json' in outcome)) throw new ScriptError(outcome)
  const answer: Answer = JSON.parse(outcome.json)
  if (answer.name === undefined) return toJson(answer.value) // Absent for what can't be data, like a function.
  const { name, message = '', className = name, stack = '', fields = '{}' } = answer
  const data: unknown = JSON.parse(fields)
  throw new ScriptError({
    name,
    message,
    className,
    line: lineOf(stack, className),
    frames: stack,
    ...(isObject(data) && { fields: data }),
  })
}
