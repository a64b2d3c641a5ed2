// engine/operations: what an operation can do with each context: one entry for each kind.
import type { OperationDeed } from '../../api/operation-deeds.ts'
import type { Input } from '../interpreter/decision.ts'
import type { StoredOperation } from './operation-rows.ts'

type Name = OperationDeed['do']
type Withs = { readonly [N in Name]: Extract<OperationDeed, { readonly do: N }>['with'] }
type DeedOf<N extends Name> = { readonly [K in N]: { readonly do: K; readonly with: Withs[K] } }[N]

/** What else a message needs. */
type Sent = Pick<StoredOperation, 'caller' | 'untyped' | 'traceparent'> & { readonly operationId: string }

/** How the message is made. */
type Kind<W> = (given: W, sent: Sent) => Input

const KINDS: { readonly [N in Name]: Kind<Withs[N]> } = {
  event({ event: name, input }, { caller, untyped, operationId: eventId, traceparent }) {
    const arrival = { tags: [], receipt: null, keep: null }
    return { type: 'EVENT', name, eventId, input: input ?? {}, untyped, tags: null, caller, arrival, traceparent }
  },
  terminate: (_, { caller }) => ({ type: 'TERMINATE', caller }),
  tag: ({ tags }, { caller }) => ({ type: 'TAG', add: tags, remove: [], caller }),
  untag: ({ tags }, { caller }) => ({ type: 'TAG', add: [], remove: tags, caller }),
  retry({ state = null, input = null, definition = null, newKey }, { caller, untyped }) {
    // The mark of the context keeps it from being retried twice, not the position that was seen.
    const asked = { state, input, definition, newKey: newKey ?? false, seen: null }
    return { type: 'RETRY', ...asked, untyped, caller }
  },
  pause: (_, { caller }) => ({ type: 'PAUSE', caller }),
  resume: (_, { caller }) => ({ type: 'RESUME', caller }),
}

/** The message that does it with a context. */
export const messageOfDeed = <N extends Name>({ do: name, with: given }: DeedOf<N>, sent: Sent): Input =>
  KINDS[name](given, sent)
