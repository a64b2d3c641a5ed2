// api: the calls that show the loaded services and their definitions.
import { z } from 'zod'
import { type AnswerOf, type Issues, component, describeCall } from './call.ts'
import { type Address, address, checkAddress, data, flag, integer, name, object, text, time } from './fields.ts'

/** Fields that name a definition: by its service, or by a context that was started with it. */
const definitionAddress = {
  ...address('Id of a context, for the definition that it was started with. It takes precedence over fluxName'),
  fluxName: name('Name of the service').optional(),
}

function checkDefinition(fields: Address, issues: Issues) {
  const { contextId, key, fluxName } = fields
  if (key !== undefined) checkAddress(fields, issues)
  else if (contextId === undefined && fluxName === undefined)
    issues.addIssue({ code: 'custom', message: 'fluxName or contextId must be given', path: [] })
}

/** A JSON Schema of the dialect 2020-12, as an answer has it. */
export const jsonSchema = object.describe('A JSON Schema (2020-12)')

/** As the file of the service has them. */
const declared = z.array(object).describe('The properties as declared')

const service = component(
  'Service',
  z.object({
    package: text,
    fluxName: text,
    comment: text.nullable(),
    secured: z.boolean(),
    states: z.array(text).describe('Names of the states'),
    triggers: z.array(data).describe('As written: names of events, or objects'),
    webhooks: z.array(object).describe('As written'),
    input: declared,
    output: declared,
    definition: text.describe('Content hash of the definition'),
    file: text.describe('Path below the folder of packages'),
    contexts: z
      .record(text, integer.positive())
      .describe('How many contexts are kept, by status; statuses without any are left out'),
  }),
)

/** Null: it is not known, or the fault is of the file as a whole. */
const position = integer.positive().nullable()

const fault = z.object({
  file: text,
  pointer: text,
  line: position,
  column: position.describe('In UTF-16 units, from 1'),
  reason: text,
  severity: z.enum(['fault', 'warning']),
})

const ofDefinition = { ignoresUnknown: true, problems: [404, 409], query: definitionAddress, together: checkDefinition }

export const SERVICE_CALLS = {
  getDefinition: describeCall({
    ...ofDefinition,
    summary: 'Show the definition of a service, or the one that a context was started with',
    route: '/flux-api/definition',
    query: {
      ...definitionAddress,
      resolved: flag(
        'true: with the models that it refers to, in `models`, so that it needs no other files',
      ).optional(),
    },
    answer: component('Definition', object, { xml: { name: 'definition' }, description: 'The file of the service' }),
    answerExample: {
      states: [
        { name: 'WaitForDecision', waiting: true, transitions: [{ event: 'approve', to: 'Approved' }] },
        { name: 'Approved' },
      ],
    },
  }),
  /** The JSON Schemas of a loaded service: of the inputs of a start, and of its outputs. */
  getServiceSchema: describeCall({
    ignoresUnknown: true,
    summary: 'Show the JSON Schemas of the inputs and the outputs of a service',
    route: '/flux-api/schema',
    problems: [404, 409],
    query: {
      fluxName: name('Name of the service'),
      package: name('Its package, if several have a service of that name').optional(),
    },
    answer: component(
      'ServiceSchema',
      z.object({
        package: text,
        fluxName: text,
        definition: text.describe('Content hash of the definition'),
        input: jsonSchema,
        output: jsonSchema,
      }),
      'schema',
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
  }),
  /** A service as the configuration of a machine of XState: a picture of it. */
  getMachine: describeCall({
    ...ofDefinition,
    summary: 'Show a service, or the definition that a context was started with, as a machine of XState v5',
    route: '/flux-api/machine',
    answer: component('Machine', object, {
      xml: { name: 'machine' },
      description: 'Configuration for `createMachine` of XState v5: a picture, without conditions and actions',
    }),
    answerExample: {
      id: 'ApprovalWithTimeout',
      initial: 'WaitForDecision',
      states: {
        WaitForDecision: {
          on: { approve: { target: 'Approved' } },
          after: { '86400000': { target: 'Expired' } },
        },
        Approved: { type: 'final' },
        Expired: { type: 'final' },
      },
    },
  }),
  /** The loaded services, with counts of their contexts, and the faults that the last load found. */
  listServices: describeCall({
    ignoresUnknown: true,
    summary: 'List the loaded services, and the faults of the last load',
    route: '/flux-api/services',
    answer: component(
      'Services',
      z.object({
        services: z.array(service).describe('By package and name'),
        faults: z
          .array(fault)
          .describe('Faults of the last load. A service whose file has a fault stays as it was loaded before'),
        loadedAt: time.describe('When the files were read last, epoch milliseconds'),
      }),
      'services',
    ),
    answerExample: {
      services: [
        {
          package: 'examples',
          fluxName: 'ApprovalWithTimeout',
          comment: null,
          secured: false,
          states: ['WaitForDecision', 'Approved', 'Rejected'],
          triggers: [],
          webhooks: [],
          input: [{ name: 'patience', type: 'double', defaultValue: 86400 }],
          output: [],
          definition: 'Zm9vYmFy',
          file: 'examples/ApprovalWithTimeout.flux',
          contexts: { WAITING_UNTIL: 3, COMPLETED: 12 },
        },
      ],
      faults: [],
      loadedAt: 1795221900000,
    },
  }),
}

export type ServiceSchemaView = AnswerOf<typeof SERVICE_CALLS.getServiceSchema>
export type ServicesView = AnswerOf<typeof SERVICE_CALLS.listServices>
