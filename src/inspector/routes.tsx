// inspector: the routes of all pages: who looks at them, how they are made, and how their forms are carried out.
//
// - Each page begins in a turn of the event loop of its own, and diagrams are laid out in a thread, so many pages at
//   once delay others by about one page.
// - A form is carried out once, however often it is sent, and leads to another page. One that is refused is shown
//   again, with what was typed and what was wrong with it.
import { hash } from 'node:crypto'
import type { Context, Hono } from 'hono'
import type { Child } from 'hono/jsx'
import { ANONYMOUS, denial, type Caller, type Role } from '../model/caller.ts'
import { CountBound } from '../model/count-bound.ts'
import { FluxError, type Failure, type FieldError } from '../model/failure.ts'
import { breathe } from '../model/texts.ts'
import { drawingMaker } from './diagram/drawing.ts'
import type { FormValues, InspectorOptions } from './host.ts'
import { checkFormToken, formTokenOf, type Sessions } from './sessions.ts'
import { ViewerContext, type Viewer } from './viewer.ts'

/** A form that was sent. */
export interface SentForm {
  readonly c: Context
  readonly viewer: Viewer
  readonly values: FormValues
  /** The first value of a field; empty: there is none. */
  readonly text: (name: string) => string
  /** Under which the call is made once; undefined: the form has none. */
  readonly idempotencyKey: string | undefined
}

/** Why a form was refused, and what was typed. */
export interface Refusal {
  readonly values: FormValues
  readonly detail: string
  readonly errors: readonly FieldError[]
}

/** An address to go to, or what makes a page. */
type Outcome = string | (() => Promise<Child>)

interface FormRoute {
  readonly role?: Role
  /** Carries it out. */
  readonly run: (form: SentForm) => Promise<Outcome>
  /** The page that shows it again; left out: a refusal is a page of its own. */
  readonly again?: (form: SentForm, refusal: Refusal) => Promise<Child>
}

/** Pages that are made at once. */
const MAX_PAGES = 64
/** Of those that may hold a whole context or definition, or read thousands of contexts. */
const MAX_LARGE_PAGES = 8
const LARGE = /:|^\/(?:wake-ups|health)$/

/** Forms that lead where they led when they are sent again. */
const MAX_OUTCOMES = 1000

/** Refusals that the form shows again, with what was typed. */
const TOLD = new Set<Failure['kind']>([
  'invalid',
  'malformed',
  'conflict',
  'busy',
  'overloaded',
  'forbidden',
  'versionMismatch',
])

export type PageRoutes = ReturnType<typeof pageRoutes>

export function pageRoutes(app: Hono, options: InspectorOptions, sessions: Sessions) {
  const { callerOf, viewerOf } = viewers(options, sessions)
  const [render, renderLarge] = [renderer(MAX_PAGES), renderer(MAX_LARGE_PAGES)]
  const once = joining()

  /** The fields of a form of this browser's. @throws FluxError when it is another's, or can't be read */
  async function form(c: Context): Promise<FormValues> {
    options.checkCall(c)
    const values = await options.readForm(c)
    checkFormToken(c, values.get('$form')?.[0])
    return values
  }

  return {
    options,
    drawingOf: drawingMaker(),
    callerOf,
    form,
    /** A viewer without token and session, who sees no data. */
    anonymousViewer: (c: Context): Viewer => ({ ...viewerOf(c, ANONYMOUS), may: () => false }),

    /** A page; `make` may also answer otherwise. */
    get(path: string, make: (viewer: Viewer, c: Context) => Promise<Child | Response>): void {
      app.get(path, async (c) => {
        const viewer = viewerOf(c, callerOf(c))
        return (LARGE.test(path) ? renderLarge : render)(async () => {
          const page = await make(viewer, c)
          return page instanceof Response ? page : documentOf(c, viewer, page)
        })
      })
    },

    /** A form that changes something. */
    post(path: string, { role = 'invoke', run, again }: FormRoute): void {
      app.post(path, async (c) => {
        const viewer = viewerOf(c, callerOf(c))
        const values = await form(c)
        checkRole(viewer, role)
        const idempotencyKey = keyOf(c, viewer.caller, values)
        const sent = { c, viewer, values, text: (name: string) => values.get(name)?.[0] ?? '', idempotencyKey }
        try {
          const outcome = await once(idempotencyKey, () => run(sent))
          if (typeof outcome === 'string') return c.redirect(outcome, 303)
          return await renderLarge(async () => documentOf(c, viewer, await outcome()))
        } catch (error) {
          if (!again || !(error instanceof FluxError) || !TOLD.has(error.failure.kind)) throw error
          const { failure } = error
          const refusal = { values, detail: failure.detail, errors: ('errors' in failure && failure.errors) || [] }
          return renderLarge(async () => documentOf(c, viewer, await again(sent, refusal), options.statusOf(failure)))
        }
      })
    },
  }
}

function viewers({ api, requireAuth, takeQuota, now, version }: InspectorOptions, sessions: Sessions) {
  return {
    /** @throws FluxError when they may not see the pages; `rateLimited` */
    callerOf(c: Context): Caller {
      const caller = sessions.callerOf(c)
      takeQuota(c, caller)
      const failure = requireAuth ? denial(caller, 'read') : null
      if (failure) throw new FluxError(failure)
      return caller
    },
    viewerOf: (c: Context, caller: Caller): Viewer => ({
      caller,
      api: api(caller),
      formToken: formTokenOf(c),
      hasSession: sessions.hasSession(c),
      may: (role) => role === 'read' || (caller.roles.length === 0 && !requireAuth) || denial(caller, role) === null,
      now: now(),
      version,
      origin: originOf(c),
    }),
  }
}

/**
 * Makes a page, unless so many are being made. Each begins in a turn of the event loop of its own, so that others are
 * served in between: data that is at hand makes a page without a pause.
 * @throws FluxError `overloaded`; what `make` throws
 */
function renderer(limit: number) {
  const bound = new CountBound({ limit, what: 'pages to make' })
  return async (make: () => Promise<Response>) => {
    bound.take()
    try {
      await breathe(Infinity)
      return await make()
    } finally {
      bound.release()
    }
  }
}

/** Joins the form of that key that was sent before. `key` undefined: it stands alone. */
function joining() {
  const outcomes = new Map<string, Promise<Outcome>>()
  return (key: string | undefined, run: () => Promise<Outcome>) => {
    if (key === undefined) return run()
    const outcome = outcomes.get(key) ?? run()
    outcomes.set(key, outcome)
    outcome.catch(() => outcomes.delete(key))
    const [oldest] = outcomes.keys()
    if (outcomes.size > MAX_OUTCOMES && oldest !== undefined) outcomes.delete(oldest)
    return outcome
  }
}

/** @throws FluxError `forbidden` where forms that need the role are not shown */
export function checkRole({ may, caller }: Viewer, role: Role): void {
  const failure = may(role) ? null : denial(caller, role)
  if (failure) throw new FluxError(failure)
}

/** As the browser was told it. A host that would mean something to a shell has no place in a command. */
function originOf(c: Context) {
  const { origin, protocol, host } = new URL(c.req.url)
  return /^[\w.:[\]-]+$/.test(host) ? origin : `${protocol}//localhost`
}

function keyOf(c: Context, { name }: Caller, form: FormValues) {
  if (!form.has('$once') || form.has('$rehearse')) return undefined
  const values = [...form].filter(([field]) => field !== '$form')
  return hash('sha256', JSON.stringify([name ?? null, c.req.path, values]), 'base64url')
}

/** A page, with the headers that were set. */
export function documentOf(c: Context, viewer: Viewer, page: Child, status = 200): Response {
  const html = <ViewerContext.Provider value={viewer}>{page}</ViewerContext.Provider>
  return c.body(
    `<!doctype html>${String(html)}`,
    new Response(null, { status, headers: { 'content-type': 'text/html; charset=utf-8' } }),
  )
}
