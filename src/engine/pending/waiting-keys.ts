// engine/pending: which held events a context may take, as its index keys tell.
import { SECURED, heardEvents } from '../record/index-keys.ts'
import { lookupPrefix } from './held-event.ts'

/**
 * What the keys of the look-up rows begin with of events that the context waits for. A state that takes any event takes
 * none that is held. Contexts of secured services look only at events whose senders may use them.
 */
export function prefixesFor(indexKeys: readonly string[]): readonly string[] {
  const isSecured = indexKeys.includes(SECURED)
  return heardEvents(indexKeys).flatMap(({ event, tag }) => [
    lookupPrefix(event, tag, true),
    ...(isSecured ? [] : [lookupPrefix(event, tag, false)]),
  ])
}
