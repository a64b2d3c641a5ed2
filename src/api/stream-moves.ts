// api: what is said of the stream of moves: its filters, and its messages.
import { z } from 'zod'
import { MOVE_KINDS, type CommittedMove } from '../model/committed-move.ts'
import { CONTEXT_STATUSES, type Status } from '../model/context.ts'
import { describeCall, type Checked } from './call.ts'
import { component } from './component.ts'
import { contextId, contextKey, flag, id, name, tags, text, time } from './fields.ts'

/** Means every status, as leaving the filter out does. */
const ALL = 'all'
const isStatus = (value: unknown): value is Status | typeof ALL =>
  value === ALL || CONTEXT_STATUSES.some((status) => status === value)

/** Characters of an id in the feed: longer ones are unknown. */
const MAX_ID_CHARACTERS = 128

/** A move, as the data of an event has it. */
export const moveMessage = component(
  'MoveMessage',
  z.object({
    contextId,
    package: text,
    fluxName: text,
    version: z.number().int().positive().meta({ description: 'Of the context, after the commit' }),
    at: time,
    kind: z.enum(MOVE_KINDS).meta({ description: 'What caused the commit' }),
    event: text.nullable(),
    eventId: text.nullable(),
    from: text.nullable().meta({ description: 'The state before; null for a context that was created' }),
    to: text.meta({ description: 'The state after' }),
    entered: z.array(text).meta({ description: 'The states that were entered, in order' }),
    status: z.enum([...CONTEXT_STATUSES]),
    nextRun: time.nullable(),
    tags: z.array(text),
    parent: contextId.nullable().meta({ description: 'Id of the parent' }),
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
  id: 'streamMoves',
  summary: 'Moves of contexts as they are committed, on any server: server-sent events, without end',
  method: 'GET',
  route: '/flux-api/stream',
  role: 'read',
  problems: [422],
  query: {
    contextId: id('Only this context').optional(),
    fluxName: name('Only contexts of this service; `package/name` is that of a package').optional(),
    key: contextKey('Only contexts with this key').optional(),
    tag: tags('Only contexts with all of these tags. Repeat the parameter, or separate by commas').optional(),
    status: z
      .array(
        z.custom<Status | typeof ALL>(isStatus, { error: `must be one of ${[...CONTEXT_STATUSES, ALL].join(', ')}` }),
        { error: 'must be a list of texts' },
      )
      .readonly()
      .meta({
        items: { type: 'string', enum: [...CONTEXT_STATUSES, ALL] },
        description: 'Only contexts with one of these statuses; all if left out',
      })
      .optional(),
    currentState: name('Only contexts that are in this state').optional(),
    startState: name('Only contexts that began in this state').optional(),
    errorType: name('Only failed contexts with an error of this type').optional(),
    parent: id('Only children of this context').optional(),
    paused: flag('Only contexts that are paused, or that are not').optional(),
    lastEventId: z
      .string({ error: 'must be a text' })
      .optional()
      .meta({ description: 'Goes on behind this message. The header `Last-Event-ID` counts more' }),
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
  if (status !== undefined && !status.includes(message.status) && !status.includes(ALL)) return false
  if (currentState !== undefined && currentState !== message.to) return false
  if (startState !== undefined && startState !== facts.startState) return false
  if (errorType !== undefined && errorType !== facts.errorType) return false
  if (parent !== undefined && parent !== message.parent) return false
  if (paused !== undefined && paused !== (facts.paused ?? false)) return false
  return tag === undefined || tag.every((one) => (facts.tags ?? message.tags).includes(one))
}

/** Whether there are none, so that every context is asked for. */
export const asksForAll = (filters: MoveFilters): boolean =>
  Object.values(filters).every((filter) => filter === undefined)
