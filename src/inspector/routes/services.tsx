// inspector/routes: the pages of services, and the form that starts one.
import type { Context, Hono } from 'hono'
import { FluxError, notFound } from '../../model/failure.ts'
import { controlsOf, inputOf } from '../forms/controls.ts'
import type { Refusal } from '../forms/fields.tsx'
import type { FormValues } from '../host.ts'
import { ServicePage, type ServiceFacts } from '../pages/service.tsx'
import { ServicesPage } from '../pages/services.tsx'
import { contextHref, fullNameOf } from '../parts/links.ts'
import type { Visitor } from '../visitor.ts'
import { documentOf, onceKeyOf, type Pages } from './pages.ts'
import { UnderWay } from './under-way.ts'

export function addServicePages(app: Hono, pages: Pages): void {
  const underWay = new UnderWay<number>()
  app.get('/', async (c) => {
    const visitor = pages.visitor(c)
    return pages.make('plain', async () =>
      documentOf(c, <ServicesPage visitor={visitor} view={await visitor.api.listServices({})} />),
    )
  })
  app.get('/services/:package/:fluxName', async (c) => {
    const visitor = pages.visitor(c)
    return page(c, pages, { visitor, refusal: null, status: 200 })
  })
  app.post('/services/:package/:fluxName/start', async (c) => {
    const { visitor, form } = await pages.changer(c)
    let started = 0
    const refused = await pages.refusedBy(form, async () => {
      const key = onceKeyOf(c, visitor.caller, form)
      started = await underWay.join(key, () => start(visitor, { name: nameOf(c), form, key }))
    })
    if (refused === null) return c.redirect(contextHref(started), 303)
    return page(c, pages, { visitor, ...refused })
  })
}

interface Shown {
  readonly visitor: Visitor
  readonly refusal: Refusal | null
  readonly status: number
}

const page = (c: Context, pages: Pages, { visitor, refusal, status }: Shown): Promise<Response> =>
  pages.make('large', async () => {
    const facts = await factsOf(c, pages, visitor)
    return documentOf(c, <ServicePage {...facts} visitor={visitor} refusal={refusal} />, status)
  })

const nameOf = (c: Context) => ({ package: c.req.param('package') ?? '', fluxName: c.req.param('fluxName') ?? '' })

async function factsOf(c: Context, pages: Pages, { api }: Visitor): Promise<ServiceFacts> {
  const name = nameOf(c)
  const [{ services }, schema, definition, counted] = await Promise.all([
    api.listServices({}),
    api.getServiceSchema(name),
    api.getDefinition(name),
    api.countContexts({ fluxName: fullNameOf(name), by: 'currentState' }),
  ])
  const service = services.find(({ package: owner, fluxName }) => owner === name.package && fluxName === name.fluxName)
  if (!service) throw notFound(`package '${name.package}' has no service '${name.fluxName}'`)
  const drawing = await pages.drawings.of(service.definition, definition)
  return { service, schema, definition, drawing, counts: new Map(Object.entries(counted.counts)) }
}

interface Wanted {
  readonly name: { readonly package: string; readonly fluxName: string }
  readonly form: FormValues
  /** Under which it is started once. */
  readonly key: string | undefined
}

/** The id of the context. @throws FluxError also for fields that are no JSON */
async function start({ api }: Visitor, { name, form, key }: Wanted): Promise<number> {
  const schema = await api.getServiceSchema(name)
  const { input, errors } = inputOf(controlsOf(schema.input), form)
  if (errors.length > 0) throw new FluxError({ kind: 'invalid', detail: 'the input can not be read', errors })
  const tags = (form.get('tags')?.[0] ?? '')
    .split(',')
    .map((tag) => tag.trim())
    .filter((tag) => tag !== '')
  const contextKey = form.get('key')?.[0] || undefined
  return (await api.execute({ ...name, input, tags, key: contextKey, untyped: true, idempotencyKey: key })).contextId
}
