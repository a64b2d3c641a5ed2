// definitions: a declared property, and the shape that a list of them gives to an object.
import type { Json, JsonObject } from '../../model/json/value.ts'
import type { PropertyType } from './types.ts'

export interface Property {
  readonly name: string
  readonly type: PropertyType
  /** A list of such values; bounds, choices and allowNull hold for each element too. */
  readonly array: boolean
  readonly required: boolean
  readonly allowNull: boolean
  /** As the file has it, checked to be readable. */
  readonly defaultValue: Json | undefined
  /**
   * The fields of a model, compiled when first asked for, since models may be recursive. null: anything goes inside.
   */
  readonly fields: () => Shape | null
  /** Of a number, or of a date as epoch milliseconds. */
  readonly min: number | string | undefined
  readonly max: number | string | undefined
  /** In code points, of text. */
  readonly minLength: number | undefined
  readonly maxLength: number | undefined
  /** Held to the type. */
  readonly choices: readonly Json[] | undefined
  readonly allowOtherValues: boolean
  /** Why values can't be held to it any more; null: they can. */
  readonly fault: string | null
  /** The declaration, untouched. */
  readonly source: JsonObject
}

export interface Shape {
  readonly properties: ReadonlyMap<string, Property>
  /** Whether names that are not declared are kept. */
  readonly extra: boolean
}

/** What one element of a list property is held to. */
export const elementOf = (property: Property): Property => ({
  ...property,
  array: false,
  required: false,
  defaultValue: undefined,
})
