// steps: runs scripts of users. Input and output are data.
import { isObject, toJson, type Json } from '../../model/json/value.ts'
import type { ScriptCall } from '../../ports/steps.ts'
import { SandboxPool } from './sandbox-pool.ts'
import type { ScriptOutcome } from './sandbox.ts'
import { lineOf, ScriptError } from './script-error.ts'

/** Upper limit of the timeout of a script: about the longest delay of a timer in Node. */
const MAX_TIME_MS = 2 ** 30
/** Time limit for parsing a script without running it. */
const CHECK_TIME_MS = 1000

/** The output of the sandbox: a value, or a thrown error, which has a name. */
interface Answer {
  readonly value?: unknown
  readonly name?: string
  readonly message?: string
  readonly className?: string
  readonly stack?: string
  /** JSON text. */
  readonly fields?: string
}

export class Scripts {
  readonly #pool = new SandboxPool()
  /** Maximum size of a result, in bytes of JSON. */
  readonly #maxResult: number

  constructor({ maxResult }: { readonly maxResult: number }) {
    this.#maxResult = maxResult
  }

  /**
   * @throws Error with the name and the message that the script threw; ResultTooLarge; TimeoutError; the abort reason
   * of the signal
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

  /** Whether the last run of the script was slow. */
  isSlow(script: string): boolean {
    return this.#pool.isSlow(script)
  }

  /** The reason why the script cannot be parsed; null if it can. */
  async fault(script: string): Promise<string | null> {
    const outcome = await this.#pool.run({ script, names: null, timeout: CHECK_TIME_MS, maxResult: 0 })
    return 'json' in outcome ? null : outcome.message
  }

  /** Ends all processes and the scripts in them. */
  close(): void {
    this.#pool.close()
  }
}

function valueOf(outcome: ScriptOutcome): Json {
  if (!('json' in outcome)) throw new ScriptError(outcome)
  const answer: Answer = JSON.parse(outcome.json)
  if (answer.name === undefined) return toJson(answer.value) // `value` is absent if it cannot be data, like a function.
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
