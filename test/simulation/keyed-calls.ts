// Calls under idempotency keys, as a seed makes them. Each key is used for two contents. If they have the same addressee, at
// most one of them may ever have an effect; else they are different requests.
import type { FluxApi } from '../../src/api/calls.ts'
import type { ContextId } from '../../src/model/context.ts'
import type { Random } from './scheduler.ts'

/** What may be done under a key. */
const KINDS = ['start', 'start', 'event', 'event', 'event', 'terminate', 'tag'] as const
export type Kind = (typeof KINDS)[number]

/** What a call under a key was told. */
export interface Reply {
  readonly message?: string
  readonly contextId?: ContextId | undefined
  readonly started?: boolean | undefined
  readonly replaced?: ContextId | undefined
  readonly transitions?: readonly { readonly contextId: ContextId }[] | undefined
  readonly executions?: readonly { readonly contextId: ContextId }[] | undefined
  readonly ignored?: readonly { readonly contextId: ContextId | null }[] | undefined
}

/** One of the contents of a key. */
export interface Variant {
  readonly name: string
  readonly kind: Kind
  /** The context, or the service and key, that it is for; empty: none. */
  readonly addressee: string
  /** Its mark in what it does: no other call has it. */
  readonly token: number
  /** An event for all that wait for it. */
  readonly isBroadcast: boolean
  readonly send: (api: FluxApi) => Promise<Reply>
}

/** A key, and what is asked for under it. */
export interface KeyUse {
  readonly key: string
  readonly variants: readonly Variant[]
}

/** Keys of contexts. */
export const NAMES = ['k1', 'k2', 'k3'] as const

export interface Draw {
  readonly random: Random
  /** Of contexts that are there already. */
  readonly ids: readonly ContextId[]
  readonly token: () => number
}

export function someUse(key: string, draw: Draw): KeyUse {
  const kind = draw.random.pick(KINDS) ?? 'start'
  const [one, other] = [someVariant(key, kind, draw), someVariant(key, kind, draw)]
  return { key, variants: one.name === other.name ? [one] : [one, other] }
}

function someVariant(key: string, kind: Kind, draw: Draw): Variant {
  const token = draw.token()
  const variant = { kind, token, isBroadcast: false }
  const id = draw.random.pick(draw.ids)
  if (kind === 'start') return { ...variant, ...someStart(key, token, draw) }
  if (kind === 'event') return { ...variant, ...someEvent(key, token, draw) }
  const name = draw.random.pick(NAMES) ?? 'k1'
  const address = id !== undefined && draw.random.chance(0.7) ? { contextId: id } : orderOf(name)
  const more = { ...address, idempotencyKey: key }
  return kind === 'tag'
    ? {
        ...variant,
        addressee: told(address),
        name: `tag ${told(address)} t${token}`,
        send: (api) => api.addTags({ ...more, tag: [`t${token}`] }),
      }
    : { ...variant, addressee: told(address), name: `end ${told(address)}`, send: (api) => api.terminate(more) }
}

const orderOf = (key: string) => ({ package: 'keyed', fluxName: 'Order', key })
const told = (address: object): string => Object.values(address).join('/')

function someStart(key: string, token: number, { random }: Draw): Pick<Variant, 'name' | 'addressee' | 'send'> {
  const fluxName = random.pick(['Order', 'Order', 'Chance', 'Never']) ?? 'Order'
  const isNamed = fluxName === 'Never' || (fluxName === 'Order' && random.chance(0.7))
  const name = isNamed ? random.pick(NAMES) : undefined
  const existing = isNamed ? random.pick(['refuse', 'use', 'replace'] as const) : undefined
  const request = {
    package: 'keyed',
    fluxName,
    input: { token },
    idempotencyKey: key,
    ...(name !== undefined && { key: name }),
    ...(existing !== undefined && { existing }),
  }
  return {
    // What the service draws by chance is the same under the same idempotency key.
    addressee: fluxName === 'Chance' ? fluxName : name === undefined ? '' : `${fluxName}/${name}`,
    name: `start ${token} ${fluxName}/${name ?? ''} ${existing ?? ''}`,
    send: (api) => api.execute(request),
  }
}

function someEvent(
  key: string,
  token: number,
  { random, ids }: Draw,
): Pick<Variant, 'name' | 'addressee' | 'send' | 'isBroadcast'> {
  const id = random.pick(ids)
  const dice = random.between(0, 9)
  if (dice < 4 && id !== undefined)
    return {
      name: `send ${token} to ${id}`,
      addressee: `${id}`,
      isBroadcast: false,
      send: (api) => api.sendEvent({ contextId: id, event: 'add', input: { token }, eventId: key }),
    }
  const name = random.pick(NAMES) ?? 'k1'
  if (dice < 7)
    return {
      name: `send ${token} to Order/${name}`,
      addressee: `Order/${name}`,
      isBroadcast: false,
      send: (api) => api.sendEvent({ ...orderOf(name), event: 'add', input: { token }, eventId: key }),
    }
  const event = random.pick(['add', 'late', 'ordered']) ?? 'add'
  return {
    name: `send ${event} ${token} to all`,
    addressee: '',
    isBroadcast: true,
    send: (api) => api.sendEvent({ event, input: { token, k: name }, eventId: key }),
  }
}
