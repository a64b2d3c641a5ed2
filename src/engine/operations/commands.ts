// engine/operations: the messages by which commands are given to contexts: by a call to one, by an operation to many.
import type { Command } from '../../api/commands.ts'
import type { Caller } from '../../model/caller.ts'
import type { Input } from '../interpreter/decision.ts'

type Name = Command['do']
type Withs = { readonly [N in Name]: Extract<Command, { readonly do: N }>['with'] }
type CommandOf<N extends Name> = { readonly [K in N]: { readonly do: K; readonly with: Withs[K] } }[N]

interface Sent {
  readonly caller: Caller
}

/** Of an operation. */
interface SentToMany extends Sent {
  readonly untyped: boolean
  readonly operationId: string
  readonly traceparent?: string | undefined
}

interface RetrySent extends Sent {
  readonly untyped: boolean
  /** The position that the caller saw. Of an operation, the mark of the context keeps it from being retried twice. */
  readonly seen?: { readonly epoch: number; readonly attempt: number }
}

export const MESSAGES = {
  event({ event: name, input }, { caller, untyped, operationId: eventId, traceparent }: SentToMany) {
    const arrival = { tags: [], receipt: null, keep: null }
    return { type: 'EVENT', name, eventId, input: input ?? {}, untyped, tags: null, caller, arrival, traceparent }
  },
  terminate: (_: object, { caller }: Sent) => ({ type: 'TERMINATE', caller }),
  tag: ({ tags }, { caller }: Sent) => ({ type: 'TAG', add: tags, remove: [], caller }),
  untag: ({ tags }, { caller }: Sent) => ({ type: 'TAG', add: [], remove: tags, caller }),
  retry: ({ state = null, input = null, definition = null, newKey }, { caller, untyped, seen }: RetrySent) => ({
    type: 'RETRY',
    state,
    input,
    definition,
    newKey: newKey ?? false,
    untyped,
    seen: seen ?? null,
    caller,
  }),
  pause: (_: object, { caller }: Sent) => ({ type: 'PAUSE', caller }),
  resume: (_: object, { caller }: Sent) => ({ type: 'RESUME', caller }),
} satisfies { readonly [N in Name]: (given: Withs[N], sent: SentToMany) => Input }

const OF_MANY: { readonly [N in Name]: (given: Withs[N], sent: SentToMany) => Input } = MESSAGES

/** The message by which an operation does it with a context. */
export const messageOf = <N extends Name>({ do: name, with: given }: CommandOf<N>, sent: SentToMany): Input =>
  OF_MANY[name](given, sent)
