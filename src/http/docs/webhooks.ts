// http: describes the webhooks of the loaded services as paths of the OpenAPI document.
import type { EndpointDescription, InputDescription } from '../../model/webhook.ts'
import { problemsOf } from './operation.ts'

const METHODS_WITHOUT_BODY = new Set(['get', 'head', 'options', 'trace'])
/** The methods that a path of the document may have. */
const METHODS = new Set([...METHODS_WITHOUT_BODY, 'put', 'post', 'delete', 'patch'])

/** Of two paths that no request can distinguish, the first counts. */
export function webhookPaths(endpoints: readonly EndpointDescription[]) {
  const paths: { [path: string]: { [method: string]: object } } = {}
  /** By what they match: paths that differ only in the names of their parameters are one path. */
  const templates = new Map<string, ReturnType<typeof templateOf>>()
  /** How often each operation id was used. */
  const ids = new Map<string, number>()
  for (const endpoint of endpoints) {
    const { package: owner, fluxName, urlPath, segments, httpMethods } = endpoint
    if (/[?#]/.test(urlPath)) continue
    const shape = segments.map(({ literal }) => literal ?? '{}').join('/')
    const template = templates.get(shape) ?? templateOf(endpoint)
    templates.set(shape, template)
    for (const method of httpMethods.map((each) => each.toLowerCase())) {
      const operations = paths[template.path] ?? {}
      if (!METHODS.has(method) || method in operations) continue
      const id = `${owner}.${fluxName}.${method}`.replaceAll(/[^\w.-]/g, '_')
      const count = (ids.get(id) ?? 0) + 1
      ids.set(id, count)
      const operationId = count === 1 ? id : `${id}.${count}`
      paths[template.path] = {
        ...operations,
        [method]: { operationId, ...operationOf(endpoint, method, template.labels) },
      }
    }
  }
  return paths
}

/** The path as a template. Each parameter has a label that is unique in the path and valid in it. */
function templateOf({ segments }: EndpointDescription) {
  const labels: string[] = []
  const parts = segments.map(({ literal, parameter }) => {
    if (parameter === null) return encodeURIComponent(literal)
    const label = /^[\w.-]+$/.test(parameter) && !labels.includes(parameter) ? parameter : `segment${labels.length + 1}`
    labels.push(label)
    return `{${label}}`
  })
  return { path: `/api/${parts.join('/')}`, labels }
}

function operationOf(endpoint: EndpointDescription, method: string, labels: readonly string[]) {
  const { package: owner, fluxName, name, comment, inputs, segments, answers, filters, scheme } = endpoint
  const names = segments.flatMap(({ parameter }) => parameter ?? [])
  const inPath = names.map((each, index) =>
    parameterOf(
      'path',
      labels[index] ?? each,
      inputs.find((input) => input.name === each) ?? { name: each, type: 'string', array: false, comment: null },
    ),
  )
  const inQuery = inputs
    .filter((input) => !names.includes(input.name) && schemaOf(input) !== null)
    .map((input) => parameterOf('query', input.name, input))
  return {
    tags: ['webhooks'],
    summary: name ?? `${answers === 'sent' ? 'Send an event by' : 'Start'} ${fluxName} of ${owner}`,
    ...(comment !== null && { description: comment }),
    security: [],
    parameters: [...inPath, ...inQuery],
    ...(!METHODS_WITHOUT_BODY.has(method) && { requestBody: ANYTHING }),
    responses: {
      ...(filters && { 204: { description: 'It is of no interest here: nothing was stored' } }),
      ...ANSWERS[answers],
      ...problemsOf([400, 413, 415, 500, 503, ...PROBLEMS[answers], ...(scheme === null ? [] : [401])]),
    },
  }
}

const ANYTHING = {
  description: 'Anything: the workflow sees it as $request.body',
  content: { 'application/json': { schema: {} }, '*/*': { schema: {} } },
}

/** An input may also be sent as a header of its name, so none is required here. */
function parameterOf(place: 'path' | 'query', label: string, input: InputDescription) {
  const { name, comment } = input
  const which = label === name ? '' : ` ${name}`
  const where = place === 'path' ? '' : ', here or as a header of its name'
  return {
    in: place,
    name: label,
    required: place === 'path',
    schema: schemaOf(input) ?? {},
    description: `The input${which}${where}${comment === null ? '' : `: ${comment}`}`,
  }
}

const [INTEGER, NUMBER] = [{ type: 'integer' }, { type: 'number' }]
/** The values of types other than texts; null: they are not sent in a query. */
const SCHEMAS: { readonly [type: string]: object | null } = {
  any: {},
  boolean: { type: 'boolean' },
  byte: INTEGER,
  short: INTEGER,
  integer: INTEGER,
  long: INTEGER,
  bigInteger: INTEGER,
  float: NUMBER,
  double: NUMBER,
  bigDecimal: NUMBER,
  object: null,
  model: null,
  'byte[]': null,
}

/** null: values of this type are not sent in a query. */
function schemaOf({ type, array }: InputDescription) {
  const { [type]: single = { type: 'string' } } = SCHEMAS
  return single && array ? { type: 'array', items: single } : single
}

const jsonOf = (properties: object) => ({
  'application/json': { schema: { type: 'object', properties, required: Object.keys(properties) } },
})

const STORED = {
  headers: { Location: { description: 'Where the context is shown', schema: { type: 'string' } } },
  content: jsonOf({ contextId: INTEGER, status: { type: 'string' } }),
}

/** By when the endpoint answers. */
const ANSWERS = {
  sent: {
    200: {
      description: 'The event was sent; `contextIds` are those that it moved or started, or that keep it',
      content: jsonOf({ eventId: { type: 'string' }, contextIds: { type: 'array', items: INTEGER } }),
    },
  },
  accepted: { 202: { ...STORED, description: 'The context is stored, and goes on' } },
  workflow: {
    200: { description: 'What the workflow answers; it may choose another status', content: { '*/*': { schema: {} } } },
    202: { ...STORED, description: 'The workflow waits, and has answered nothing yet' },
    204: { description: 'The workflow ended, and answers nothing; or the request is of no interest here' },
  },
}

/** Statuses of further problems. Of events: no context has the id or key; it can't take the event, or has too many. */
const PROBLEMS = { sent: [404, 409, 429], accepted: [], workflow: [504] }
