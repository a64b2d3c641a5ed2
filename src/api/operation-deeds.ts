// api: what an operation can do with each context, and what it needs to be told for that.
import { z } from 'zod'
import type { Role } from '../model/caller.ts'
import { invalid } from '../model/failure.ts'
import { isObject, type JsonObject } from '../model/json/value.ts'
import { input, orNull } from './fields.ts'
import { retryFields } from './retry.ts'
import { eventField } from './send-event.ts'

/** All that can be asked for. */
export const DEED_NAMES = ['event', 'terminate', 'tag', 'untag', 'retry', 'pause', 'resume', 'migrate'] as const
export type DeedName = (typeof DEED_NAMES)[number]

const FOR_INVOKE: ReadonlySet<DeedName> = new Set(['event', 'terminate', 'tag', 'untag'])

/** That it takes to do this with many, where a token is needed, and with contexts of secured services. */
export const roleOfDeed = (name: DeedName): Role => (FOR_INVOKE.has(name) ? 'invoke' : 'admin')

const nothing = z.strictObject({})
const texts = z.array(z.string({ error: 'must be a text' }), { error: 'must be a list of texts' })
const tags = z.strictObject({ tags: texts.min(1, { error: 'must have at least one' }) })

/** What can be done, one entry for each kind, with what it needs to be told. */
const deed = z.discriminatedUnion('do', [
  z.object({ do: z.literal('event'), with: z.strictObject({ event: eventField, input: input() }) }),
  z.object({ do: z.literal('terminate'), with: nothing }),
  z.object({ do: z.literal('tag'), with: tags }),
  z.object({ do: z.literal('untag'), with: tags }),
  z.object({ do: z.literal('retry'), with: z.strictObject(retryFields) }),
  z.object({ do: z.literal('pause'), with: nothing }),
  z.object({ do: z.literal('resume'), with: nothing }),
])

/** Something to do with each context. */
export type OperationDeed = z.output<typeof deed>

const AVAILABLE: ReadonlySet<string> = new Set(deed.options.flatMap(({ shape }) => [...shape.do.values]))

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
  if (!AVAILABLE.has(name))
    throw invalid(`'${name}' is not available yet`, [{ pointer: '/do', detail: 'is not available yet' }])
  const { success, data, error } = deed.safeParse({ do: name, with: given ?? {} })
  if (success) return data
  const errors = error.issues.map(({ path, message }) => ({
    pointer: path.map((part) => `/${String(part)}`).join(''),
    detail: message,
  }))
  throw invalid(errors.map(({ pointer, detail }) => `${pointer} ${detail}`).join('; '), errors)
}
