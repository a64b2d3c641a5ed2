// api: lists contexts by their ids, page by page.
import { z } from 'zod'
import type { ContextId } from '../model/context.ts'
import { describeCall, type Checked, type RequestOf } from './call.ts'
import { component } from './component.ts'
import { contextFilters } from './context-filters.ts'
import { countField, id } from './fields.ts'
import { CONTEXT_EXAMPLE, contextAnswer } from './get-context.ts'

const DEFAULT_LIMIT = 30
/** A page never has more contexts. */
const MAX_LIMIT = 1000

/** What a summary leaves out: data, states and history. */
export const NOT_IN_SUMMARY = ['input', 'output', 'stateContexts', 'executionHistory', 'pending'] as const

const { error: fullError, input, output, stateContexts, executionHistory } = contextAnswer.shape
const { message, type, ...rest } = fullError.unwrap().shape

/** The same fields in the same order, of which a summary may lack some. */
const listedContext = component(
  'ListedContext',
  contextAnswer.extend({
    input: input.exactOptional(),
    output: output.exactOptional(),
    stateContexts: stateContexts.exactOptional(),
    executionHistory: executionHistory.exactOptional(),
    error: z.object({ message, type, ...z.object(rest).partial().shape }).nullable(),
  }),
  { description: 'A context; a summary has no data, states and history', xsd: { type: 'listedContext' } },
)

export const LIST_CONTEXTS = describeCall({
  id: 'listContexts',
  summary: 'List contexts by their ids; the Link header has the URL of the next page',
  method: 'GET',
  route: '/flux-api/contexts',
  role: 'read',
  problems: [422],
  query: {
    ...contextFilters('those that have not ended'),
    order: z
      .enum(['asc', 'desc'], { error: 'must be asc or desc' })
      .default('asc')
      .meta({ description: 'asc, if left out: by ascending id; desc: the newest first' }),
    view: z
      .enum(['full', 'summary'], { error: 'must be full or summary' })
      .optional()
      .meta({ description: 'summary: without data, states and history; of an error, type and message only' }),
    limit: countField(1, `${DEFAULT_LIMIT} if left out; above ${MAX_LIMIT} means ${MAX_LIMIT}`)
      .transform((limit) => Math.min(limit, MAX_LIMIT))
      .default(DEFAULT_LIMIT),
    page: countField(0, '0, the first, if left out')
      .refine((page) => Number.isSafeInteger(page * MAX_LIMIT), { error: 'is too large' })
      .default(0),
    after: id('Only contexts with a higher id').optional(),
    before: id('Only contexts with a lower id').optional(),
  },
  content: ['tag', 'key'],
  strict: true,
  answer: component('Contexts', z.array(listedContext), { xml: { name: 'contexts' } }),
  answerExample: [CONTEXT_EXAMPLE],
  answerHeaders: { Link: 'URL of the next page, with rel="next"; absent on the last page' },
})

export type ListRequest = RequestOf<typeof LIST_CONTEXTS>
export type CheckedList = Checked<typeof LIST_CONTEXTS>

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
