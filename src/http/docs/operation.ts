// http: what each call says of itself to the OpenAPI document (openapi-document.ts), made from the schemas that validate.
import type { Handler } from 'hono'
import { describeRoute, resolver, type DescribeRouteOptions } from 'hono-openapi'
import { z } from 'zod'
import type { JsonObject } from '../../model/json.ts'
import { FORMATS } from '../formats/codecs.ts'
import type { Env } from '../request/incoming.ts'
import type { Operation } from '../api/operations.ts'
import type { Shape } from '../api/schemas.ts'
import type { Root } from '../formats/xml/encode.ts'
import { withListHints } from './xml-hints.ts'

/** Any call under /flux-api may meet these. */
const USUAL_PROBLEMS = [400, 401, 403, 406, 408, 417, 421, 431, 500, 503]

type Parameter = NonNullable<DescribeRouteOptions['parameters']>[number]
type Responses = NonNullable<DescribeRouteOptions['responses']>

/** The same handler, with its description attached: a middleware of its own would cost each request a turn. */
export function described(operation: Operation, handler: Handler<Env>): Handler<Env> {
  const { id, summary, path, query, body, bodyExample } = operation
  return Object.assign(handler, describeRoute({
    operationId: id,
    tags: ['flux-api'],
    summary,
    parameters: [...parametersOf('path', path), ...parametersOf('query', query)],
    ...(body ? { requestBody: { required: true, content: contentOf({ ...withListHints(jsonSchema(body.schema)), xml: { name: 'request' } }, bodyExample, 'request') } } : {}),
    responses: responsesOf(operation),
  }))
}

/** The same for what answers with a file of XML. */
export const describedFile = (id: string, summary: string, handler: Handler<Env>): Handler<Env> => Object.assign(handler, describeRoute({
  operationId: id, tags: ['flux-api'], summary,
  responses: { 200: { description: 'Done', content: { 'application/xml': { schema: { type: 'string' } } } }, ...problemsOf([400, 401, 403, 408, 421, 431]) },
}))

const parametersOf = (place: 'path' | 'query', shape: Shape<object> | undefined): Parameter[] =>
  Object.entries(shape?.schema.shape ?? {}).map(([name, type]) => parameterOf(place, name, type))

function parameterOf(place: 'path' | 'query', name: string, type: z.ZodType): Parameter {
  const { description, ...schema } = jsonSchema(type)
  const { success, data } = type.safeParse(undefined)
  return { in: place, name, schema: data === undefined ? schema : { ...schema, default: data }, required: !success, ...(typeof description === 'string' ? { description } : {}) }
}

/** As it is sent, before the server makes numbers of digits. */
function jsonSchema(type: z.ZodType): JsonObject {
  const { $schema: _, ...schema } = z.toJSONSchema(type, { io: 'input', unrepresentable: 'any' })
  // What was set aside as undefined is gone after this.
  return JSON.parse(JSON.stringify(schema))
}

const contentOf = (schema: object, example: unknown, root: Root) =>
  Object.fromEntries(FORMATS.map((format) => [format.type, { schema, example: format.untyped ? format.encode(example, root) : example }]))

function responsesOf({ answer, answerExample, answerHeaders = {}, root, problems }: Operation): Responses {
  return { 200: { description: 'Done', headers: headersOf(answerHeaders), content: contentOf(resolver(answer), answerExample, root) }, ...problemsOf([...USUAL_PROBLEMS, ...problems]) }
}

/** References: each is told once for all calls. */
export const problemsOf = (statuses: readonly number[]): { [status: string]: { $ref: string } } =>
  Object.fromEntries(statuses.toSorted().map((status) => [status, { $ref: `#/components/responses/Problem${status}` }]))

export const headersOf = (headers: { readonly [name: string]: string }) =>
  Object.fromEntries(Object.entries(headers).map(([name, description]) => [name, { description, schema: { type: name === 'Retry-After' ? 'integer' as const : 'string' as const } }]))
