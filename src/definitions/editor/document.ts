// definitions: the JSON Schema (2020-12) of .flux and .model files, for editors. It is made of the table of keys with
// which the validator reads files, so it accepts what the validator accepts; it can't see what a name refers to.
import { isObject, type Json, type JsonObject } from '../../model/json/value.ts'
import { ACTION_TYPES } from '../actions/actions.ts'
import { ifElse, refer, type FileObject } from '../source/fields.ts'
import { ModelFile, PropertySchema } from '../source/property-schema.ts'
import { LineSchema, RetrySchema, Root, State, TransitionSchema, TriggerSchema } from '../source/schema.ts'
import {
  DedupeSchema,
  OnEndSchema,
  OrStartSchema,
  SendSchema,
  VerifySchema,
  WebhookSchema,
} from '../source/webhook-schema.ts'
import { closedSchema, openSchema } from './convert.ts'

/**
 * The schema. Its root decides by the keys whether the file is a service or a model; `#/$defs/flux` and `#/$defs/model`
 * are those of one kind.
 */
export function definitionSchema(): JsonObject {
  const isModel = Object.keys(ModelFile.shape).filter((key) => !Object.hasOwn(Root.shape, key))
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'actorflux',
    description: 'Services (.flux) and models (.model) of actorflux.',
    type: 'object',
    ...ifElse(
      { not: { required: ['states'] }, anyOf: isModel.map((key) => ({ required: [key] })) },
      { holds: refer('model'), fails: refer('flux') },
    ),
    $defs: { ...objects(), ...actions() },
  }
}

function objects(): { readonly [name in FileObject]?: JsonObject } {
  return {
    flux: openSchema(Root),
    model: modelFile(),
    property: {
      ...openSchema(PropertySchema),
      ...ifElse(
        {
          required: ['type'],
          properties: { type: { const: 'model' }, reference: { anyOf: [{ type: 'null' }, { const: '' }] } },
        },
        { holds: { properties: { gloopProperties: { items: refer('property') } } } },
      ),
    },
    line: openSchema(LineSchema),
    state: openSchema(State),
    transition: openSchema(TransitionSchema),
    retry: openSchema(RetrySchema),
    trigger: openSchema(TriggerSchema),
    onEnd: closedSchema(OnEndSchema),
    webhook: openSchema(WebhookSchema),
    verify: closedSchema(VerifySchema),
    dedupe: closedSchema(DedupeSchema),
    send: closedSchema(SendSchema),
    orStart: closedSchema(OrStartSchema),
  }
}

const actionName = (type: string) => `${type}Action`
const actionOf = (type: string) => ({ $ref: `#/$defs/${actionName(type)}` })
const isAnyOf = (types: readonly string[]) => ({ required: ['type'], properties: { type: { enum: [...types] } } })

/** A schema for all actions, and one for each type. */
function actions(): JsonObject {
  const types = [...ACTION_TYPES.values()]
  const others = types.filter(({ name }) => name !== 'map').map(({ name }) => name)
  return {
    action: {
      title: 'Action',
      description: 'What runs in a state.',
      type: 'object',
      properties: {
        type: {
          description: `What the action does: ${types.map(({ name, schema }) => `\`${name}\`: ${schema.meta()?.description}`).join(' ')}`,
          enum: [...types.map(({ name }) => name), '', null],
          default: 'map',
        },
      },
      allOf: [
        ...others.map((name) => ifElse(isAnyOf([name]), { holds: actionOf(name) })),
        ifElse(isAnyOf(others), { fails: actionOf('map') }),
      ],
    },
    ...Object.fromEntries(types.map(({ name, schema }) => [actionName(name), openSchema(schema)])),
  }
}

/**
 * Of what a model file says besides its fields, nothing is refused: only a service that refers to it reads that.
 */
function modelFile(): JsonObject {
  const { properties, required: _, ...rest } = openSchema(ModelFile)
  return { ...rest, properties: Object.fromEntries(Object.entries(isObject(properties) ? properties : {}).map(loose)) }
}

const CHECKED_OF_MODELS = new Set(['$schema', 'gloopProperties', 'reference'])

const loose = ([key, facts]: [string, Json]): [string, Json] => [
  key,
  CHECKED_OF_MODELS.has(key) || !isObject(facts) ? facts : { description: facts['description'] ?? null },
]
