// cli/mcp: the calls of the API as tools: their names, inputs and hints are those of `api/`.
import { CLIENT_METHODS } from '../../api/calls.ts'
import type { Call } from '../../api/call.ts'
import { fieldSchema } from '../../api/call.ts'
import type { JsonObject } from '../../model/json/value.ts'

export interface CallTool {
  readonly name: string
  readonly description: string
  /** JSON Schema. */
  readonly input: JsonObject
  readonly hints: {
    readonly readOnlyHint: boolean
    readonly destructiveHint: boolean
    readonly idempotentHint: boolean
  }
}

const UNDOES: ReadonlySet<string> = new Set(['terminate', 'withdraw', 'stopEvent', 'removeTags', 'stopOperation'])

/** The tools that read; with `write`, also those that change something. */
export function callTools({ write }: { readonly write: boolean }): CallTool[] {
  return Object.entries<Call>(CLIENT_METHODS)
    .filter(([, { method }]) => write || method === 'GET')
    .map(([name, call]) => toolOf(name, call))
}

function toolOf(name: string, call: Call) {
  const isReading = call.method === 'GET'
  return {
    name,
    description: call.summary,
    input: inputOf(call),
    hints: {
      readOnlyHint: isReading,
      destructiveHint: UNDOES.has(name),
      idempotentHint: isReading || call.method !== 'POST',
    },
  }
}

function inputOf({ path, query, body, takesKey }: Call): JsonObject {
  const fields = Object.entries({ ...path, ...query, ...body })
  const key = takesKey === true ? { idempotencyKey: KEY } : {}
  return {
    type: 'object',
    properties: { ...Object.fromEntries(fields.map(([name, type]) => [name, fieldSchema(type)])), ...key },
    required: fields.filter(([, type]) => !type.safeParse(undefined).success).map(([name]) => name),
    additionalProperties: false,
  }
}

const KEY = { type: 'string', minLength: 1, maxLength: 255, description: 'The call is carried out once under this key' }
