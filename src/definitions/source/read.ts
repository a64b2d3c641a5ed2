// definitions: reads a file by its schema. What is wrong is reported with its pointer, and the valid rest is used: a key
// with a wrong value counts as absent, and an entry of a list that lacks a required key becomes undefined.
import { z } from 'zod'
import { escapedKey } from '../../model/failure.ts'
import { isObject, type Json } from '../../model/json/value.ts'
import { alternatives, nearestName, suggestion } from '../../model/nearest.ts'
import type { Report } from '../report.ts'

type Issue = z.core.$ZodIssue

/** null if nothing can be used. */
export function readBy<T extends z.ZodType>(schema: T, source: Json, report: Report): z.output<T> | null {
  let result = schema.safeParse(source)
  for (const { path, message, code } of result.error?.issues.flatMap(innermost) ?? []) {
    // `checkKeys` reports unknown keys.
    if (code === 'unrecognized_keys') continue
    const key = String(path.at(-1))
    const missing = `there ${key.endsWith('s') ? 'are' : 'is'} no ${key}`
    report.fault(pointerOf(path), isAbsent(source, path) ? missing : message)
  }
  const rest: unknown = result.success ? null : structuredClone(source)
  while (!result.success) {
    for (const issue of result.error.issues) for (const path of pathsOf(issue)) if (!remove(rest, path)) return null
    result = schema.safeParse(rest)
  }
  return result.data
}

/** The issues of the only variant of a union of which something fits; for anything else, the issue itself. */
function innermost(issue: Issue): Issue[] {
  if (issue.code !== 'invalid_union') return [issue]
  const isInside = ({ path, code }: Issue) => path.length > 0 || code === 'unrecognized_keys'
  const inside = issue.errors.find((variant) => variant.every(isInside))
  return inside?.flatMap((one) => innermost({ ...one, path: [...issue.path, ...one.path] })) ?? [issue]
}

const pathsOf = (issue: Issue) =>
  issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...issue.path, key]) : [issue.path]

const pointerOf = (path: readonly PropertyKey[]) => path.map((key) => `/${escapedKey(String(key))}`).join('')

const at = (value: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>(
    (node, key) => (typeof node === 'object' && node !== null ? Reflect.get(node, key) : undefined),
    value,
  )

const isAbsent = (value: unknown, path: readonly PropertyKey[]) => path.length > 0 && at(value, path) === undefined

/** Removes what is at the path, or, if that is absent, what lacks it. False: nothing is left. */
function remove(root: unknown, path: readonly PropertyKey[]): boolean {
  const above = path.slice(0, -1)
  const [parent, key] = [at(root, above), path.at(-1)]
  if (key === undefined) return false
  // It may be gone with what an earlier issue removed.
  if (isAbsent(root, path)) return parent === undefined || remove(root, above)
  return Reflect.deleteProperty(Object(parent), key)
}

/** The values of `type` by which a variant is recognized; undefined: there is one variant. */
export function typesOf({ _zod: { propValues } }: z.core.$ZodType): unknown[] | undefined {
  const types = propValues?.['type']
  return types && [...types]
}

/**
 * Reports unknown keys. They stay in the source, since another program may use them. One that is near to a known key is
 * a fault, since its setting would silently have no effect.
 */
export function checkKeys(schema: z.core.$ZodType, value: Json | undefined, report: Report, pointer = ''): void {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable)
    return checkKeys(schema.unwrap(), value, report, pointer)
  if (schema instanceof z.ZodPipe) return checkKeys(schema.in, value, report, pointer)
  if (schema instanceof z.ZodArray && Array.isArray(value))
    return value.forEach((item, index) => checkKeys(schema.element, item, report, `${pointer}/${index}`))
  if (schema instanceof z.ZodUnion && Array.isArray(value)) {
    const variant = schema.options.find((one) => one instanceof z.ZodArray)
    if (variant) checkKeys(variant, value, report, pointer)
  }
  if (!isObject(value)) return
  if (schema instanceof z.ZodUnion) {
    const variant = schema.options.find(
      (one) => one instanceof z.ZodObject && typesOf(one)?.includes(value['type'] ?? undefined) !== false,
    )
    if (variant) checkKeys(variant, value, report, pointer)
  }
  if (schema instanceof z.ZodRecord)
    for (const [key, item] of Object.entries(value))
      checkKeys(schema.valueType, item, report, `${pointer}/${escapedKey(key)}`)
  if (!(schema instanceof z.ZodObject)) return
  const known = Object.keys(schema.shape)
  for (const [key, item] of Object.entries(value)) {
    const below = `${pointer}/${escapedKey(key)}`
    if (Object.hasOwn(schema.shape, key)) checkKeys(schema.shape[key], item, report, below)
    else if (schema.def.catchall || nearestName(key, known, { matchCase: true }) !== null)
      report.fault(below, `unknown key "${key}"${alternatives(key, known)}`, 'key')
    else report.warn(below, `unknown key "${key}"${suggestion(key, known)}`, 'key')
  }
}
