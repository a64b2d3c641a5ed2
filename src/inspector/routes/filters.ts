// inspector/routes: the filters in the address of a list, as the calls take them.
import type { Context } from 'hono'
import { malformed } from '../../model/failure.ts'
import type { FluxApi } from '../../api/calls.ts'
import type { ListFilters } from '../parts/filter-form.tsx'

/** Of a page, and not of what is listed. */
const NOT_FILTERS: ReadonlySet<string> = new Set(['order', 'limit', 'after', 'before', 'page', 'view'])

/** The parameters that are not empty; values of a repeated one are joined by commas. */
export function filterParametersOf(c: Context): ListFilters {
  return Object.fromEntries(
    Object.entries(c.req.queries())
      .map(([name, values]) => [name, values.filter((value) => value !== '').join(',')] as const)
      .filter(([, value]) => value !== ''),
  )
}

export const withoutPage = (parameters: ListFilters): ListFilters =>
  Object.fromEntries(Object.entries(parameters).filter(([name]) => !NOT_FILTERS.has(name)))

/** What is not known is left out: an old link may have it. @throws FluxError `malformed` */
export function requestOf(parameters: ListFilters): Omit<Parameters<FluxApi['countContexts']>[0], 'by'> {
  const { tag, paused, parent, startedAfter, startedBefore, updatedAfter, updatedBefore, endedAfter, endedBefore } =
    parameters
  if (paused !== undefined && paused !== 'true' && paused !== 'false') throw malformed('paused must be true or false')
  const { fluxName, key, status, currentState, startState, errorType, dueBefore } = parameters
  return {
    fluxName,
    key,
    status,
    currentState,
    startState,
    errorType,
    tag: tag?.split(','),
    paused: paused === undefined ? undefined : paused === 'true',
    parent: parent === undefined ? undefined : Number(parent),
    startedAfter,
    startedBefore,
    updatedAfter,
    updatedBefore,
    endedAfter,
    endedBefore,
    dueBefore,
  }
}
