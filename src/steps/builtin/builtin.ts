// steps: the built-in classes, which every service can call without a module.
import type { JsonObject } from '../../model/json/value.ts'
import { atEachLevel } from '../../ports/log.ts'
import type { StepFlux } from '../../ports/steps.ts'
import { httpRequest, type HttpOptions } from './http/request.ts'
import { sendWebhook, verify } from './webhooks.ts'

/** A function as `invokeCode` calls it. */
export type BuiltinMethod = (args: JsonObject, flux: StepFlux) => unknown

type Methods = { readonly [methodName: string]: BuiltinMethod }

/**
 * Log `message` with the other arguments as fields; without a message, all arguments as text. The log redacts secrets.
 */
const LOGGER: Methods = atEachLevel((level): BuiltinMethod => (args, { log }) => {
  const { message, ...others } = args
  const text = typeof message === 'string' ? message : JSON.stringify(message ?? others)
  log[level](text, message == null || Object.keys(others).length === 0 ? {} : { args: others })
})

/** Throws an error with `message`, and with `type` as its name, if given. */
const throwException: BuiltinMethod = (args) => {
  const error = new Error(textOf(args, 'message') ?? 'an exception was thrown')
  error.name = textOf(args, 'type') ?? 'Exception'
  throw error
}

function textOf(args: JsonObject, key: 'message' | 'type') {
  const value = args[key]
  return value == null || value === '' ? null : typeof value === 'string' ? value : JSON.stringify(value)
}

export function builtInClasses(options: HttpOptions): { readonly [className: string]: Methods } {
  return {
    Logger: LOGGER,
    Errors: { throwException },
    Webhooks: { verify: (args, flux) => verify(args, flux, options.now), send: sendWebhook(options) },
    Http: { request: httpRequest(options) },
    'io.toro.martini.LoggerMethods': LOGGER,
    'io.toro.martini.GloopMethods': { throwException },
  }
}
