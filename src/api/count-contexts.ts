// api: counts contexts, by status, state or service.
import { z } from 'zod'
import { describeCall, type AnswerOf, type RequestOf } from './call.ts'
import { component } from './component.ts'
import { contextFilters } from './context-filters.ts'

const BY = ['status', 'currentState', 'fluxName'] as const

export const COUNT_CONTEXTS = describeCall({
  id: 'countContexts',
  summary: 'Count contexts by status, state or service',
  method: 'GET',
  route: '/flux-api/contexts/count',
  role: 'read',
  problems: [422],
  query: {
    by: z
      .enum(BY, { error: `must be one of ${BY.join(', ')}` })
      .default('status')
      .meta({ description: 'By what they are counted; by status, if left out' }),
    ...contextFilters('by status all of them, else those that have not ended'),
  },
  content: ['tag', 'key'],
  strict: true,
  answer: component(
    'ContextCount',
    z.object({
      total: z.number().int(),
      by: z.enum(BY).meta({ xsd: { type: 'countedBy' } }),
      counts: z.custom<{ readonly [name: string]: number }>().meta({
        type: 'object',
        additionalProperties: { type: 'integer' },
        description: 'How many contexts there are of each, where there are any; services are package/fluxName',
      }),
    }),
    { xml: { name: 'count' }, xsd: { type: 'contextCount' } },
  ),
  answerExample: { total: 3, by: 'status', counts: { WAITING: 2, COMPLETED: 1 } },
})

export type CountRequest = RequestOf<typeof COUNT_CONTEXTS>
export type ContextCount = AnswerOf<typeof COUNT_CONTEXTS>

export interface CountOptions {
  /** Aborted when nobody waits for the count any more. */
  readonly signal?: AbortSignal | undefined
}
