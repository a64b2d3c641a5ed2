// definitions/actions: runs a script in the sandbox. A script has no stored arguments: it reads the data of the
// context, since a copy would double the size of what a client sent.
import { z } from 'zod'
import { scriptHint } from '../expressions/foreign.ts'
import { NO_SECRETS } from '../lines/secret-reference.ts'
import { ACTION_OUTPUTS, ACTION_RETRY, ACTION_TIMEOUT, TEXT, STATE_NAME } from '../source/fields.ts'
import { take } from '../source/take.ts'
import {
  compileRetry,
  DEFAULT_TIMEOUT_MS,
  milliseconds,
  PLAIN,
  resultLines,
  textAt,
  type ActionType,
} from './action-type.ts'

const schema = z
  .object({
    type: TEXT,
    script: STATE_NAME.meta({ description: 'The body of a JavaScript function. What it returns is `$result`.' }),
    outputs: ACTION_OUTPUTS,
    retry: ACTION_RETRY,
    timeout: ACTION_TIMEOUT.meta({ default: DEFAULT_TIMEOUT_MS / 1000 }),
  })
  .meta({ title: 'Script', description: 'Runs JavaScript in a sandbox.' })

const SECRETS_WORD = /(?<![\w$])\$secrets(?![\w$])/

export const script: ActionType = {
  name: 'script',
  schema,
  compile(source, options) {
    const action = take(schema, source, options.pointer, options.report)
    if (action !== null && SECRETS_WORD.test(action.script))
      options.report.fault(`${options.pointer}/script`, NO_SECRETS)
    return (
      action && {
        ...PLAIN,
        type: 'script',
        effect: 'step',
        outputs: resultLines(action.outputs, options),
        retry: compileRetry(action.retry, options),
        timeoutMs: milliseconds(action.timeout) ?? DEFAULT_TIMEOUT_MS,
        script: action.script,
      }
    )
  },
  /** Checks that the script can be parsed. */
  async check({ action, pointer, unit: { report }, runner }) {
    const text = textAt(action, 'script')
    const reason = text === '' ? null : await runner.scriptFault(text)
    if (reason !== null) report.fault(`${pointer}/script`, `can't be parsed: ${reason}${scriptHint(text)}`)
  },
}
