// definitions: checks an object of a file against its entry in the table of keys. Errors are reported with their
// pointers, and the valid rest is used.
import { escapedKey } from '../../model/failure.ts'
import type { z } from 'zod'
import { isObject, type Json, type JsonObject } from '../../model/json/value.ts'
import { alternatives, nearestName, suggestion } from '../../model/nearest.ts'
import type { Report } from '../report.ts'

/**
 * Validates an object of a file. Fields of the wrong type are faults and count as absent. Unknown keys are faults if
 * they are misspelt, else warnings. Returns null if a required field is missing or wrong.
 */
export function take<T extends z.ZodObject>(
  schema: T,
  source: Json,
  pointer: string,
  report: Report,
  { strict = false }: UnknownKeys = {},
): z.output<T> | null {
  if (!isObject(source)) {
    report.fault(pointer, 'must be an object')
    return null
  }
  checkUnknown(schema, source, pointer, report, { strict })
  const first = schema.safeParse(source)
  if (first.success) return first.data
  for (const { path, message } of first.error.issues) {
    const at = path.map((key) => `/${String(key)}`).join('')
    report.fault(
      pointer + at,
      path.length === 1 && !Object.hasOwn(source, String(path[0])) ? `there is no ${String(path[0])}` : message,
    )
  }
  const wrong = new Set(first.error.issues.map(({ path }) => path[0]))
  const rest = schema.safeParse(Object.fromEntries(Object.entries(source).filter(([key]) => !wrong.has(key))))
  return rest.success ? rest.data : null
}

/** Like `take`, for parts in which each unknown key is a fault, since a setting without effect would be dangerous. */
export const takeStrictly = <T extends z.ZodObject>(
  schema: T,
  source: Json,
  pointer: string,
  report: Report,
): z.output<T> | null => take(schema, source, pointer, report, { strict: true })

interface UnknownKeys {
  /** Whether each unknown key is a fault, however far it is from the known ones. */
  readonly strict?: boolean
}

/**
 * Reports unknown keys. They stay in the source, since another program may use them. A key that is near to a known one
 * counts as misspelt.
 */
export function checkUnknown(
  schema: z.ZodObject,
  source: JsonObject,
  pointer: string,
  report: Report,
  { strict = false }: UnknownKeys = {},
): void {
  const known = Object.keys(schema.shape)
  for (const key of Object.keys(source)) {
    if (Object.hasOwn(schema.shape, key)) continue
    const misspelt = strict || nearestName(key, known, { matchCase: true }) !== null
    report.unknownKey(
      `${pointer}/${escapedKey(key)}`,
      `unknown key "${key}"${misspelt ? alternatives(key, known) : suggestion(key, known)}`,
      { misspelt },
    )
  }
}
