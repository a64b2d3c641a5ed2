// api: what an operation can do with each context, and what it needs to be told for that.
import { z } from 'zod'
import type { Role } from '../model/caller.ts'
import { invalid } from '../model/failure.ts'
import { isObject, type JsonObject } from '../model/json/value.ts'
import { unknownErrors } from '../model/unknown-fields.ts'
import { input, orNull } from './fields.ts'
import { retryFields } from './retry.ts'
import { eventField } from './send-event.ts'

/** All that can be asked for. */
export const DEED_NAMES = ['event', 'terminate', 'tag', 'untag', 'retry', 'pause', 'resume', 'migrate'] as const
export type DeedName = (typeof DEED_NAMES)[number]

const FOR_INVOKE: ReadonlySet<DeedName> = new Set(['event', 'terminate', 'tag', 'untag'])

/** That it takes to do this with many, where a token is needed, and with contexts of secured services. */
export const roleOfDeed = (name: DeedName): Role => (FOR_INVOKE.has(name) ? 'invoke' : 'admin')

const nothing = z.object({})
const texts = z.array(z.string({ error: 'must be a text' }), { error: 'must be a list of texts' })
const tags = z.object({ tags: texts.min(1, { error: 'must have at least one' }) })

/** What can be done, one entry for each kind, with what it needs to be told. */
const deed = z.discriminatedUnion('do', [
  z.object({ do: z.literal('event'), with: z.object({ event: eventField, input: input() }) }),
  z.object({ do: z.literal('terminate'), with: nothing }),
  z.object({ do: z.literal('tag'), with: tags }),
  z.object({ do: z.literal('untag'), with: tags }),
  z.object({ do: z.literal('retry'), with: z.object(retryFields) }),
  z.object({ do: z.literal('pause'), with: nothing }),
  z.object({ do: z.literal('resume'), with: nothing }),
])

/** Something to do with each context. */
export type OperationDeed = z.output<typeof deed>

/** What each that can be done may be told. */
const TOLD: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  deed.options.flatMap(({ shape }) =>
    [...shape.do.values].map((name) => [name, new Set(Object.keys(shape.with.shape))]),
  ),
)

export const withField = orNull(
  z.custom<JsonObject>(isObject, { error: 'must be an object' }).meta({
    type: 'object',
    additionalProperties: true,
    description:
      'What it is done with: `{ event, input }` for event, `{ tags }` for tag and untag, what the call takes for retry; nothing for the others',
  }),
)

/**
 * What is to be done. Of inputs and tags, only the form is checked.
 * @throws FluxError `invalid` when that can't be done, or lacks something
 */
export function readDeed(name: DeedName, given: JsonObject | null | undefined): OperationDeed {
  const known = TOLD.get(name)
  if (known === undefined)
    throw invalid(`'${name}' is not available yet`, [{ pointer: '/do', detail: 'is not available yet' }])
  const { success, data, error } = deed.safeParse({ do: name, with: given ?? {} })
  const unknown = unknownErrors(Object.keys(given ?? {}), known, '/with')
  if (success && unknown.length === 0) return data
  const wrong = (error?.issues ?? []).map(({ path, message }) => ({
    pointer: path.map((part) => `/${String(part)}`).join(''),
    detail: message,
  }))
  const errors = [...wrong, ...unknown]
  throw invalid(errors.map(({ pointer, detail }) => `${pointer} ${detail}`).join('; '), errors)
}
