// http: describes a call as an operation of the OpenAPI document, from the schemas that check its requests.
import { z } from 'zod'
import { fieldSchema, referenceTo, rootOf, type Call, type FieldShape } from '../../api/call.ts'
import { rehearsalAnswer } from '../../api/rehearsal.ts'
import { problemSchema } from '../../api/server.ts'
import { isObject, type JsonObject } from '../../model/json/value.ts'
import { FORMATS } from '../formats/codecs.ts'
import { exampleOf, meaningsOf } from '../formats/problem.ts'

/** Problems that any call under /flux-api may have. */
export const USUAL_PROBLEMS = [400, 401, 403, 406, 408, 417, 421, 429, 431, 500, 503]

export const pathOf = ({ route }: Pick<Call, 'route'>): string => route.replaceAll(/:(\w+)/g, '{$1}')

/** @param id the operationId. @param more types of bodies that it takes besides the usual ones */
export function operationOf(id: string, call: Call, more: object = {}) {
  const { summary, path, query, body, bodyExample, answer, answerExample, problems } = call
  const { prefersWait, takesKey, takesVersion, accepted, one = 'dryRun' in query ? rehearsalAnswer : undefined } = call
  const schema = body && withListHints({ ...objectOf(body), xml: { name: 'request' } })
  return {
    operationId: id,
    tags: ['flux-api'],
    summary,
    parameters: [
      ...parametersOf('path', path),
      ...parametersOf('query', query),
      ...(takesKey ? [KEY_PARAMETER] : []),
      ...(takesVersion ? [VERSION_PARAMETER] : []),
      ...(prefersWait ? [accepted ? PREFER_ASYNC : PREFER] : []),
    ],
    ...(schema && {
      requestBody: { required: !call.mayLackBody, content: { ...contentOf(schema, bodyExample, 'request'), ...more } },
    }),
    responses: {
      200: {
        description: 'Done',
        headers: headersToldOf({
          ...(prefersWait && { 'Preference-Applied': 'wait, where the answer was held until the context rests' }),
          ...(takesKey && REPLAYED),
          ...(id === 'getContext' && { ETag: 'The version of the context, for `If-Match`' }),
          ...('page' in query && { Link: 'URL of the next page, with rel="next"; absent on the last page' }),
          ...RATE_HEADERS,
        }),
        content: contentOf(
          one ? { anyOf: [answer, one].map(referenceTo) } : referenceTo(answer),
          answerExample,
          rootOf(answer),
        ),
      },
      ...(accepted && {
        202: {
          description: accepted.description,
          headers: headersToldOf({ ...accepted.headers, ...(takesKey && REPLAYED), ...RATE_HEADERS }),
          content: contentOf(referenceTo(accepted.answer), accepted.example, rootOf(accepted.answer)),
        },
      }),
      ...problemsOf([...USUAL_PROBLEMS, ...problems]),
    },
  }
}

export const schemaOperation = () => ({
  operationId: 'getSchema',
  tags: ['flux-api'],
  summary: 'The XML Schema of the answers',
  responses: {
    200: { description: 'Done', content: { 'application/xml': { schema: { type: 'string' } } } },
    ...problemsOf([400, 401, 403, 408, 421, 429, 431]),
  },
})

/** RFC 7240. */
const PREFER = {
  in: 'header',
  name: 'Prefer',
  schema: { type: 'string', examples: ['wait=10'] },
  required: false,
  description:
    '`wait=N`: the answer is held until the one context that was moved or started, or keeps the event, rests, at most N seconds, and has it as `context`',
}

const PREFER_ASYNC = {
  ...PREFER,
  schema: { type: 'string', examples: ['wait=10', 'respond-async', 'respond-async, wait=10'] },
  description:
    `${PREFER.description}. \`respond-async\`: an event for all is answered with 202 as soon as it is stored; with ` +
    '`wait=N`, with 200 if it was sent to all within N seconds',
}

const REPLAYED = {
  'Idempotency-Replayed': 'true, where the answer is that to an earlier request under this key',
}

/** On every answer to a token with a rate. */
export const RATE_HEADERS = {
  RateLimit: 'Of a token with a rate: the calls that are left, and in how many seconds there is one more',
  'RateLimit-Policy': 'Of a token with a rate: so many calls in so many seconds',
}

export const parametersOf = (place: 'path' | 'query', shape: FieldShape) =>
  Object.entries(shape).map(([name, type]) => {
    const { description, ...schema } = fieldSchema(type)
    const required = place === 'path' || !z.safeParse(type, undefined).success
    return { in: place, name, schema, required, description }
  })

/** The schema of the fields together, as clients send them. */
export const objectOf = (shape: FieldShape): JsonObject => fieldSchema(z.strictObject(shape))

/** The schema, in which each list says how XML names its elements (XML Object of OpenAPI), for generators of clients. */
export const withListHints = (schema: object, item = 'item'): JsonObject =>
  JSON.parse(JSON.stringify(schema), (_, part: unknown) => {
    if (!isObject(part) || part['type'] !== 'array') return part
    const items = Object.assign({}, part['items'], { xml: { name: item } })
    return { ...part, items, xml: Object.assign({}, part['xml'], { wrapped: true }) }
  })

/** The content in JSON and XML. The example in XML is its text. */
const contentOf = (schema: object, example: unknown, root: string) =>
  Object.fromEntries(
    FORMATS.map((format) => [
      format.type,
      { schema, example: format.untyped ? format.encode(example, root) : example },
    ]),
  )

const KEY_PARAMETER = {
  in: 'header',
  name: 'Idempotency-Key',
  schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[!-~]+$' },
  required: false,
  description: 'The request is carried out once under this key, however often it is sent',
}

const VERSION_PARAMETER = {
  in: 'header',
  name: 'If-Match',
  schema: { type: 'string', examples: ['"3"'] },
  required: false,
  description: 'The `ETag` of the context: 412 if it has another version when its turn comes, and nothing changes',
}

/** References to responses, which the document describes once for all calls. */
export const problemsOf = (statuses: readonly number[]) =>
  Object.fromEntries(statuses.map((status) => [status, { $ref: `#/components/responses/Problem${status}` }]))

export const headersToldOf = (headers: { readonly [name: string]: string }) =>
  Object.fromEntries(
    Object.entries(headers).map(([name, description]) => [
      name,
      { description, schema: { type: name === 'Retry-After' ? 'integer' : 'string' } },
    ]),
  )

const RETRY_AFTER = { 'Retry-After': 'Seconds after which to try again' }
const PROBLEM_HEADERS: { readonly [status: number]: { readonly [name: string]: string } } = {
  401: { 'WWW-Authenticate': 'Bearer, and what is wrong with the token (RFC 6750)' },
  403: { 'WWW-Authenticate': 'Bearer, where a token with more rights would do (RFC 6750)' },
  409: { 'Retry-After': 'Seconds after which to try again, while the first request under a key is under way' },
  429: { ...RETRY_AFTER, ...RATE_HEADERS },
  503: RETRY_AFTER,
}

export function problemResponseOf(status: number) {
  const example = exampleOf(status)
  const content = Object.fromEntries(
    FORMATS.map((format) => [
      format.problemType,
      { schema: referenceTo(problemSchema), example: format.untyped ? format.encodeProblem(example) : example },
    ]),
  )
  return { description: meaningsOf(status), headers: headersToldOf(PROBLEM_HEADERS[status] ?? {}), content }
}
