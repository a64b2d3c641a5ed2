// api: the filters of lists of contexts, which counts take as well.
import { z } from 'zod'
import { CONTEXT_STATUSES, type Status } from '../model/context.ts'
import { momentOf } from '../model/moment.ts'
import { contextKey, flag, id, name, tags } from './fields.ts'

/** Every status. */
const ALL_STATUSES = 'all'

const isStatus = (text: unknown): text is Status => CONTEXT_STATUSES.some((status) => status === text)

const listed = (given: unknown): readonly unknown[] => (typeof given === 'string' ? given.split(',') : [given].flat())

const statuses = z
  .custom<string | readonly string[]>(
    (given) => {
      const some = listed(given).filter((status) => status !== '')
      return some.length > 0 && some.every((status) => status === ALL_STATUSES || isStatus(status))
    },
    { error: `must be one of ${CONTEXT_STATUSES.join(', ')}` },
  )
  .transform((given) => {
    const some = listed(given)
    return some.includes(ALL_STATUSES) ? [ALL_STATUSES] : [...new Set(some.filter(isStatus))]
  })

const moment = (description: string) =>
  z
    .custom<number | string>((given) => momentOf(given) !== null, {
      error: 'must be a time, as epoch milliseconds or in ISO 8601',
    })
    .transform((given) => momentOf(given) ?? 0)
    .optional()
    .meta({ type: ['integer', 'string'], description: `${description}: epoch milliseconds, or ISO 8601` })

export const contextFilters = (whenLeftOut: string) => ({
  fluxName: name('Only contexts of this service; `package/name` is that of a package').optional(),
  key: contextKey('Only contexts with this key').optional(),
  tag: tags('Only contexts with all of these tags. Repeat the parameter, or separate by commas').optional(),
  status: statuses.optional().meta({
    type: 'array',
    items: { type: 'string', enum: [...CONTEXT_STATUSES, ALL_STATUSES] },
    description: `Only contexts with one of these statuses. Repeat the parameter, or separate by commas; \`all\`: any; if left out, ${whenLeftOut}`,
  }),
  currentState: name('Only contexts that are in this state').optional(),
  startState: name('Only contexts that began in this state').optional(),
  errorType: name('Only contexts whose error has this type').optional(),
  parent: id('Only contexts that this context started as its children').optional(),
  paused: flag('Only contexts that are paused, or that are not').optional(),
  startedAfter: moment('Only contexts that were started after this time'),
  startedBefore: moment('Only contexts that were started before this time'),
  updatedAfter: moment('Only contexts whose last change was after this time'),
  updatedBefore: moment('Only contexts whose last change was before this time'),
  endedAfter: moment('Only contexts that ended after this time'),
  endedBefore: moment('Only contexts that ended before this time'),
  dueBefore: moment('Only contexts that wake up before this time'),
})
