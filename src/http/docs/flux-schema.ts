// http: `/flux-schema.json`, the JSON Schema of .flux and .model files. It says nothing of this server, so anyone may
// read it, also editors in a browser, of any origin.
import type { Hono } from 'hono'
import type { JsonObject } from '../../model/json/value.ts'
import type { Answers } from '../answers/answers.ts'
import type { Env } from '../request/incoming.ts'

export interface FluxSchemaParts {
  /** Makes the schema. */
  readonly fluxSchema: () => JsonObject
  readonly answers: Answers
}

const HEADERS = {
  'content-type': 'application/schema+json',
  'cache-control': 'max-age=3600',
  'access-control-allow-origin': '*',
}

export function addFluxSchema(app: Hono<Env>, { fluxSchema, answers }: FluxSchemaParts): void {
  /** The schema, in memory once it was asked for. */
  let bytes: Buffer<ArrayBuffer> | undefined
  app.get('/flux-schema.json', (c) => {
    bytes ??= Buffer.from(JSON.stringify(fluxSchema()))
    return answers.bytes(c, bytes, { headers: HEADERS }, { shared: true })
  })
}
