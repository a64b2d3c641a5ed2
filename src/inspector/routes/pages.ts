// inspector/routes: what the routes of all pages share: who looks at them, their forms, and how they answer.
//
// - Each page begins in a turn of the event loop of its own (`routes/pages.ts`), and a diagram is made in turns, so
//   many pages at once delay others by about one page.
import { hash } from 'node:crypto'
import type { Context } from 'hono'
import { CountBound } from '../../model/count-bound.ts'
import { ANONYMOUS, denial, type Caller, type Role } from '../../model/caller.ts'
import { FluxError, type Failure } from '../../model/failure.ts'
import { breathe } from '../../model/texts.ts'
import type { Log } from '../../ports/log.ts'
import type { Drawings } from '../diagram/drawing.ts'
import type { Refusal } from '../forms/fields.tsx'
import type { FormValues, InspectorOptions, PageHost } from '../host.ts'
import type { Cut } from '../parts/json-text.ts'
import { checkFormToken, formTokenOf, type Sessions } from '../sessions.ts'
import { isShown, mayUse, type Visitor } from '../visitor.ts'

interface PagesParts {
  readonly options: InspectorOptions
  readonly host: PageHost
  readonly sessions: Sessions
  readonly drawings: Drawings
}

/** A form whose request was refused, and the status of the answer that shows it again. */
export interface Refused {
  readonly refusal: Refusal
  readonly status: number
}

/**
 * Pages at once that are gathered and made: plain ones, those that hold a whole context or definition, and those that read
 * thousands of contexts.
 */
const MAX_AT_ONCE = { plain: 64, large: 8, chart: 4 }

export class Pages {
  readonly #parts: PagesParts
  readonly #bounds = {
    plain: new CountBound({ limit: MAX_AT_ONCE.plain, what: 'pages to make' }),
    large: new CountBound({ limit: MAX_AT_ONCE.large, what: 'pages of contexts and services to make' }),
    chart: new CountBound({ limit: MAX_AT_ONCE.chart, what: 'charts to make' }),
  }

  constructor(parts: PagesParts) {
    this.#parts = parts
  }

  get log(): Log {
    return this.#parts.options.log
  }

  get drawings(): Drawings {
    return this.#parts.drawings
  }

  statusOf(failure: Failure): number {
    return this.#parts.host.statusOf(failure)
  }

  /** The beginning of a value in XML. `max`: characters. */
  xmlText(value: object, root: string, max: number): Cut {
    const text = this.#parts.host.xmlOf(value, root)
    return { text: text.slice(0, max), isCut: text.length > max }
  }

  /** @throws FluxError when they may not see the pages; `rateLimited` */
  caller(c: Context): Caller {
    const { options, sessions, host } = this.#parts
    const caller = sessions.callerOf(c)
    host.takeQuota(c, caller)
    const failure = options.requireAuth ? denial(caller, 'read') : null
    if (failure) throw new FluxError(failure)
    return caller
  }

  /** @throws FluxError when they may not see the pages */
  visitor(c: Context): Visitor {
    return this.#visitorOf(c, this.caller(c))
  }

  /** Somebody of whom nothing is known, who sees no data. */
  stranger(c: Context): Visitor {
    return { ...this.#visitorOf(c, ANONYMOUS), mayInvoke: false, mayAdminister: false }
  }

  /** The fields of a form of this browser's. @throws FluxError when it is another's, or can't be read */
  async form(c: Context): Promise<FormValues> {
    const { host } = this.#parts
    host.checkCall(c)
    const form = await host.readForm(c)
    checkFormToken(c, form.get('$form')?.[0])
    return form
  }

  /** Who changes something, and the fields of their form. @throws FluxError as `form` and `checkRole` do */
  async changer(c: Context, role: Role = 'invoke'): Promise<{ readonly visitor: Visitor; readonly form: FormValues }> {
    const visitor = this.visitor(c)
    const form = await this.form(c)
    this.checkRole(visitor, role)
    return { visitor, form }
  }

  /** @throws FluxError `forbidden` where forms that need the role are not shown */
  checkRole(visitor: Visitor, role: Role): void {
    const failure = isShown(visitor, role) ? null : denial(visitor.caller, role)
    if (failure) throw new FluxError(failure)
  }

  /**
   * Makes a page, unless so many are being made. Each begins in a turn of the event loop of its own, so that others are
   * served in between: data that is at hand makes a page without a pause.
   * @throws FluxError `overloaded`; what `make` throws
   */
  async make(kind: keyof typeof MAX_AT_ONCE, make: () => Promise<Response>): Promise<Response> {
    const bound = this.#bounds[kind]
    bound.take()
    try {
      await breathe(Infinity)
      return await make()
    } finally {
      bound.release()
    }
  }

  /** null: it went well. @throws what is not told in the form */
  async refusedBy(values: FormValues, run: () => Promise<unknown>): Promise<Refused | null> {
    try {
      await run()
      return null
    } catch (error) {
      if (!(error instanceof FluxError) || !TOLD.has(error.failure.kind)) throw error
      const { failure } = error
      const errors = 'errors' in failure ? (failure.errors ?? []) : []
      return { refusal: { values, detail: failure.detail, errors }, status: this.statusOf(failure) }
    }
  }

  #visitorOf(c: Context, caller: Caller): Visitor {
    const { options, sessions } = this.#parts
    return {
      caller,
      api: options.api(caller),
      formToken: formTokenOf(c),
      hasSession: sessions.hasSession(c),
      mayInvoke: mayUse(caller, 'invoke', options.requireAuth),
      mayAdminister: mayUse(caller, 'admin', options.requireAuth),
      now: options.now(),
      version: options.version,
      origin: originOf(c),
    }
  }
}

/** As the browser was told it. A host that would mean something to a shell has no place in a command. */
function originOf(c: Context): string {
  const { origin, protocol, host } = new URL(c.req.url)
  return /^[\w.:[\]-]+$/.test(host) ? origin : `${protocol}//localhost`
}

/** The key under which a form is carried out once, however often it is sent; undefined: it has none. */
export function onceKeyOf(c: Context, caller: Caller, form: FormValues): string | undefined {
  if (!form.has('$once')) return undefined
  const values = [...form].filter(([name]) => name !== '$form')
  const text = JSON.stringify([caller.name ?? null, c.req.path, values])
  return hash('sha256', text, 'base64url')
}

/** Refusals that the form shows again, with what was typed. */
const TOLD: ReadonlySet<Failure['kind']> = new Set([
  'invalid',
  'malformed',
  'conflict',
  'busy',
  'overloaded',
  'forbidden',
])

/** A page, with the headers that were set. */
export const documentOf = (c: Context, page: { toString(): string }, status = 200): Response =>
  c.body(
    `<!doctype html>${page.toString()}`,
    new Response(null, { status, headers: { 'content-type': 'text/html; charset=utf-8' } }),
  )
