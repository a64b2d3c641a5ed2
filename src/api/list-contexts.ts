// api: lists contexts by ascending id, page by page.
import { z } from 'zod'
import { CONTEXT_STATUSES, type ContextId } from '../model/context.ts'
import { describeCall, type Checked, type RequestOf } from './call.ts'
import { component } from './component.ts'
import { contextKey, countField, id, name, tags } from './fields.ts'
import { CONTEXT_EXAMPLE, contextAnswer, type ContextView } from './get-context.ts'

const DEFAULT_LIMIT = 30
/** A page never has more contexts. */
const MAX_LIMIT = 1000

export const LIST_CONTEXTS = describeCall({
  id: 'listContexts',
  summary: 'List contexts by ascending id; the Link header has the URL of the next page',
  method: 'GET',
  route: '/flux-api/contexts',
  role: 'read',
  problems: [422],
  query: {
    fluxName: name('Only contexts of this service').optional(),
    key: contextKey('Only contexts with this key').optional(),
    tag: tags('Only contexts with all of these tags. Repeat the parameter, or separate by commas').optional(),
    status: z
      .enum(CONTEXT_STATUSES, { error: `must be one of ${CONTEXT_STATUSES.join(', ')}` })
      .optional()
      .meta({ description: 'Only contexts with this status; if left out, those that have not ended' }),
    currentState: name('Only contexts that are in this state').optional(),
    startState: name('Only contexts that began in this state').optional(),
    limit: countField(1, `${DEFAULT_LIMIT} if left out; above ${MAX_LIMIT} means ${MAX_LIMIT}`)
      .transform((limit) => Math.min(limit, MAX_LIMIT))
      .default(DEFAULT_LIMIT),
    page: countField(0, '0, the first, if left out')
      .refine((page) => Number.isSafeInteger(page * MAX_LIMIT), { error: 'is too large' })
      .default(0),
    after: id('Only contexts with a higher id').optional(),
  },
  content: ['tag', 'key'],
  strict: true,
  answer: component('Contexts', z.array(contextAnswer), { xml: { name: 'contexts' } }),
  answerExample: [CONTEXT_EXAMPLE],
  answerHeaders: { Link: 'URL of the next page, with rel="next"; absent on the last page' },
})

export type ListRequest = RequestOf<typeof LIST_CONTEXTS>
export type CheckedList = Checked<typeof LIST_CONTEXTS>

/** One page of a list. */
export interface ContextPage {
  readonly contexts: ContextView[]
  /** Value of `after` for the next page; null if this is the last page. */
  readonly next: ContextId | null
}

/**
 * Whether the page has room for another context. It is called for one context after the other. The page ends before the
 * first that does not fit; the first context of a page is always included.
 */
export type Fits = (context: ContextView) => boolean | Promise<boolean>
