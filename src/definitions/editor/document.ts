// definitions: the JSON Schema (2020-12) of .flux and .model files, for editors. It is made of the schemas by which the
// validator reads files, so it accepts what the validator accepts; it can't see what one part says of another.
import { z } from 'zod'
import type { JsonObject } from '../../model/json/value.ts'
import { when } from '../source/fields.ts'
import { ModelFile, PropertySchema } from '../source/property-schema.ts'
import { typesOf } from '../source/read.ts'
import { Root } from '../source/schema.ts'

/**
 * The schema. Its root decides by the keys whether the file is a service or a model; `#/$defs/flux` and `#/$defs/model`
 * are those of one kind.
 */
export function definitionSchema(): JsonObject {
  const { $defs = {} } = editorSchema(z.union([Root, ModelFile, PropertySchema]))
  const isModel = Object.keys(ModelFile.shape).filter((key) => !Object.hasOwn(Root.shape, key))
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'actorflux',
    description: 'Services (.flux) and models (.model) of actorflux.',
    type: 'object',
    ...when(
      { not: { required: ['states'] }, anyOf: isModel.map((key) => ({ required: [key] })) },
      { $ref: '#/$defs/model' },
      { $ref: '#/$defs/flux' },
    ),
    $defs,
  }
}

/** The JSON Schema of a file, from that by which it is read. */
export function editorSchema(schema: z.ZodType): JsonObject {
  const made = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema }) {
      if (zodSchema instanceof z.ZodObject) Object.assign(jsonSchema, unknownKeys(zodSchema))
      if (zodSchema instanceof z.ZodDiscriminatedUnion) Object.assign(jsonSchema, byType(zodSchema, jsonSchema.oneOf))
    },
  })
  return JSON.parse(JSON.stringify(made))
}

/** VS Code warns of unknown keys, or refuses them, and says which there are. */
function unknownKeys({ shape, def: { catchall } }: z.ZodObject) {
  const known = `there are ${Object.keys(shape).join(', ')}`
  return catchall
    ? { additionalProperties: false, errorMessage: `must be an object with known keys: ${known}` }
    : { additionalProperties: { deprecationMessage: `unknown key: ${known}` } }
}

/** Says what holds for each type, so that editors need not guess which one is meant. One of them may be left out. */
function byType({ options }: z.ZodDiscriminatedUnion, variants: readonly unknown[] = []) {
  const types = options.map((option) => typesOf(option) ?? [])
  const rules = types.map((names, index) => {
    const isGiven = names.includes(undefined) ? {} : { required: ['type'] }
    return when<unknown>({ ...isOneOf(names), ...isGiven }, variants[index])
  })
  return { oneOf: undefined, type: 'object', ...isOneOf(types.flat()), allOf: rules }
}

const isOneOf = (names: readonly unknown[]) => ({
  properties: { type: { enum: names.filter((name) => name !== undefined) } },
})
