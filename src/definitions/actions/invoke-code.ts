// definitions/actions: calls a function of a user's module or of a built-in class.
import { z } from 'zod'
import type { Retry } from '../flux.ts'
import {
  ACTION_INPUTS,
  ACTION_OUTPUTS,
  ACTION_RETRY,
  ACTION_TIMEOUT,
  TEXT,
  ANYTHING,
  FLAG,
  STATE_NAME,
} from '../source/fields.ts'
import { take } from '../source/take.ts'
import {
  argumentLines,
  compileRetry,
  DEFAULT_TIMEOUT_MS,
  milliseconds,
  PLAIN,
  resultLines,
  textAt,
  type ActionOptions,
  type ActionType,
} from './action-type.ts'

const SECOND_MS = 1000

/** Seconds after which an attempt fails if the action does not say. */
const STANDARD_TIMEOUT = { default: DEFAULT_TIMEOUT_MS / SECOND_MS }

const schema = z
  .object({
    type: TEXT,
    className: STATE_NAME.meta({
      description: 'Module of the package, such as `orders/payments`, or a built-in class.',
      examples: ['Logger', 'Errors', 'Http', 'Webhooks'],
    }),
    methodName: STATE_NAME.meta({ description: 'Name of the function in the module.' }),
    parameters: ANYTHING.meta({ description: 'What editors keep of the parameters. It has no effect.' }),
    inputs: ACTION_INPUTS,
    outputs: ACTION_OUTPUTS,
    retry: ACTION_RETRY,
    timeout: ACTION_TIMEOUT.meta(STANDARD_TIMEOUT),
    isolate: FLAG.meta({ description: 'Whether the function runs in a process of its own.', default: false }),
  })
  .meta({ title: 'Call of a function', description: 'Calls a function of a module of the package.' })

const LOGGERS: ReadonlySet<string> = new Set(['Logger', 'io.toro.martini.LoggerMethods'])

const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS

/** The schedule that Standard Webhooks recommends (spec 1.0, "Retry schedule and deliverability"). */
const DELIVERY_DELAYS_MS = [
  5 * SECOND_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  14 * HOUR_MS,
  20 * HOUR_MS,
  24 * HOUR_MS,
]

/** What `Webhooks.send` does without a `retry` of its own, and the webhook at the end of a context. */
export const DELIVERY_RETRY: Retry = {
  ...PLAIN.retry,
  maxAttempts: DELIVERY_DELAYS_MS.length + 1,
  schedule: DELIVERY_DELAYS_MS,
  jitter: 0.1,
}

function retryOfCode(action: z.output<typeof schema>, options: ActionOptions): Retry {
  const isDelivery = action.className === 'Webhooks' && action.methodName === 'send'
  return isDelivery && action.retry == null ? DELIVERY_RETRY : compileRetry(action.retry, options)
}

export const invokeCode: ActionType = {
  name: 'invokeCode',
  schema,
  compile(source, options) {
    const action = take(schema, source, options.pointer, options.report)
    if (action === null) return null
    const inputs = argumentLines(action.inputs, options, { seesSecrets: true, logs: LOGGERS.has(action.className) })
    return {
      ...PLAIN,
      type: 'invokeCode',
      effect: 'step',
      inputs,
      secrets: [...new Set(inputs.flatMap(({ secrets }) => secrets))],
      outputs: resultLines(action.outputs, options),
      retry: retryOfCode(action, options),
      timeoutMs: milliseconds(action.timeout) ?? DEFAULT_TIMEOUT_MS,
      code: { className: action.className, methodName: action.methodName, isolate: action.isolate ?? false },
    }
  },
  /**
   * Checks that the function exists, so that a missing one is reported when the server starts and not when it is
   * called.
   */
  async check({ action, pointer, unit, runner }) {
    const [className, methodName] = [textAt(action, 'className'), textAt(action, 'methodName')]
    if (className === '' || methodName === '') return
    const reason = await runner.missing({ package: unit.package, className, methodName })
    if (reason !== null) unit.report.fault(pointer, reason)
  },
}
