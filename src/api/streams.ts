// api: the calls that take or give line after line.
import { z } from 'zod'
import { CONTEXT_STATUSES } from '../model/context.ts'
import { type Checked, component, describeCall } from './call.ts'
import { COMMAND_CALLS } from './commands.ts'
import { ALL_STATUSES, factFilters } from './context-lists.ts'
import { EVENT_CALLS, SENT_EXAMPLE } from './events.ts'
import { contextId, count, id, idempotencyKey, integer, text, time } from './fields.ts'
import { version } from './rehearsal.ts'
import { problemSchema } from './server.ts'

const replayedLine = z
  .literal(true)
  .exactOptional()
  .describe('Present if the line repeats an earlier request under its key; the answer is that of the earlier one')

const refusedLine = component(
  'RefusedLine',
  z.object({
    n: count.describe('Index of the line, from 0; empty lines do not count'),
    status: integer,
    problem: problemSchema,
    retryAfter: integer.exactOptional().describe('Seconds after which to try again'),
  }),
)

const lastLine = component(
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
const { assume: _ofEvent, ...eventLine } = { ...EVENT_CALLS.sendEvent.body }
const { assume: _ofStart, ...startLine } = { ...COMMAND_CALLS.execute.body }

const acceptedLine = component(
  'AcceptedLine',
  z.object({ n: integer, status: z.literal(202), eventId: text, replayed: replayedLine }),
  {
    description: 'The event is for many contexts: it is stored, and is then sent to them',
  },
)

/** Each line asks for what `each` does; `id`: the operationId; `answers`: what a line of the answer may be. */
export const SEND_EVENTS = {
  id: 'sendEvents',
  summary: 'Send many events, a line each',
  route: '/flux-api/events',
  each: EVENT_CALLS.sendEvent,
  line: { ...eventLine, version },
  lineExample: { event: 'approve', contextId: 1, input: { by: 'Ada' } },
  answers: [
    component('EventLine', z.object({ n: integer, status: integer, ...told, replayed: replayedLine })),
    acceptedLine,
    refusedLine,
    lastLine,
  ],
  answerExample: { n: 0, status: 200, ...SENT_EXAMPLE },
}

export const EXECUTES = {
  id: 'executes',
  summary: 'Start many contexts, a line each',
  route: '/flux-api/:package/executes',
  each: COMMAND_CALLS.execute,
  line: { ...startLine, idempotencyKey },
  lineExample: COMMAND_CALLS.execute.bodyExample,
  answers: [
    component(
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
    refusedLine,
    lastLine,
  ],
  answerExample: { n: 0, status: 200, contextId: 1, started: true },
}

export type StreamCall = typeof SEND_EVENTS | typeof EXECUTES

/** What caused a commit. `end`: a child has ended, or the runtime ended the context. `step`: also its lease. */
export const MOVE_KINDS = [
  'start',
  'event',
  'wake',
  'step',
  'end',
  'retry',
  'pause',
  'resume',
  'tag',
  'terminate',
] as const

/** A move, as the data of an event has it. */
const moveMessage = component(
  'MoveMessage',
  z.object({
    contextId,
    package: text,
    fluxName: text,
    version: integer.positive().describe('Version of the context after the commit'),
    at: time,
    kind: z.enum(MOVE_KINDS).describe('What caused the commit'),
    event: text.nullable(),
    eventId: text.nullable(),
    from: text.nullable().describe('The state before; null for a context that was created'),
    to: text.describe('The state after'),
    entered: z.array(text).describe('The states that were entered, in order'),
    status: z.enum(CONTEXT_STATUSES),
    nextRun: time.nullable(),
    tags: z.array(text),
    parent: contextId.nullable().describe('Id of the parent'),
  }),
  { description: 'A commit that changed a context' },
)

/** As readers get it: without data of users. Secrets are redacted. */
export type MoveMessage = z.infer<typeof moveMessage>

/** What filters ask for besides the message. */
export interface MoveFacts {
  readonly key: string | null
  readonly startState: string
  /** Type of the error of a failed context. */
  readonly errorType: string | null
  /** Whether the service was secured when the context was started, or when it was committed. */
  readonly secured: boolean
  readonly paused?: true
  /** As they are; left out: those of the message. */
  readonly tags?: readonly string[]
}

/** A commit, as it is published to readers of the stream. */
export interface CommittedMove {
  readonly message: MoveMessage
  readonly facts: MoveFacts
  /** When the version before was committed, epoch milliseconds; null: there was none. */
  readonly previousAt: number | null
}

export const STREAM_MOVES = describeCall({
  summary: 'Follow moves of contexts as they are committed on any server: an endless stream of server-sent events',
  route: '/flux-api/stream',
  query: {
    contextId: id('Only this context').optional(),
    ...factFilters('all'),
    lastEventId: z
      .string('must be a text')
      .optional()
      .describe('Continue after this message. The header `Last-Event-ID` takes precedence'),
  },
  answer: moveMessage,
  answerExample: {
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
  },
})

type MoveRequest = Checked<typeof STREAM_MOVES>
export type MoveFilters = Omit<MoveRequest, 'lastEventId'>

/** Whether the context is, after the commit, one that the filters ask for. All of them must fit, as in a list. */
export function matchesMove(
  { fluxName, status, tag, ...others }: MoveFilters,
  { message, facts }: CommittedMove,
): boolean {
  const known: { readonly [filter: string]: unknown } = {
    paused: false,
    ...message,
    ...facts,
    currentState: message.to,
  }
  const { tags = message.tags } = facts
  return (
    (fluxName === undefined || [message.fluxName, `${message.package}/${message.fluxName}`].includes(fluxName)) &&
    (status === undefined || status.includes(ALL_STATUSES) || status.includes(message.status)) &&
    (tag === undefined || tag.every((one) => tags.includes(one))) &&
    Object.entries(others).every(([filter, asked]) => asked === undefined || asked === known[filter])
  )
}

/** Filters that mean the same are equal: each element of a list once, in order. */
export const meaningOf = ({ status, tag, ...others }: MoveFilters): MoveFilters => ({
  ...others,
  ...(tag && { tag: [...new Set(tag)].sort() }),
  ...(status?.includes(ALL_STATUSES) === false && { status: [...new Set(status)].sort() }),
})

/** Whether there are none, so that every context is asked for. */
export const asksForAll = (filters: MoveFilters): boolean =>
  Object.values(filters).every((filter) => filter === undefined)
