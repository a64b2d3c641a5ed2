// api: the calls that take or give line after line.
import { COMMAND_CALLS } from './commands.ts'
import { EVENT_CALLS, SENT_EXAMPLE } from './events.ts'
import { z } from 'zod'
import { type CommittedMove, MOVE_KINDS } from '../model/committed-move.ts'
import { CONTEXT_STATUSES } from '../model/context.ts'
import { type Call, type Checked, type FieldShape, describeCall } from './call.ts'
import { component } from './component.ts'
import { ALL_STATUSES, factFilters } from './context-lists.ts'
import { contextId, count, id, idempotencyKey, integer, listOf, name, text, time } from './fields.ts'
import { problemSchema } from './server.ts'

export interface StreamCall {
  /** The operationId. */
  readonly id: string
  readonly summary: string
  readonly route: string
  /** What each line asks for. */
  readonly each: Call
  /** Fields of a line. */
  readonly line: FieldShape
  readonly lineExample: object
  /** A line of the answer. */
  readonly answer: z.ZodType
  /** Of one that is carried out after it was answered. */
  readonly accepted?: z.ZodType
  readonly answerExample: object
}

export const replayedLine = z
  .literal(true)
  .exactOptional()
  .describe('There where the line repeats an earlier request under its key, and has the answer to that')

export const refusedLine = component(
  'RefusedLine',
  z.object({
    n: count.describe('Place of the line, from 0; empty lines do not count'),
    status: integer,
    problem: problemSchema,
    retryAfter: integer.exactOptional().describe('Seconds after which to try again'),
  }),
)

export const lastLine = component(
  'LastLine',
  z.object({
    done: z.boolean().describe('False: the request was broken off, and `problem` says why'),
    lines: count,
    ok: count,
    failed: count,
    problem: problemSchema.exactOptional(),
  }),
  { description: 'The end of the answer. An answer without it was cut off' },
)

export type RefusedLine = z.output<typeof refusedLine>
export type LastLine = z.output<typeof lastLine>

const { message: _message, context: _context, ...told } = EVENT_CALLS.sendEvent.answer.shape

const acceptedLine = component(
  'AcceptedLine',
  z.object({ n: integer, status: z.literal(202), eventId: text, replayed: replayedLine }),
  { description: 'The event is for many: it is stored, and goes to all that it is for' },
)

export const SEND_EVENTS: StreamCall = {
  id: 'sendEvents',
  summary: 'Send many events, a line each',
  route: '/flux-api/events',
  each: EVENT_CALLS.sendEvent,
  line: EVENT_CALLS.sendEvent.body ?? {},
  lineExample: { event: 'approve', contextId: 1, input: { by: 'Ada' } },
  answer: component('EventLine', z.object({ n: integer, status: integer, ...told, replayed: replayedLine })),
  accepted: acceptedLine,
  answerExample: { n: 0, status: 200, ...SENT_EXAMPLE },
}

export const EXECUTES: StreamCall = {
  id: 'executes',
  summary: 'Start many contexts, a line each',
  route: '/flux-api/:package/executes',
  each: COMMAND_CALLS.execute,
  line: { ...COMMAND_CALLS.execute.body, idempotencyKey },
  lineExample: COMMAND_CALLS.execute.bodyExample ?? {},
  answer: component(
    'ExecutionLine',
    z.object({
      n: integer,
      status: integer,
      contextId,
      started: z.boolean(),
      replaced: contextId.exactOptional(),
      replayed: replayedLine,
    }),
  ),
  answerExample: { n: 0, status: 200, contextId: 1, started: true },
}

/** Characters of an id in the feed: longer ones are unknown. */
const MAX_ID_CHARACTERS = 128

/** A move, as the data of an event has it. */
export const moveMessage = component(
  'MoveMessage',
  z.object({
    contextId,
    package: text,
    fluxName: text,
    version: integer.positive().describe('Of the context, after the commit'),
    at: time,
    kind: z.enum(MOVE_KINDS).describe('What caused the commit'),
    event: text.nullable(),
    eventId: text.nullable(),
    from: text.nullable().describe('The state before; null for a context that was created'),
    to: text.describe('The state after'),
    entered: z.array(text).describe('The states that were entered, in order'),
    status: z.enum([...CONTEXT_STATUSES]),
    nextRun: time.nullable(),
    tags: z.array(text),
    parent: contextId.nullable().describe('Id of the parent'),
  }),
  { description: 'A commit that changed a context' },
)

const EXAMPLE = {
  contextId: 7,
  package: 'examples',
  fluxName: 'ApprovalWithTimeout',
  version: 2,
  at: 1_795_221_861_244,
  kind: 'event',
  event: 'approve',
  eventId: '0199f1a2-6c1e-7c59-9d3f-1c2b3a4d5e6f',
  from: 'WaitForDecision',
  to: 'Approved',
  entered: ['Approved'],
  status: 'COMPLETED',
  nextRun: null,
  tags: [],
  parent: null,
}

export const STREAM_MOVES = describeCall({
  summary: 'Moves of contexts as they are committed, on any server: server-sent events, without end',
  method: 'GET',
  route: '/flux-api/stream',
  role: 'read',
  problems: [422],
  query: {
    contextId: id('Only this context').optional(),
    ...factFilters,
    status: listOf([...CONTEXT_STATUSES, ALL_STATUSES], 'Only contexts with one of these statuses; all if left out'),
    errorType: name('Only failed contexts with an error of this type').optional(),
    parent: id('Only children of this context').optional(),
    lastEventId: z
      .string({ error: 'must be a text' })
      .optional()
      .describe('Goes on behind this message. The header `Last-Event-ID` counts more'),
  },
  content: ['tag', 'key'],
  strict: true,
  answer: moveMessage,
  answerExample: EXAMPLE,
})

type MoveRequest = Checked<typeof STREAM_MOVES>
export type MoveFilters = Omit<MoveRequest, 'lastEventId'>

/** Where a reader wants to go on; null: now. What is longer than any id is cut. */
export const placeAskedFor = (given: string | undefined): string | null =>
  given === undefined || given === '' ? null : given.slice(0, MAX_ID_CHARACTERS)

/** Whether the context is, after the commit, one that the filters ask for. All of them must fit, as in a list. */
export function matchesMove(filters: MoveFilters, { message, facts }: CommittedMove): boolean {
  const { contextId: only, fluxName, key, tag, status, currentState, startState, errorType, parent, paused } = filters
  if (only !== undefined && only !== message.contextId) return false
  if (fluxName !== undefined && fluxName !== message.fluxName && fluxName !== `${message.package}/${message.fluxName}`)
    return false
  if (key !== undefined && key !== facts.key) return false
  if (status !== undefined && !status.includes(message.status) && !status.includes(ALL_STATUSES)) return false
  if (currentState !== undefined && currentState !== message.to) return false
  if (startState !== undefined && startState !== facts.startState) return false
  if (errorType !== undefined && errorType !== facts.errorType) return false
  if (parent !== undefined && parent !== message.parent) return false
  if (paused !== undefined && paused !== (facts.paused ?? false)) return false
  return tag === undefined || tag.every((one) => (facts.tags ?? message.tags).includes(one))
}

/** Filters that mean the same are equal: each element of a list once, in order; none that every context passes. */
export function meaningOf({ status, tag, ...others }: MoveFilters): MoveFilters {
  const statuses = CONTEXT_STATUSES.filter(
    (one) => status === undefined || status.includes(ALL_STATUSES) || status.includes(one),
  )
  return {
    ...others,
    ...(tag !== undefined && { tag: [...new Set(tag)].sort() }),
    ...(statuses.length < CONTEXT_STATUSES.length && { status: statuses }),
  }
}

/** Whether there are none, so that every context is asked for. */
export const asksForAll = (filters: MoveFilters): boolean =>
  Object.values(filters).every((filter) => filter === undefined)
