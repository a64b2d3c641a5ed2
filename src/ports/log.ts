// ports: the structured log. Callers pass fields as data, and no secrets.
import { isObject, tryJson, type JsonObject } from '../model/json/value.ts'

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error'

export type Log = { readonly [level in LogLevel]: (message: string, fields?: object) => void }

/** One value for each level. */
export const atEachLevel = <T>(at: (level: LogLevel) => T): { readonly [level in LogLevel]: T } => ({
  trace: at('trace'),
  debug: at('debug'),
  info: at('info'),
  warn: at('warn'),
  error: at('error'),
})

/** The message that a function logs, as text. At run time, it may be a value of any type. */
export const loggedText = (message: unknown): string =>
  typeof message === 'string' ? message : message instanceof Error ? message.message : JSON.stringify(tryJson(message))

/** The fields that a function logs, as data. */
export function loggedFields(fields: unknown): JsonObject {
  const data = tryJson(fields ?? {})
  return isObject(data) ? data : {}
}
