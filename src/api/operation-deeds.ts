// api: what an operation can do with each context, and what it needs to be told for that.
import { z } from 'zod'
import { FluxError, invalid } from '../model/failure.ts'
import { isObject, type JsonObject } from '../model/json/value.ts'
import { input } from './fields.ts'
import { eventField } from './send-event.ts'

/** All that can be asked for. */
export const DEED_NAMES = ['event', 'terminate', 'tag', 'untag', 'retry', 'pause', 'resume', 'migrate'] as const
export type DeedName = (typeof DEED_NAMES)[number]

const nothing = z.strictObject({})
const tags = z.strictObject({
  tags: z.array(z.string({ error: 'must be a text' }), { error: 'must be a list of texts' }).min(1, {
    error: 'must have at least one',
  }),
})

/** What there is, each with the schema of its `with`. */
const SCHEMAS = {
  event: z.strictObject({ event: eventField, input: input() }),
  terminate: nothing,
  tag: tags,
  untag: tags,
} satisfies { readonly [name in DeedName]?: z.ZodType }

/** What can be done, with what it needs for that, by its name. */
export type Withs = { readonly [name in keyof typeof SCHEMAS]: z.output<(typeof SCHEMAS)[name]> }

/** Something to do with each context. */
export type DeedOf<N extends keyof Withs> = { readonly [K in N]: { readonly do: K; readonly with: Withs[K] } }[N]
export type Deed = DeedOf<keyof Withs>

/** What it is done with. */
export const withField = z
  .custom<JsonObject>(isObject, { error: 'must be an object' })
  .nullish()
  .meta({
    description:
      'What it is done with: `{ event, input }` for event, `{ tags }` for tag and untag; nothing for the others',
  })

const isKnown = (name: DeedName): name is keyof Withs => Object.hasOwn(SCHEMAS, name)

/**
 * What is to be done. Of inputs and tags, only the form is checked.
 * @throws FluxError `invalid` when that can't be done, or lacks something
 */
export function readDeed(name: DeedName, given: JsonObject | null | undefined): Deed {
  if (!isKnown(name)) {
    const detail = `'${name}' is not available yet`
    throw invalid(detail, [{ pointer: '/do', detail: 'is not available yet' }])
  }
  return deedOf(name, given ?? {})
}

function deedOf<N extends keyof Withs>(name: N, given: JsonObject): Deed {
  const { success, data, error } = z.object({ do: z.literal(name), with: SCHEMAS[name] }).safeParse({
    do: name,
    with: given,
  })
  if (success) return data
  throw new FluxError(failureOf(error.issues))
}
