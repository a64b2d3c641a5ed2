// api: shows the JSON Schemas of a service: of the inputs of a start, and of its outputs.
import { describeCall, type AnswerOf, type RequestOf } from './call.ts'
import { component } from './component.ts'
import { name, object, text } from './fields.ts'
import { z } from 'zod'

/** A JSON Schema of the dialect 2020-12, as an answer has it. */
export const jsonSchema = object.meta({ description: 'A JSON Schema (2020-12)' })

export const GET_SERVICE_SCHEMA = describeCall({
  id: 'getServiceSchema',
  summary: 'Show the JSON Schemas of the inputs and the outputs of a service',
  method: 'GET',
  route: '/flux-api/schema',
  role: 'read',
  problems: [404, 409],
  query: {
    fluxName: name('Name of the service'),
    package: name('Its package, where several have a service of that name').optional(),
  },
  answer: component(
    'ServiceSchema',
    z.object({
      package: text,
      fluxName: text,
      definition: text.meta({ description: 'Content hash of the definition' }),
      input: jsonSchema,
      output: jsonSchema,
    }),
    { xml: { name: 'schema' }, xsd: { type: 'serviceSchema' } },
  ),
  answerExample: {
    package: 'examples',
    fluxName: 'ApprovalWithTimeout',
    definition: 'Zm9vYmFy',
    input: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: { patience: { type: ['number', 'null'], default: 86400 } },
      additionalProperties: false,
    },
    output: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: { decision: { type: ['string', 'null'] } },
      required: ['decision'],
      additionalProperties: false,
    },
  },
})

export type SchemaRequest = RequestOf<typeof GET_SERVICE_SCHEMA>
export type ServiceSchemaView = AnswerOf<typeof GET_SERVICE_SCHEMA>
