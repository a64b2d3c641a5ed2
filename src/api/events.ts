// api: the calls that send an event, and show, list, withdraw and stop what was sent.
import { z } from 'zod'
import { unknownErrors } from '../model/unknown-fields.ts'
import { type AnswerOf, type Issues, type RequestOf, component, describeCall, refuse } from './call.ts'
import { contextField, pendingView } from './contexts.ts'
import {
  PAGE,
  address,
  bodyTags,
  checkAddressIfAny,
  contextId,
  count,
  countField,
  cursor,
  flag,
  idempotencyKey,
  input,
  knownEventId,
  messageAnswer,
  name,
  orNull,
  sentKey,
  tags,
  text,
  time,
  untyped,
  waits,
} from './fields.ts'
import { assume, dryRun, version } from './rehearsal.ts'

/** Limit for event names, since answers repeat the name. */
const MAX_EVENT_CHARACTERS = 1000

export const eventField = name('Name of the event')
  .refine((given) => !given.startsWith('$'), 'must not begin with $')
  .refine((given) => given.length <= MAX_EVENT_CHARACTERS, `must not have more than ${MAX_EVENT_CHARACTERS} characters`)

/** Seconds for which an event may be kept: 7 days. */
export const MAX_TTL_SECONDS = 604_800

/** A number that is wrong is reported with the content. */
const ttl = z
  .custom<number>((value) => typeof value === 'number', 'must be a number')
  .meta({
    type: 'integer',
    minimum: 1,
    maximum: MAX_TTL_SECONDS,
    description: 'Whole seconds for which the event is kept if it cannot be taken now',
  })

const startFields = {
  package: orNull(name('Package of the service')),
  fluxName: orNull(name('Name of the service, here or beside key')),
  input,
  tags: bodyTags,
}

const orStart = z
  .looseObject(startFields, 'must be an object')
  .superRefine((fields, issues) => {
    for (const { pointer, detail } of unknownErrors(Object.keys(fields), new Map(Object.entries(startFields))))
      refuse(issues, pointer.slice(1), detail)
  })
  .meta({
    additionalProperties: false,
    description: 'If no context has the key, starts one, which takes the event',
  })

const contextState = z.object({ contextId, state: text })

export const ignoredEntry = z.object({
  contextId: contextId.nullable(),
  fluxName: text,
  state: text.nullable(),
  reason: text,
})

export const pendingEntry = z.object({ contextId: contextId.nullable(), expiresAt: time.nullable() })

export const SENT_EXAMPLE = {
  transitions: [{ contextId: 1, state: 'Approved' }],
  executions: [],
  ignored: [],
  eventId: '019f2c5e-8a4b-7cc3-9d51-2f6a7b8c9d0e',
  pending: [],
}

/** The answer to an event for many contexts. */
const accepted = {
  answer: component('AcceptedEvent', z.object({ message: text, eventId: text }), 'response'),
  description:
    'The event is for many contexts, or `Prefer: respond-async` was sent: it is stored, and is then sent to them',
  headers: {
    Location: 'Its receipt, which shows the progress',
    'Preference-Applied': 'respond-async, if the request asked for it',
  },
  example: {
    message: "'approve' goes to 25000 contexts; its receipt tells how far it is",
    eventId: SENT_EXAMPLE.eventId,
  },
}

const stand = z.object({ contextId, state: text, at: time })
const ended = z.object({ contextId: contextId.nullable(), at: time })

export const receiptAnswer = component(
  'Receipt',
  z.object({
    eventId: text,
    event: text,
    receivedAt: time,
    repeated: count.describe('How often it was sent again'),
    moved: z.array(stand).describe('Contexts that it moved: the newest 1,000'),
    started: z.array(stand).describe('Contexts that it started'),
    ignored: z.array(ignoredEntry),
    pending: z.array(pendingEntry),
    expired: z.array(ended.extend({ reason: text })),
    withdrawn: z.array(ended),
    counts: z
      .object({ moved: count, started: count, ignored: count, pending: count, expired: count, withdrawn: count })
      .describe('How many entries each list has in total'),
    done: z.boolean().describe('False: it is still being sent'),
    progress: z
      .object({
        matched: count.describe('Contexts that waited for it'),
        done: count.describe('How many of them it was sent to'),
        moved: count,
        started: count,
        ignored: count,
      })
      .exactOptional()
      .describe(
        'Only for an event that was answered with 202. If it has ended and `done` is less than `matched`, it was stopped',
      ),
  }),
  'receipt',
)

export const RECEIPT_EXAMPLE: z.output<typeof receiptAnswer> = {
  eventId: 'order-17-paid',
  event: 'approve',
  receivedAt: 1_767_225_600_000,
  repeated: 0,
  moved: [{ contextId: 1, state: 'Approved', at: 1_767_225_600_000 }],
  started: [],
  ignored: [],
  pending: [],
  expired: [],
  withdrawn: [],
  counts: { moved: 1, started: 0, ignored: 0, pending: 0, expired: 0, withdrawn: 0 },
  done: true,
  progress: { matched: 1, done: 1, moved: 1, started: 0, ignored: 0 },
}

/** Fields that name an event. `checkEventName` checks which of them must be there. */
export const eventName = {
  eventId: knownEventId('Id of the event. For a CloudEvent, give source and id instead').optional(),
  source: name('The source of the CloudEvent').optional(),
  id: name('The id of the CloudEvent').optional(),
  scope: name(
    'For admins: name of the token that sent the event, or `nobody` for none. Default: the token of this request',
  ).optional(),
}

/** An event, as it is named when it was sent. */
export type NamedEvent = z.output<z.ZodObject<typeof eventName>>

/** An event must be named, and in one way. */
function checkEventName({ eventId, source, id }: NamedEvent, issues: Issues) {
  if (source === undefined && id === undefined) {
    if (eventId === undefined) refuse(issues, 'eventId', 'must be 1 to 255 visible ASCII characters')
  } else if (eventId !== undefined) refuse(issues, 'eventId', 'must not be given beside source and id')
  else if (source === undefined) refuse(issues, 'source', 'must be given with id')
  else if (id === undefined) refuse(issues, 'id', 'must be given with source')
}

/** Matches to pass over behind a row, and the key of that row. */
const CURSOR = /^\d{1,15}:.{1,1000}$/s

/** One page of a list. It may have fewer events than asked for, and even none, although there are more. */
export interface PendingPage {
  readonly events: PendingView[]
  /** Value of `after` for the next page; null if this is the last page. */
  readonly next: string | null
}

const ofReceipt = {
  route: '/flux-api/event',
  query: eventName,
  together: checkEventName,
  answer: receiptAnswer,
  answerExample: RECEIPT_EXAMPLE,
} as const

export const EVENT_CALLS = {
  /**
   * In process, an event for all is answered when it was sent to all of them, however many they are. With
   * `respondAsync` it is answered when it is stored, with empty lists, and `getEvent` shows how far it is.
   */
  sendEvent: describeCall({
    summary: 'Send an event to one context, or to all that wait for it',
    method: 'POST',
    route: '/flux-api/event',
    problems: [404, 409, 412, 429],
    query: {
      ...address('Id of the context that the event is for. Without id and key, it is for all that wait for it'),
      dryRun,
    },
    body: {
      ...address('Id of the context that the event is for, here or in the query'),
      event: eventField,
      input,
      tags: bodyTags,
      eventId: orNull(
        sentKey('Id of the event, chosen by its sender: a repeat with the same id has no effect. Default: a new id'),
      ),
      ttl: orNull(ttl),
      orStart: orNull(orStart),
      receipt: orNull(flag('Whether to keep a receipt, which says what became of the event')),
      assume,
    },
    internal: {
      version,
      untyped,
      idempotencyKey,
      waits,
      cloudEventId: orNull(
        knownEventId('In place of eventId: the source and the id of a CloudEvent, joined by a space'),
      ),
      respondAsync: flag(
        'Answer an event for all with empty lists as soon as it is stored, and then send it; its receipt shows the progress',
      ).optional(),
      respondWithin: countField(
        0,
        'Seconds to wait for the whole answer of an event that is accepted first',
      ).optional(),
    },
    /** `orStart` may name the service instead of the fields beside `key`. */
    together({ orStart: start, ttl: keptFor, version: wanted, ...fields }, issues) {
      if (wanted !== undefined && fields.contextId === undefined && fields.key === undefined)
        refuse(issues, 'version', 'must be given with contextId or key')
      if (!start) return checkAddressIfAny(fields, issues)
      if (fields.key === undefined) refuse(issues, 'key', 'must be given with orStart')
      // It is kept until the context ends.
      if (keptFor != null) refuse(issues, 'ttl', 'must not be given beside orStart')
      for (const field of ['fluxName', 'package'] as const)
        if (fields[field] != null && start[field] != null && fields[field] !== start[field])
          refuse(issues, field, 'must be the one in orStart, or be left out')
      return checkAddressIfAny({ ...fields, fluxName: fields.fluxName ?? start.fluxName ?? undefined }, issues)
    },
    prefersWait: true,
    answer: component(
      'EventResult',
      z.object({
        message: text,
        transitions: z.array(contextState).describe('Contexts that the event moved'),
        executions: z.array(contextState).describe('Contexts that the event started'),
        ignored: z
          .array(ignoredEntry)
          .describe(
            'Contexts and services that the event was for but could not move or start; contextId and state are null for a start',
          ),
        eventId: text.describe('The id that the sender gave, else a UUID of version 7'),
        pending: z
          .array(pendingEntry)
          .describe('The contexts that keep the event; contextId is null where no context waits for it yet'),
        hint: text
          .exactOptional()
          .describe('Says that no service knows the event, and suggests the name that was probably meant'),
        context: contextField,
      }),
      'response',
    ),
    bodyExample: { event: 'approve', input: { by: 'Ada' }, tags: ['team-7'] },
    answerExample: { message: "'approve': moved 1, started 0, ignored by 0", ...SENT_EXAMPLE },
    accepted,
  }),
  /** What became of an event that was sent under a key, with an eventId, or with `receipt`; or was accepted. */
  getEvent: describeCall({
    ...ofReceipt,
    summary: 'Show what became of an event that was sent with an eventId, an Idempotency-Key, or receipt: true',
    problems: [404],
  }),
  listPending: describeCall({
    summary: 'List events that are kept until a context waits for them; the Link header has the URL of the next page',
    route: '/flux-api/events/pending',
    problems: [404, 409],
    query: {
      ...address('Only events that this context keeps'),
      event: name('Only events of this name').optional(),
      tag: tags('Only events with all of these tags. Repeat the parameter, or separate by commas').optional(),
      ...PAGE,
      after: cursor(CURSOR),
    },
    together: checkAddressIfAny,
    answer: component('PendingEvents', z.array(pendingView), 'pendingEvents'),
    answerExample: [
      {
        eventId: 'order-17-paid',
        event: 'paid',
        contextId: null,
        fluxName: null,
        tags: ['order-17'],
        receivedAt: 1_767_225_600_000,
        expiresAt: 1_767_229_200_000,
      },
    ],
  }),
  /**
   * Withdraws an event that is kept until a context waits for it: all copies of it.
   * @throws FluxError `conflict` when nothing of it is pending any more
   */
  withdraw: describeCall({
    summary: 'Withdraw an event that is kept until a context waits for it',
    method: 'DELETE',
    route: '/flux-api/events/pending',
    problems: [404, 409, 429],
    query: { eventId: knownEventId('Id of the event') },
    answer: messageAnswer,
    answerExample: { message: "withdrew the event 'order-17-paid'" },
  }),
  /**
   * Stops an event that is being sent to all that wait for it; gives its receipt. Contexts that it moved stay moved.
   * @throws FluxError `notFound`; `conflict` when it is done
   */
  stopEvent: describeCall({
    ...ofReceipt,
    summary: 'Stop an event that is still being sent: contexts that it has not reached do not get it',
    method: 'DELETE',
    problems: [404, 409],
  }),
}

export type EventRequest = RequestOf<typeof EVENT_CALLS.sendEvent>
export type EventAnswer = AnswerOf<typeof EVENT_CALLS.sendEvent>
export type Receipt = AnswerOf<typeof EVENT_CALLS.getEvent>
export type PendingRequest = RequestOf<typeof EVENT_CALLS.listPending>
export type PendingView = AnswerOf<typeof EVENT_CALLS.listPending>[number]
