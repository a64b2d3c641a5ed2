// settings: how a setting is declared: its variable, default, meaning and type.
import { z } from 'zod'

/** A row of the table: `default` null means not set. */
export interface SettingRow {
  readonly variable: string
  readonly default: string | null
  readonly meaning: string
}

/** The row of each setting. */
export const rows = z.registry<SettingRow>()

/** A setting with a default. The default is checked like a given value. */
export function setting<T>(
  variable: string,
  standard: string,
  meaning: string,
  type: z.ZodType<T, string>,
): z.ZodType<T, string | undefined> {
  const withDefault = z.string().default(standard).pipe(type)
  rows.add(withDefault, { variable, default: standard, meaning })
  return withDefault
}

/** A setting without a default: null where it is not set. */
export function unset<T>(
  variable: string,
  meaning: string,
  type: z.ZodType<T, string>,
): z.ZodType<T | null, string | null | undefined> {
  return type.nullable().default(null).register(rows, { variable, default: null, meaning })
}
