// http: the routes of the calls that give a list, page by page. `Link` leads to the next page.
import type { Context, Hono } from 'hono'
import type { z } from 'zod'
import { rootOf, type Call } from '../../api/call.ts'
import type { FluxApi } from '../../api/flux-api.ts'
import { LIST_CONTEXTS, type CheckedList } from '../../api/list-contexts.ts'
import { LIST_DELIVERIES } from '../../api/list-deliveries.ts'
import { LIST_PENDING } from '../../api/list-pending.ts'
import type { Caller, Role } from '../../model/caller.ts'
import type { ContextId } from '../../model/context.ts'
import type { Answers } from '../answers/answers.ts'
import { PageWriter } from '../answers/page.ts'
import type { Env } from '../request/incoming.ts'
import { acceptedFormat, callHeaders } from './answer-format.ts'
import { requestReader } from './request.ts'

export interface ListParts {
  /** The calls, with the rights of that caller. */
  readonly api: (caller: Caller) => FluxApi
  /** The caller of a request. @throws FluxError when it may not make the call */
  readonly callerOf: (c: Context<Env>, role: Role) => Caller
  readonly answers: Answers
}

export function addLists(app: Hono<Env>, parts: ListParts): void {
  addList(app, parts)
  addPaged(app, parts, LIST_PENDING, async (calls, request) => {
    const { events: items, next } = await calls.listPendingPage(request)
    return { items, next }
  })
  addPaged(app, parts, LIST_DELIVERIES, async (calls, request) => {
    const { deliveries: items, next } = await calls.listDeliveriesPage(request)
    return { items, next }
  })
}

/** The list is written while it is read, and ends where it becomes large. */
function addList(app: Hono<Env>, { api, callerOf, answers }: ListParts): void {
  const reader = requestReader(LIST_CONTEXTS)
  app.get(LIST_CONTEXTS.route, async (c) => {
    const calls = api(callerOf(c, LIST_CONTEXTS.role))
    const format = acceptedFormat(c)
    const request = reader.finish(reader.begin(c), null)
    const page = new PageWriter(answers, format, rootOf(LIST_CONTEXTS.answer))
    try {
      const next = await fill(page, calls, request)
      const { order, ...filters } = request
      const place = order === 'asc' ? { after: next } : { order, before: next }
      const link = next === null ? {} : { link: `<${nextPage(LIST_CONTEXTS.route, filters, place)}>; rel="next"` }
      return page.respond(c, { ...callHeaders(c, format), ...link })
    } catch (error) {
      page.drop()
      throw error
    }
  })
}

/** A list that is made as a whole: its pages are small. */
function addPaged<R extends z.ZodType<Filters>, A extends z.ZodType>(
  app: Hono<Env>,
  { api, callerOf, answers }: ListParts,
  call: Call<R, A>,
  run: (
    calls: FluxApi,
    request: z.output<R>,
  ) => Promise<{ readonly items: readonly object[]; readonly next: string | null }>,
): void {
  const [reader, root] = [requestReader(call), rootOf(call.answer)]
  app.get(call.route, async (c) => {
    const calls = api(callerOf(c, call.role))
    const format = acceptedFormat(c)
    const request = reader.finish(reader.begin(c), null)
    const { items, next } = await run(calls, request)
    const link = next === null ? {} : { link: `<${nextPage(call.route, request, { after: next })}>; rel="next"` }
    return answers.send(c, items, format.pieces(items, root), { headers: { ...callHeaders(c, format), ...link } })
  })
}

/** Fills the page; resolves with the id after which the list continues, null at its end. */
async function fill(page: PageWriter, api: FluxApi, request: CheckedList): Promise<ContextId | null> {
  const { contexts, next } = await api.listPage(request, (context) => page.add(context))
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
