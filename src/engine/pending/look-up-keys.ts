// engine/pending: the keys of the look-up rows of events that are held for nobody, and which of them a context may take,
// by its index keys. A key begins with the name of the event, so one read shows whether any event of that name is
// held: what a commit of a context costs goes with what is held, and not with what the context waits for.
import { createHash } from 'node:crypto'
import { SECURED, heardEvents } from '../record/index-keys.ts'

/** Of hashes in keys. Another text with the same hash leads to an event that the context does not take. */
const HASH_CHARACTERS = 16

const shortHashOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, HASH_CHARACTERS)

/** `tag` null: of events without tags. */
const hashOfTag = (tag: string | null): string => shortHashOf(tag === null ? '' : `#${tag}`)

const tagPrefix = (prefix: string, byToken: boolean, tag: string): string => `${prefix}${byToken ? 't' : 'o'}:${tag}:`

/** `byToken`: whether the sender may use secured services. `heldKey`: of the event. */
export const lookupKey = (
  event: string,
  { tag, byToken, heldKey }: { readonly tag: string | null; readonly byToken: boolean; readonly heldKey: string },
): string => tagPrefix(shortHashOf(event), byToken, hashOfTag(tag)) + heldKey

/** Events of one name that a context waits for. */
export interface WantedEvents {
  /** What the keys of all events of that name begin with. */
  readonly prefix: string
  /** What those keys begin with of which the context may take the events: one for each tag, or two. */
  readonly prefixes: () => readonly string[]
  /** The key of the held event, if the context may take what the look-up row leads to; else null. */
  readonly heldKeyIn: (key: string) => string | null
}

/** Characters of a key before that of the held event. */
const PREFIX_CHARACTERS = 2 * HASH_CHARACTERS + 't::'.length

/**
 * What a context waits for. A state that takes any event takes none that is held. Contexts of secured services look only
 * at events whose senders may use them.
 */
export function wantedBy(indexKeys: readonly string[]): readonly WantedEvents[] {
  const tokens = indexKeys.includes(SECURED) ? [true] : [true, false]
  const byEvent = new Map<string, (string | null)[]>()
  for (const { event, tag } of heardEvents(indexKeys)) {
    const tags = byEvent.get(event)
    if (tags) tags.push(tag)
    else byEvent.set(event, [tag])
  }
  return [...byEvent].map(([event, tags]) => {
    const prefix = shortHashOf(event)
    let known: ReadonlySet<string> | null = null
    const prefixes = () =>
      (known ??= new Set(
        tags.map(hashOfTag).flatMap((tag) => tokens.map((byToken) => tagPrefix(prefix, byToken, tag))),
      ))
    return {
      prefix,
      prefixes: () => [...prefixes()],
      heldKeyIn: (key) =>
        key.startsWith(prefix) && prefixes().has(key.slice(0, PREFIX_CHARACTERS)) ? key.slice(PREFIX_CHARACTERS) : null,
    }
  })
}
