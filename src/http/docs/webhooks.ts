// http: describes the webhooks of the loaded services as paths of the OpenAPI document.
import type { EndpointDescription, InputDescription } from '../../model/webhook.ts'
import type { JsonObject } from '../../model/json/value.ts'

/** Problems that any webhook may have. */
export const WEBHOOK_PROBLEMS = [400, 413, 415, 500, 503, 504]

/** The methods that a path of the document may have. */
const METHODS: ReadonlySet<string> = new Set(['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'])
const WITHOUT_BODY: ReadonlySet<string> = new Set(['get', 'head', 'options', 'trace'])

/**
 * `problems` returns the responses of these statuses. Of two paths that no request can distinguish, the first counts.
 */
export function webhookPaths(
  endpoints: readonly EndpointDescription[],
  problems: (statuses: readonly number[]) => JsonObject,
): JsonObject {
  const items = new Map<
    string,
    { readonly path: string; readonly labels: readonly string[]; readonly operations: JsonObject }
  >()
  const ids = new Map<string, number>()
  for (const endpoint of endpoints) {
    if (/[?#]/.test(endpoint.urlPath)) continue
    // Paths that differ only in the names of their parameters are one path.
    const shape = endpoint.segments.map(({ literal }) => literal ?? '{}').join('/')
    const item = items.get(shape) ?? { ...templateOf(endpoint), operations: {} }
    items.set(shape, item)
    for (const method of endpoint.httpMethods.map((each) => each.toLowerCase())) {
      if (METHODS.has(method) && !Object.hasOwn(item.operations, method))
        item.operations[method] = operationOf(endpoint, { method, labels: item.labels, ids, problems })
    }
  }
  return Object.fromEntries(
    [...items.values()].flatMap(({ path, operations }) =>
      Object.keys(operations).length > 0 ? [[path, operations] as const] : [],
    ),
  )
}

/** The path as a template. Each parameter has a label that is unique in the path and valid in a template. */
function templateOf({ segments }: EndpointDescription): { readonly path: string; readonly labels: readonly string[] } {
  const labels: string[] = []
  const parts = segments.map(({ literal, parameter }) => {
    if (parameter === null) return encodeURIComponent(literal)
    const label = /^[\w.-]+$/.test(parameter) && !labels.includes(parameter) ? parameter : `segment${labels.length + 1}`
    labels.push(label)
    return `{${label}}`
  })
  return { path: `/api/${parts.join('/')}`, labels }
}

interface DecisionEnv {
  readonly method: string
  readonly labels: readonly string[]
  /** How often each operation id was used. */
  readonly ids: Map<string, number>
  readonly problems: (statuses: readonly number[]) => JsonObject
}

function operationOf(endpoint: EndpointDescription, { method, labels, ids, problems }: DecisionEnv): JsonObject {
  const { package: owner, fluxName, name, comment, inputs, segments, answers } = endpoint
  const inPath = segments.flatMap(({ parameter }) => parameter ?? [])
  const path = inPath.map((input, index) =>
    parameterOf(
      'path',
      labels[index] ?? input,
      inputs.find((each) => each.name === input) ?? { name: input, type: 'string', array: false, comment: null },
    ),
  )
  const query = inputs
    .filter((input) => !inPath.includes(input.name) && schemaOf(input) !== null)
    .map((input) => parameterOf('query', input.name, input))
  const id = `${owner}.${fluxName}.${method}`.replaceAll(/[^\w.-]/g, '_')
  const count = (ids.get(id) ?? 0) + 1
  ids.set(id, count)
  return {
    operationId: count === 1 ? id : `${id}.${count}`,
    tags: ['webhooks'],
    summary: name ?? `${answers === 'sent' ? 'Send an event by' : 'Start'} ${fluxName} of ${owner}`,
    ...(comment === null ? {} : { description: comment }),
    security: [],
    parameters: [...path, ...query],
    ...(WITHOUT_BODY.has(method)
      ? {}
      : {
          requestBody: {
            description: 'Anything: the workflow sees it as $request.body',
            content: { 'application/json': { schema: {} }, '*/*': { schema: {} } },
          },
        }),
    responses: { ...answersOf(endpoint), ...problems(problemsOf(endpoint)) },
  }
}

/** An input may also be sent as a header of its name, so none is required here. */
function parameterOf(place: 'path' | 'query', label: string, input: InputDescription): JsonObject {
  const where = `${label === input.name ? 'The input' : `The input ${input.name}`}${place === 'path' ? '' : ', here or as a header of its name'}`
  return {
    in: place,
    name: label,
    required: place === 'path',
    schema: schemaOf(input) ?? {},
    description: input.comment === null ? where : `${where}: ${input.comment}`,
  }
}

/** null: values of this type are not sent in a query. */
function schemaOf({ type, array }: InputDescription): JsonObject | null {
  const single = singleOf(type)
  return single && array ? { type: 'array', items: single } : single
}

function singleOf(type: string): JsonObject | null {
  switch (type) {
    case 'boolean':
      return { type: 'boolean' }
    case 'byte':
    case 'short':
    case 'integer':
    case 'long':
    case 'bigInteger':
      return { type: 'integer' }
    case 'float':
    case 'double':
    case 'bigDecimal':
      return { type: 'number' }
    case 'object':
    case 'model':
    case 'byte[]':
      return null
    case 'any':
      return {}
    default:
      return { type: 'string' }
  }
}

/** Statuses of the problems that the endpoint may answer with. */
const problemsOf = ({ scheme, answers }: EndpointDescription): number[] =>
  [
    ...WEBHOOK_PROBLEMS.filter((status) => answers === 'workflow' || status !== 504),
    ...(scheme === null ? [] : [401]),
    // No context has the id or key; the context can't take the event, or has too many.
    ...(answers === 'sent' ? [404, 409, 429] : []),
  ].sort((one, other) => one - other)

function answersOf({ answers, filters }: EndpointDescription): JsonObject {
  const filtered: JsonObject = filters ? { 204: { description: 'It is of no interest here: nothing was stored' } } : {}
  switch (answers) {
    case 'sent':
      return { 200: SENT, ...filtered }
    case 'accepted':
      return { 202: { ...STORED, description: 'The context is stored, and goes on' }, ...filtered }
    case 'workflow': {
      const nothing = filters ? ', or it is of no interest here' : ''
      return {
        200: ANSWERED,
        202: { ...STORED, description: 'The workflow waits, and has answered nothing yet' },
        204: { description: `The workflow ended, and answers nothing${nothing}` },
      }
    }
  }
}

const jsonOf = (properties: JsonObject): JsonObject => ({
  'application/json': { schema: { type: 'object', properties, required: Object.keys(properties) } },
})

const ANSWERED: JsonObject = {
  description: 'What the workflow answers; it may choose another status',
  content: { '*/*': { schema: {} } },
}

const STORED: JsonObject = {
  headers: { Location: { description: 'Where the context is shown', schema: { type: 'string' } } },
  content: jsonOf({ contextId: { type: 'integer' }, status: { type: 'string' } }),
}

const SENT: JsonObject = {
  description: 'The event was sent; `contextIds` are those that it moved or started, or that keep it',
  content: jsonOf({ eventId: { type: 'string' }, contextIds: { type: 'array', items: { type: 'integer' } } }),
}
