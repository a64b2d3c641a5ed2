// settings: reads and checks the environment variables together; every bad variable is reported at once.
import type { z } from 'zod'
import { getOwn } from './model/json/value.ts'
import { secretOf } from './settings/secrets.ts'
import { schema, table, type SettingRow } from './settings/table.ts'

/** By the names of the table. Durations are milliseconds, sizes bytes; null: it is not set. */
export type Settings = Readonly<z.output<typeof schema>>

/** Every setting, in the order in which help shows them. */
export const SETTINGS: readonly SettingRow[] = [...table.values()]

/**
 * The settings of an environment. An empty variable counts as not set.
 * @throws Error with a line for each variable with a bad value
 */
export function readSettings(environment: { readonly [variable: string]: string | undefined }): Settings {
  const given = Array.from(table, ([name, { variable }]) => [name, getOwn(environment, variable) || undefined])
  const result = schema.safeParse(Object.fromEntries(given))
  if (result.success) return result.data
  throw new Error(
    result.error.issues.map(({ path, message }) => `${table.get(String(path[0]))?.variable} ${message}`).join('\n'),
  )
}

/** The settings of these variables alone: faults in others prevent nothing. */
export const readSome = (
  environment: { readonly [variable: string]: string | undefined },
  ...variables: readonly string[]
): Settings => readSettings(Object.fromEntries(variables.map((name) => [name, environment[name]])))

/** Variables that begin like a setting and are none; most likely they are misspelt. */
export function unknownSettings(environment: { readonly [variable: string]: string | undefined }): string[] {
  return Object.keys(environment)
    .filter(
      (variable) =>
        variable.startsWith('ACTORFLUX_') &&
        secretOf(variable) === null &&
        !SETTINGS.some((row) => row.variable === variable),
    )
    .sort()
}

/**
 * Combinations of settings that this version does not support, one line for each. With any of them, the server does not
 * start.
 */
export function unsupported({ redisUrl, partitions }: Settings): string[] {
  const isSupported = redisUrl !== null || (partitions ?? 1) === 1
  return isSupported ? [] : ['ACTORFLUX_PARTITIONS must be 1 with the embedded store']
}
