// engine/calls: an event by key that starts a context where none has the key. That one takes it as soon as it waits for
// it, in its first commit if it can.
import type { Address } from '../../api/address.ts'
import { isFinished, type ContextId } from '../../model/context.ts'
import { FluxError } from '../../model/failure.ts'
import type { PendingEvent } from '../../model/pending.ts'
import { isNamed, notNamed } from '../interpreter/early.ts'
import type { MessageOptions, MessageOutcome } from '../turn/message.ts'
import { holderIn } from '../turn/start-key.ts'
import { refusalOfInputs, type RootRequest } from '../turn/start-request.ts'
import { admitted, requireRole, type CallEnv } from './call-env.ts'
import { holderOfKey, serviceNamed } from './address.ts'
import type { eventRequest } from './requests.ts'

/** How often it is tried again, because the context that had the key has ended, or another start was faster. */
const MAX_TRIES = 10

type SentEvent = ReturnType<typeof eventRequest>

interface StartOfEvent {
  readonly address: Address
  readonly start: NonNullable<SentEvent['start']>
  readonly event: Pick<PendingEvent, 'eventId' | 'event' | 'input' | 'untyped' | 'tags' | 'receipt'>
  readonly options: Pick<MessageOptions, 'rows' | 'first' | 'isCall'>
  /** The request of a webhook that sends it, and gives the inputs as its own start would: by name, where declared. */
  readonly webhook?: RootRequest['request']
}

/**
 * The outcome of the event, or that of the start. @throws FluxError when a context can't be started, or can't wait for the
 * event
 */
export async function sendOrStart(
  env: CallEnv,
  given: StartOfEvent,
  post: (id: ContextId) => Promise<MessageOutcome>,
): Promise<MessageOutcome> {
  for (let tries = 1; ; tries += 1) {
    const isLast = tries === MAX_TRIES
    const id = await holderOfKey(env, given.address, 'invoke')
    if (id !== null && tries === 1) requireInputs(env, given)
    const outcome = id === null ? null : await postIfThere(post, id)
    if (outcome && (isLast || !hasFreedKey(outcome))) return outcome
    try {
      return await start(env, given)
    } catch (error) {
      if (isLast || holderIn(error) === null) throw error
    }
  }
}

/**
 * Wrong inputs are reported whether or not there is a context already, so that who sends them learns it at once.
 * Those of a service that is no longer loaded can't be checked: its contexts are moved all the same.
 */
function requireInputs(env: CallEnv, { address, start: { input }, event: { untyped }, webhook }: StartOfEvent): void {
  const { fluxName = '', package: owner } = address
  const flux = owner === undefined ? serviceNamed(env, { fluxName }) : env.catalog.find(owner, fluxName)
  const request = flux && ({ flux, input, untyped, unknown: unknownInputs(webhook) } as const)
  const failure = request && refusalOfInputs(request, { now: env.now(), pointer: '/orStart/input' })
  if (failure) throw new FluxError(failure)
}

/** A webhook gives a service what it declares; a client gets a fault for what the service does not declare. */
const unknownInputs = (webhook: StartOfEvent['webhook']) => (webhook ? ('ignore' as const) : ('refuse' as const))

/** Null: the context was deleted after it was found. */
async function postIfThere(
  post: (id: ContextId) => Promise<MessageOutcome>,
  id: ContextId,
): Promise<MessageOutcome | null> {
  try {
    return await post(id)
  } catch (error) {
    if (error instanceof FluxError && error.failure.kind === 'notFound') return null
    throw error
  }
}

const hasFreedKey = ({ failure, record, flux }: MessageOutcome): boolean =>
  failure !== null && isFinished(record.status) && flux.keyReuse === 'ended'

function start(
  env: CallEnv,
  { address, start: wanted, event, options, webhook }: StartOfEvent,
): Promise<MessageOutcome> {
  const { fluxName = '', package: given, key } = address
  const flux = serviceNamed(env, { package: given, fluxName })
  requireRole(env, flux, 'invoke')
  if (!isNamed(flux, event.event)) throw new FluxError(notNamed(flux, event.event))
  const { input, tags } = wanted
  const { untyped } = event
  const request = {
    flux,
    input,
    untyped,
    unknown: unknownInputs(webhook),
    tags,
    trigger: null,
    request: webhook,
    key,
    existing: 'refuse',
    event,
    traceparent: env.traceparent,
  } as const
  return admitted(env, input, () => env.mailboxes.start(request, options))
}
