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
import type { Codec } from '../formats/codecs.ts'
import { readScopeOf, type Env } from '../request/incoming.ts'
import { acceptedFormat, callHeaders } from '../answers/answer-format.ts'
import { requestReader } from '../request/reader.ts'

export interface ListParts {
  /** The calls, with the rights of that caller. */
  readonly api: (caller: Caller, traceparent: undefined, reads: ReadScope) => Calls
  /** The caller of a request. @throws FluxError when it may not make the call */
  readonly callerOf: (c: Context<Env>, role: Role) => Caller
  readonly answers: Answers
}

export function addLists(app: Hono<Env>, parts: ListParts): void {
  addList(app, parts, CALLS.listContexts, respondWithContexts)
  addList(app, parts, CALLS.listPending, async (c, list) => {
    const { events, next } = (await list.calls.call('listPendingPage', list.request)).answer
    return respondWith(c, list, events, next)
  })
  addList(app, parts, CALLS.listDeliveries, async (c, list) => {
    const { deliveries, next } = (await list.calls.call('listDeliveriesPage', list.request)).answer
    return respondWith(c, list, deliveries, next)
  })
}

/** A request for a page of a list. */
interface Listing<R extends z.ZodType = z.ZodType<Filters>> {
  readonly call: Call<R>
  readonly calls: Calls
  readonly request: z.output<R>
  readonly format: Codec
  readonly answers: Answers
}

function addList<R extends z.ZodType<Filters>>(
  app: Hono<Env>,
  { api, callerOf, answers }: ListParts,
  call: Call<R>,
  respond: (c: Context<Env>, list: Listing<R>) => Promise<Response>,
): void {
  const reader = requestReader(call)
  app.get(call.route, async (c) => {
    const reads = readScopeOf(c)
    const calls = api(callerOf(c, call.role), undefined, reads)
    const format = acceptedFormat(c)
    const request = reader.finish(reader.begin(c), null)
    try {
      return await respond(c, { call, calls, request, format, answers })
    } finally {
      reads.end()
    }
  })
}

/** The list is written while it is read, and ends where it becomes large. */
async function respondWithContexts(
  c: Context<Env>,
  list: Listing<typeof CALLS.listContexts.request>,
): Promise<Response> {
  const { call, calls, request, format, answers } = list
  const page = new PageWriter(answers, format, rootOf(call.answer))
  try {
    const next = await fill(page, calls, request)
    return page.respond(c, headersOf(c, list, next, request.order === 'desc' ? 'before' : 'after'))
  } catch (error) {
    page.drop()
    throw error
  }
}

/** A list that is made as a whole: its pages are small. */
function respondWith(c: Context<Env>, list: Listing, items: readonly object[], next: string | null): Response {
  const pieces = list.format.pieces(items, rootOf(list.call.answer))
  return list.answers.send(c, items, pieces, { headers: headersOf(c, list, next, 'after') })
}

const headersOf = (
  c: Context<Env>,
  { call, request, format }: Listing,
  next: string | number | null,
  place: 'before' | 'after',
): { [name: string]: string } => ({
  ...callHeaders(c, format),
  ...(next !== null && { link: `<${nextPage(call.route, request, { [place]: next })}>; rel="next"` }),
})

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
