// api: the calls that list and count contexts.
import { z } from 'zod'
import { CONTEXT_STATUSES, type ContextId, type Status } from '../model/context.ts'
import { type RequestOf, component, describeCall } from './call.ts'
import { CONTEXT_EXAMPLE, contextAnswer } from './contexts.ts'
import { PAGE, choice, contextKey, flag, id, integer, moment, mustBeOneOf, name, tags } from './fields.ts'

/** Every status. */
export const ALL_STATUSES = 'all'

const STATUS_FILTERS = [...CONTEXT_STATUSES, ALL_STATUSES]

const isStatusFilter = (text: unknown): text is Status | typeof ALL_STATUSES =>
  STATUS_FILTERS.some((status) => status === text)

const listed = (given: unknown): readonly unknown[] =>
  (typeof given === 'string' ? given.split(',') : [given].flat()).filter((status) => status !== '')

const statuses = z
  .custom<string | readonly string[]>((given) => {
    const some = listed(given)
    return some.length > 0 && some.every(isStatusFilter)
  }, mustBeOneOf(CONTEXT_STATUSES))
  .transform((given) => [...new Set(listed(given).filter(isStatusFilter))])

/** Which contexts, by what they are. `leftOut`: those that are meant without a status. */
export const factFilters = (leftOut: string) => ({
  fluxName: name('Only contexts of this service; `package/name` is that of a package').optional(),
  key: contextKey('Only contexts with this key').optional(),
  tag: tags('Only contexts with all of these tags. Repeat the parameter, or separate by commas').optional(),
  status: statuses.optional().meta({
    type: 'array',
    items: { type: 'string', enum: STATUS_FILTERS },
    description: `Only contexts with one of these statuses. Repeat the parameter, or separate by commas; \`all\`: any. Default: ${leftOut}`,
  }),
  currentState: name('Only contexts that are in this state').optional(),
  startState: name('Only contexts that began in this state').optional(),
  errorType: name('Only contexts whose error has this type').optional(),
  parent: id('Only contexts that this context started as its children').optional(),
  paused: flag('Only contexts that are paused, or that are not').optional(),
})

export const contextFilters = (leftOut: string) => ({
  ...factFilters(leftOut),
  startedAfter: moment('Only contexts that were started after this time'),
  startedBefore: moment('Only contexts that were started before this time'),
  updatedAfter: moment('Only contexts whose last change was after this time'),
  updatedBefore: moment('Only contexts whose last change was before this time'),
  endedAfter: moment('Only contexts that ended after this time'),
  endedBefore: moment('Only contexts that ended before this time'),
  dueBefore: moment('Only contexts that wake up before this time'),
})

/** What a summary leaves out: data, states and history. */
export const NOT_IN_SUMMARY = ['input', 'output', 'stateContexts', 'executionHistory', 'pending'] as const

/** The same fields in the same order, of which a summary may lack some. */
const listedContext = component(
  'ListedContext',
  contextAnswer.partial({ input: true, output: true, stateContexts: true, executionHistory: true }).extend({
    error: contextAnswer.shape.error
      .unwrap()
      .partial({ className: true, realException: true, fluxStackTrace: true, stack: true })
      .nullable(),
  }),
  { description: 'A context; a summary has no data, states and history' },
)

/** A context as a list shows it. In a summary, `NOT_IN_SUMMARY` is missing. */
export type ListedContext = z.output<typeof listedContext>

/** One page of a list. It may have fewer contexts than asked for, and even none, although there are more. */
export interface ContextPage {
  readonly contexts: ListedContext[]
  /** Value of `after` for the next page, under `desc` of `before`; null if this is the last page. */
  readonly next: ContextId | null
}

/**
 * Whether the page has room for another context. It is called for one context after the other. The page ends before the
 * first that does not fit; the first context of a page is always included.
 */
export type Fits = (context: ListedContext) => boolean | Promise<boolean>

const BY = ['status', 'currentState', 'fluxName'] as const

export const CONTEXT_LIST_CALLS = {
  listContexts: describeCall({
    summary: 'List contexts by their ids; the Link header has the URL of the next page',
    route: '/flux-api/contexts',
    query: {
      ...contextFilters('those that have not ended'),
      order: choice(['asc', 'desc']).optional().describe('asc, if left out: by ascending id; desc: the newest first'),
      view: choice(['full', 'summary'])
        .optional()
        .describe('summary: without data, states and history; of an error, type and message only'),
      ...PAGE,
      after: id('Only contexts with a higher id').optional(),
      before: id('Only contexts with a lower id').optional(),
    },
    answer: component('Contexts', z.array(listedContext), 'contexts'),
    answerExample: [CONTEXT_EXAMPLE],
  }),
  countContexts: describeCall({
    summary: 'Count contexts by status, state or service',
    route: '/flux-api/contexts/count',
    query: {
      by: choice(BY).default('status').describe('What the contexts are counted by. Default: status'),
      ...contextFilters('by status all of them, else those that have not ended'),
    },
    answer: component(
      'ContextCount',
      z.object({
        total: integer,
        by: z.enum(BY),
        counts: z.custom<{ readonly [name: string]: number }>().meta({
          type: 'object',
          additionalProperties: { type: 'integer' },
          description: 'Number of contexts by name, without zeros; services are named package/fluxName',
        }),
      }),
      'count',
    ),
    answerExample: { total: 3, by: 'status', counts: { WAITING: 2, COMPLETED: 1 } },
  }),
}

export type ListRequest = RequestOf<typeof CONTEXT_LIST_CALLS.listContexts>
