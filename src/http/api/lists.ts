// http: the routes of the calls that give a list, page by page. `Link` leads to the next page.
import type { Context, Hono } from 'hono'
import type { z } from 'zod'
import { rootOf, type Call } from '../../api/call.ts'
import { CALLS, type Calls, type CheckedCall } from '../../api/calls.ts'
import type { Caller, Role } from '../../model/caller.ts'
import type { ContextId } from '../../model/context.ts'
import type { ReadScope } from '../../model/read-scope.ts'
import type { Answers } from '../answers/answers.ts'
import { PageWriter } from '../answers/page.ts'
import type { Env } from '../request/incoming.ts'
import { readScopeOf } from '../request/hang-up.ts'
import { acceptedFormat, callHeaders } from './answer-format.ts'
import { requestReader } from './request.ts'

export interface ListParts {
  /** The calls, with the rights of that caller. */
  readonly api: (caller: Caller, traceparent: undefined, reads: ReadScope) => Calls
  /** The caller of a request. @throws FluxError when it may not make the call */
  readonly callerOf: (c: Context<Env>, role: Role) => Caller
  readonly answers: Answers
}

export function addLists(app: Hono<Env>, parts: ListParts): void {
  addList(app, parts)
  addPaged(app, parts, CALLS.listPending, async (calls, request) => {
    const { events: items, next } = (await calls.call('listPendingPage', request)).answer
    return { items, next }
  })
  addPaged(app, parts, CALLS.listDeliveries, async (calls, request) => {
    const { deliveries: items, next } = (await calls.call('listDeliveriesPage', request)).answer
    return { items, next }
  })
}

/** The list is written while it is read, and ends where it becomes large. */
function addList(app: Hono<Env>, { api, callerOf, answers }: ListParts): void {
  const reader = requestReader(CALLS.listContexts)
  app.get(CALLS.listContexts.route, async (c) => {
    const reads = readScopeOf(c)
    const calls = api(callerOf(c, CALLS.listContexts.role), undefined, reads)
    const format = acceptedFormat(c)
    const request = reader.finish(reader.begin(c), null)
    const page = new PageWriter(answers, format, rootOf(CALLS.listContexts.answer))
    try {
      const next = await fill(page, calls, request)
      const place = request.order === 'desc' ? { before: next } : { after: next }
      const link = next === null ? {} : { link: `<${nextPage(CALLS.listContexts.route, request, place)}>; rel="next"` }
      return page.respond(c, { ...callHeaders(c, format), ...link })
    } catch (error) {
      page.drop()
      throw error
    } finally {
      reads.end()
    }
  })
}

/** A list that is made as a whole: its pages are small. */
function addPaged<R extends z.ZodType<Filters>, A extends z.ZodType>(
  app: Hono<Env>,
  { api, callerOf, answers }: ListParts,
  call: Call<R, A>,
  run: (
    calls: Calls,
    request: z.output<R>,
  ) => Promise<{ readonly items: readonly object[]; readonly next: string | null }>,
): void {
  const [reader, root] = [requestReader(call), rootOf(call.answer)]
  app.get(call.route, async (c) => {
    const reads = readScopeOf(c)
    const calls = api(callerOf(c, call.role), undefined, reads)
    const format = acceptedFormat(c)
    const request = reader.finish(reader.begin(c), null)
    try {
      const { items, next } = await run(calls, request)
      const link = next === null ? {} : { link: `<${nextPage(call.route, request, { after: next })}>; rel="next"` }
      const headers = { ...callHeaders(c, format), ...link }
      return await answers.send(c, items, format.pieces(items, root), { headers })
    } finally {
      reads.end()
    }
  })
}

/** Fills the page; resolves with the id after which the list continues, null at its end. */
async function fill(page: PageWriter, calls: Calls, request: CheckedCall<'listContexts'>): Promise<ContextId | null> {
  const { answer } = await calls.call('listPage', request, (context) => page.add(context))
  const { contexts, next } = answer
  for (const context of contexts.slice(page.count))
    if (!(await page.add(context))) return contexts[page.count - 1]?.id ?? null
  return next
}

/** Fields of a list. */
type Filters = { readonly tag?: readonly string[] | undefined; readonly [name: string]: unknown }

/**
 * The URL of the next page: the same filters and limit, from that place on. It is relative, so that it also works behind
 * a proxy.
 */
function nextPage(route: string, { tag, ...filters }: Filters, place: object): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries({ ...filters, page: undefined, ...place }))
    if (value !== undefined) query.set(name, String(value))
  for (const each of tag ?? []) query.append('tag', each)
  return `${route}?${query}`
}
