// definitions/actions: calls a function of a user's module or of a built-in class.
import { z } from 'zod'
import { ANYTHING, FLAG, LIST, STATE_NAME, RECORD, take, TIMEOUT, TYPE } from '../source/schema.ts'
import {
  argumentLines,
  compileRetry,
  DEFAULT_TIMEOUT_MS,
  milliseconds,
  PLAIN,
  resultLines,
  textAt,
  type ActionType,
} from './action-type.ts'

const schema = z.object({
  type: TYPE,
  className: STATE_NAME,
  methodName: STATE_NAME,
  parameters: ANYTHING,
  inputs: LIST,
  outputs: LIST,
  retry: RECORD.nullish(),
  timeout: TIMEOUT,
  isolate: FLAG,
})

export const invokeCode: ActionType = {
  name: 'invokeCode',
  schema,
  compile(source, options) {
    const action = take(schema, source, options.pointer, options.report)
    if (action === null) return null
    const inputs = argumentLines(action.inputs, options, options)
    return {
      ...PLAIN,
      type: 'invokeCode',
      effect: 'step',
      inputs,
      secrets: [...new Set(inputs.flatMap(({ secrets }) => secrets))],
      outputs: resultLines(action.outputs, options),
      retry: compileRetry(action.retry, options),
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
