// definitions: a declared property, and the shape of an object, which is a list of properties.
import type { Json, JsonObject } from '../../model/json/value.ts'
import type { PropertyType } from './types.ts'

export interface Property {
  readonly name: string
  readonly type: PropertyType
  /** Whether it is a list of such values. Bounds, choices and allowNull then apply to each element. */
  readonly array: boolean
  readonly required: boolean
  readonly allowNull: boolean
  /** The default as written in the file. It has been checked. */
  readonly defaultValue: Json | undefined
  /**
   * Returns the fields of a model. They are resolved on the first call, since models may be recursive. null: any fields
   * are allowed.
   */
  readonly fields: () => Shape | null
  /** Bounds of a number, or of a date in epoch milliseconds. */
  readonly min?: number | string | undefined
  readonly max?: number | string | undefined
  /** Bounds of the length of a text, in code points. */
  readonly minLength?: number | undefined
  readonly maxLength?: number | undefined
  /** Choices, coerced to the type, by their canonical texts. */
  readonly choices?: ReadonlyMap<string, Json> | undefined
  readonly allowOtherValues: boolean
  /** Whether views and logs hide the value. */
  readonly sensitive: boolean
  /** The declaration, unchanged. */
  readonly source: JsonObject
}

export interface Shape {
  readonly properties: ReadonlyMap<string, Property>
  /** Whether names that are not declared are kept. */
  readonly extra: boolean
}

/** The property of one element of a list. */
export const elementOf = (property: Property): Property => ({
  ...property,
  array: false,
  required: false,
  defaultValue: undefined,
})
