// api: lists the loaded services, with what the last load found in their files.
import { z } from 'zod'
import { describeCall, type AnswerOf } from './call.ts'
import { component } from './component.ts'
import { data, object, text, time } from './fields.ts'

/** As the file of the service has them. */
const declared = z.array(object).meta({ description: 'The properties as declared' })

const service = component(
  'Service',
  z.object({
    package: text,
    fluxName: text,
    comment: text.nullable(),
    secured: z.boolean(),
    states: z.array(text).meta({ description: 'Names of the states' }),
    triggers: z.array(data).meta({ description: 'As written: names of events, or objects' }),
    webhooks: z.array(object).meta({ description: 'As written' }),
    input: declared,
    output: declared,
    definition: text.meta({ description: 'Content hash of the definition' }),
    file: text.meta({ description: 'Below the folder of packages' }),
    contexts: z
      .record(z.string(), z.number().int().positive())
      .meta({ description: 'How many contexts are kept, by status; statuses without any are left out' }),
  }),
)

export const LIST_SERVICES = describeCall({
  id: 'listServices',
  summary: 'List the loaded services, and the faults of the last load',
  method: 'GET',
  route: '/flux-api/services',
  role: 'read',
  problems: [],
  answer: component(
    'Services',
    z.object({
      services: z.array(service).meta({ description: 'By package and name' }),
      faults: z
        .array(z.object({ file: text, pointer: text, reason: text, severity: z.enum(['fault', 'warning']) }))
        .meta({ description: 'Of the last load: a service whose file has a fault goes on as it was loaded before' }),
      loadedAt: time.meta({ description: 'When the files were read last, epoch milliseconds' }),
    }),
    { xml: { name: 'services' }, xsd: { type: 'services' } },
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
})

/** It has no fields. */
export type ListServicesRequest = object
export type ServicesView = AnswerOf<typeof LIST_SERVICES>
