// api: sends an event to one context, or to all that wait for it.
import { z } from 'zod'
import { suggestion } from '../model/nearest.ts'
import { address, checkAddressOfEvent } from './address.ts'
import { describeCall, type AnswerOf, type RequestOf } from './call.ts'
import { component } from './component.ts'
import {
  ADDED,
  bodyTags,
  contextId,
  countField,
  flag,
  idempotencyKey,
  input,
  knownEventId,
  name,
  orNull,
  REPLAYED_HEADER,
  RESPONSE,
  sentKey,
  text,
  time,
  untyped,
  waits,
} from './fields.ts'
import { contextField, PREFERS_WAIT } from './get-context.ts'

/** Limit for event names, since answers repeat the name. */
const MAX_EVENT_CHARACTERS = 1000

export const eventField = name('Name of the event')
  .refine((given) => !given.startsWith('$'), { error: 'must not begin with $' })
  .refine((given) => given.length <= MAX_EVENT_CHARACTERS, {
    error: `must not have more than ${MAX_EVENT_CHARACTERS} characters`,
  })
  .meta({ type: 'string', minLength: 1, description: 'Name of the event' })

/** Seconds for which an event may be kept: 7 days. */
export const MAX_TTL_SECONDS = 604_800

/** A number that is wrong is reported with the content. */
const ttl = z
  .custom<number>((value) => typeof value === 'number', { error: 'must be a number' })
  .meta({
    type: 'integer',
    minimum: 1,
    maximum: MAX_TTL_SECONDS,
    description: 'Whole seconds for which it is kept where it can not be taken now',
  })

const startFields = {
  package: orNull(name('Package of the service')),
  fluxName: orNull(name('Name of the service, here or beside key')),
  input: input(),
  tags: bodyTags(),
}

/** Unknown fields that are named. */
const MAX_UNKNOWN = 20

const orStart = z
  .looseObject(startFields, { error: 'must be an object' })
  .superRefine((fields, { addIssue }) => {
    const known = Object.keys(startFields)
    const unknown = Object.keys(fields).filter((field) => !known.includes(field))
    for (const field of unknown.slice(0, MAX_UNKNOWN))
      addIssue({ code: 'custom', path: [field], message: `is not known${suggestion(field, known)}` })
  })
  .meta({
    additionalProperties: false,
    description: 'Starts a context under that key where there is none, which takes the event',
  })

const contextState = z.object({ contextId, state: text })

export const ignoredEntry = z
  .object({ contextId: contextId.nullable(), fluxName: text, state: text.nullable(), reason: text })
  .meta({ xsd: { anyOrder: true } })

export const pendingEntry = z.object({ contextId: contextId.nullable(), expiresAt: time.nullable() })

/** To an event that is for many. */
const accepted = {
  answer: component('AcceptedEvent', z.object({ message: text, eventId: text }), { xml: RESPONSE }),
  description: 'It is for many, or `Prefer: respond-async` was sent: it is stored, and goes to all that it is for',
  headers: {
    Location: 'Its receipt, which tells how far it is',
    'Preference-Applied': 'respond-async, where that was asked for',
    ...REPLAYED_HEADER,
  },
  example: {
    message: "'approve' goes to 25000 contexts; its receipt tells how far it is",
    eventId: '019f2c5e-8a4b-7cc3-9d51-2f6a7b8c9d0e',
  },
}

export const SEND_EVENT = describeCall({
  id: 'sendEvent',
  summary: 'Send an event to one context, or to all that wait for it',
  method: 'POST',
  route: '/flux-api/event',
  role: 'invoke',
  problems: [404, 409, 413, 415, 422, 429],
  takesKey: true,
  query: address('Id of the context that the event is for, or else its key; all that wait for it, if left out'),
  body: {
    ...address('Id of the context that the event is for, here or in the query'),
    event: eventField,
    input: input(),
    tags: bodyTags(),
    eventId: orNull(
      sentKey('Id of the event, chosen by its sender, under which it is taken once; one is made if it is left out'),
    ),
    ttl: orNull(ttl),
    orStart: orNull(orStart),
    receipt: orNull(flag('Whether what becomes of the event can be read by its id for a while')),
  },
  internal: {
    untyped,
    idempotencyKey,
    waits,
    cloudEventId: orNull(knownEventId('In place of eventId: the source and the id of a CloudEvent, joined by a space')),
    respondAsync: flag(
      'An event for all is answered, with empty lists, when it is accepted, and then sent to them; its receipt tells how far it is',
    ).optional(),
    respondWithin: countField(
      0,
      'Seconds: one that is accepted first is answered when it was sent to all, if that is within them',
    ).optional(),
  },
  together: checkAddressOfEvent,
  content: ['input', 'tags', 'key', 'orStart/input', 'orStart/tags'],
  strict: true,
  ...PREFERS_WAIT,
  answerHeaders: { ...PREFERS_WAIT.answerHeaders, ...REPLAYED_HEADER },
  answer: component(
    'EventResult',
    z.object({
      message: text,
      transitions: z.array(contextState).meta({ description: 'Contexts that the event moved' }),
      executions: z.array(contextState).meta({ description: 'Contexts that the event started' }),
      ignored: z.array(ignoredEntry).meta({
        description:
          'Contexts and services that the event was for but could not move or start; contextId and state are null for a start',
      }),
      eventId: text.meta({ description: 'The one that was sent, else a UUID of version 7', xsd: ADDED }),
      pending: z.array(pendingEntry).meta({
        description: 'For whom the event is kept; contextId is null where nobody waits for it yet',
        xsd: ADDED,
      }),
      hint: text
        .exactOptional()
        .meta({ description: 'Says that no service knows the event, and suggests the name that was probably meant' }),
      context: contextField,
    }),
    { xml: RESPONSE },
  ),
  bodyExample: { event: 'approve', input: { by: 'Ada' }, tags: ['team-7'] },
  answerExample: {
    message: "'approve': moved 1, started 0, ignored by 0",
    transitions: [{ contextId: 1, state: 'Approved' }],
    executions: [],
    ignored: [],
    eventId: '019f2c5e-8a4b-7cc3-9d51-2f6a7b8c9d0e',
    pending: [],
  },
  accepted,
})

export type EventRequest = RequestOf<typeof SEND_EVENT>
export type EventAnswer = AnswerOf<typeof SEND_EVENT>
