// http: assembles the request of a call from path, query and body, and checks it.
import type { Context } from 'hono'
import type { z } from 'zod'
import { type Call, check } from '../../api/call.ts'
import type { ReadBody } from './body.ts'
import { fieldsOf, readFields, type CallFields } from './call-fields.ts'
import type { Env } from './incoming.ts'
import { readQuery } from './query.ts'

export function requestReader<R extends z.ZodType>(call: Call<R>) {
  const [inPath, inQuery, inBody] = [Object.keys(call.path), fieldsOf(call.query), fieldsOf(call.body ?? {})]
  return {
    /**
     * Reads path and query.
     * @throws FluxError `malformed` for a query that cannot be read, or has parameters that the call does not know
     */
    begin(c: Context<Env>): CallFields {
      const fields = readQuery(c.req.url, inQuery)
      for (const name of inPath) fields[name] = c.req.param(name)
      return fields
    },
    /** `body`: null for calls that have none. @throws FluxError when the request is not valid for the call */
    finish(fields: CallFields, body: ReadBody | null): z.output<R> {
      if (body === null) return check(call, fields)
      const request = readFields(fields, body, inBody)
      if (call.fields.has('untyped')) request['untyped'] = body.untyped
      return check(call, request)
    },
  }
}
