// settings: reads and checks the environment variables together; every bad variable is reported at once.
import type { z } from 'zod'
import { getOwn } from './model/json/value.ts'
import { secretOf, type Environment } from './settings/secrets.ts'
import { schema, table, type SettingRow } from './settings/table.ts'

/** By the names of the table. Durations are milliseconds, sizes bytes; null: it is not set. */
export type Settings = Readonly<z.output<typeof schema>>

/** Every setting, in the order in which help shows them. */
export const SETTINGS: readonly SettingRow[] = [...table.values()]

/**
 * The settings of an environment. An empty variable counts as not set.
 * @throws Error with a line for each variable with a bad value
 */
export function readSettings(environment: Environment): Settings {
  const given = Array.from(table, ([name, { variable }]) => [name, getOwn(environment, variable) || undefined])
  const { data, error } = schema.safeParse(Object.fromEntries(given))
  if (error)
    throw new Error(
      error.issues.map(({ path, message }) => `${table.get(String(path[0]))?.variable} ${message}`).join('\n'),
    )
  if (data.redisUrl === null && (data.partitions ?? 1) > 1)
    throw new Error('ACTORFLUX_PARTITIONS must be 1 with the embedded store')
  return data
}

/** The settings of these variables alone: faults in others prevent nothing. */
export const readSome = (environment: Environment, ...variables: readonly string[]): Settings =>
  readSettings(Object.fromEntries(variables.map((name) => [name, environment[name]])))

/** Variables that begin like a setting and are none; most likely they are misspelt. */
export const unknownSettings = (environment: Environment): string[] =>
  Object.keys(environment)
    .filter(
      (variable) =>
        variable.startsWith('ACTORFLUX_') &&
        secretOf(variable) === null &&
        !SETTINGS.some((row) => row.variable === variable),
    )
    .sort()
