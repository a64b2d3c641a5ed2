// engine/calls: finds the context that a call names by its key. Such a call means the unfinished context of that key, and
// else the newest.
import type { Address } from '../../api/address.ts'
import { denial, type Role } from '../../model/caller.ts'
import { isFinished, type ContextId } from '../../model/context.ts'
import { FluxError, malformed, notFound } from '../../model/failure.ts'
import { serviceNameOf } from '../../model/service-name.ts'
import type { Addressee } from '../idempotency/kept-answer.ts'
import type { Input } from '../interpreter/decision.ts'
import type { MessageOptions, MessageOutcome } from '../turn/message.ts'
import { keptKey, partitionOfKey, usingKey, type KeyAddress } from '../record/context-key.ts'
import type { CallEnv } from './call-env.ts'
import { serviceNamed } from './named-service.ts'

/** How often a message follows a key to another context, because the one that it was for ended just then. */
const MAX_FOLLOWED = 10

/** The id of the context that is named. @throws FluxError when there is none, or the caller hasn't that role */
export const contextIdOf = (env: CallEnv, address: Address, role: Role): ContextId | Promise<ContextId> =>
  address.contextId ?? findByKey(env, address, role)

/**
 * Sends a message to the context that is named. One that ended before the message came, and whose key another context has
 * by now, was not the one that was meant. @throws FluxError when there is no such context
 */
export async function sendTo(
  env: CallEnv,
  address: Address,
  post: (id: ContextId) => Promise<MessageOutcome>,
): Promise<MessageOutcome> {
  let id = await contextIdOf(env, address, 'invoke')
  for (let followed = 0; ; followed += 1) {
    const outcome = await post(id)
    if (!outcome.failure) return outcome
    const isOver = address.key !== undefined && isFinished(outcome.record.status) && followed < MAX_FOLLOWED
    const next = isOver ? await contextIdOf(env, address, 'invoke') : id
    if (next === id) return outcome
    id = next
  }
}

/** What is named, as far as keys are concerned. @throws FluxError when the service isn't known, or the caller hasn't that role */
export const addresseeOf = (env: CallEnv, address: Address, role: Role): Addressee & object =>
  address.contextId === undefined ? keyAddressOf(env, address, role) : { contextId: address.contextId }

/** Sends a message to the context that is named, and gives its id. @throws FluxError when it is refused, or there is none */
export async function send(
  env: CallEnv,
  address: Address,
  input: Input,
  options?: Pick<MessageOptions, 'rows' | 'rowsAlways' | 'first'>,
): Promise<ContextId> {
  const post = (id: ContextId) => env.mailboxes.post(id, input, { ...options, isCall: !env.isStep })
  const { record, failure } = await sendTo(env, address, post)
  if (failure) throw new FluxError(failure)
  return record.id
}

/** The context that uses the key; null: it is free. @throws FluxError when the caller hasn't that role */
export function holderOfKey(env: CallEnv, address: Address, role: Role): Promise<ContextId | null> {
  const { store } = env
  const named = keyAddressOf(env, address, role)
  return store.newest({ key: usingKey(named), partition: partitionOfKey(named, store.partitions) })
}

function keyAddressOf(env: CallEnv, { key, fluxName: name, package: given }: Address, role: Role): KeyAddress {
  if (key === undefined || name === undefined) throw malformed('contextId must be given, or else key and fluxName')
  const { caller } = env
  const { package: owner, fluxName } = serviceNameOf({ package: given, fluxName: name })
  const flux = owner === undefined ? serviceNamed(env, { fluxName }) : env.catalog.find(owner, fluxName)
  const failure = flux?.secured ? denial(caller, role) : null
  if (failure) throw new FluxError(failure)
  // A service that is no longer loaded may have contexts all the same.
  return { package: flux?.package ?? owner ?? '', fluxName, key }
}

async function findByKey(env: CallEnv, given: Address, role: Role): Promise<ContextId> {
  const { store } = env
  const address = keyAddressOf(env, given, role)
  const { fluxName, key } = address
  const partition = partitionOfKey(address, store.partitions)
  const id =
    (await store.newest({ key: usingKey(address), partition })) ??
    (await store.newest({ key: keptKey(address), partition }))
  if (id === null) throw notFound(`no context of '${fluxName}' has the key '${key}'`)
  return id
}
