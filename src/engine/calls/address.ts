// engine/calls: finds what a call names: a service, or why it is not loaded; and a context by its key, which means the
// unfinished context of that key, and else the newest.
import type { Address } from '../../api/fields.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { LoadFault } from '../../definitions/load-report.ts'
import { denial, type Role } from '../../model/caller.ts'
import { isFinished, type ContextId } from '../../model/context.ts'
import { conflict, malformed, notFound } from '../../model/failure.ts'
import { nearestName, suggestion } from '../../model/nearest.ts'
import { serviceNameOf, type NamedService } from '../../model/service-name.ts'
import type { Addressee } from '../idempotency/kept-answer.ts'
import { keptKey, partitionOfKey, usingKey, type KeyAddress } from '../record/index-keys.ts'
import type { MessageOutcome } from '../turn/message.ts'
import { isReadable, requireRole, type CallEnv } from './call-env.ts'

/** How often a message follows a key to another context, because the one that it was for ended just then. */
const MAX_FOLLOWED = 10

type Services = Pick<CallEnv, 'catalog' | 'caller'>

/** The service of the package that is named, else of that of the caller, else the only one of that name. */
export function serviceNamed(env: Services & Pick<CallEnv, 'home'>, named: NamedService): CompiledFlux {
  const { catalog, home } = env
  const { package: given, fluxName } = serviceNameOf(named)
  const flux = catalog.find(given ?? home ?? '', fluxName)
  if (flux) return flux
  if (given === undefined) return findService(env, fluxName)
  const owners = catalog
    .all()
    .filter(isReadable(env))
    .map(({ package: owner }) => owner)
  const near = nearestName(given, new Set(owners))
  const whyNot = near === null ? nearService(env, fluxName, given) : `; did you mean the package '${near}'?`
  const fault = faultOfService(env, { package: given, fluxName })
  throw notFound(`package '${given}' has no service '${fluxName}'${fault ?? whyNot}`)
}

/** The loaded service of that name, in whatever package. @throws FluxError when there is none, or several */
function findService(env: Services, fluxName: string) {
  const [flux, ...others] = env.catalog.findAnywhere(fluxName)
  if (!flux) {
    const faults = env.catalog.packages().map((owner) => faultOfService(env, { package: owner, fluxName }))
    const whyNot = faults.find((fault) => fault !== null) ?? nearService(env, fluxName)
    throw notFound(`there is no service '${fluxName}'${whyNot}`)
  }
  if (others.length > 0)
    throw conflict(
      `several packages have a service '${fluxName}': ${[flux, ...others].map((one) => `'${one.package}'`).join(', ')}`,
    )
  return flux
}

/**
 * Whether the caller may learn of a fault: its service is not secured, nor was it before, or the caller may read those.
 */
export const isFaultShown = ({ catalog, caller }: Services, { service }: LoadFault): boolean =>
  denial(caller, 'read') === null ||
  service === null ||
  (!service.secured && catalog.find(service.package, service.fluxName)?.secured !== true)

/** The first fault that the last load found in the file of a service; null: none that the caller may see. */
export function faultOfService(
  env: Services,
  { package: owner, fluxName }: Pick<CompiledFlux, 'package' | 'fluxName'>,
): string | null {
  const fault = env.catalog.lastLoad.faults.find(
    ({ service, severity }) => severity === 'fault' && service?.package === owner && service.fluxName === fluxName,
  )
  if (!fault || !isFaultShown(env, fault)) return null
  const { file, pointer, line, column, reason } = fault
  const place = line === undefined ? `${file}#${pointer}` : `${file}:${line}:${column ?? 1} #${pointer}`
  return `: its file has a fault: ${place}: ${reason}`
}

function nearService(env: Services, name: string, owner?: string) {
  const services = env.catalog.all().filter(isReadable(env))
  const known = services.filter((flux) => owner === undefined || flux.package === owner)
  return suggestion(
    name,
    known.map(({ fluxName }) => fluxName),
  )
}

/** The id of the context that is named. @throws FluxError when there is none, or the caller hasn't that role */
export const contextIdOf = (env: CallEnv, address: Address, role: Role): ContextId | Promise<ContextId> =>
  address.contextId ?? findByKey(env, address, role)

async function findByKey(env: CallEnv, address: Address, role: Role) {
  const { named } = keyNamed(env, address, role)
  const id = (await holderOfKey(env, named)) ?? (await holderOfKey(env, named, keptKey))
  if (id === null) throw notFound(`no context of '${named.fluxName}' has the key '${named.key}'`)
  return id
}

/** The context that uses the key; null: it is free. `keptKey`: or that had it last. */
export async function holderOfKey({ store }: CallEnv, named: KeyAddress, indexKeyOf = usingKey) {
  const partition = partitionOfKey(named, store.partitions)
  const { ids } = await store.selectIds({ any: [[indexKeyOf(named)]], partition, order: 'desc', limit: 1 })
  return ids[0] ?? null
}

/** The key that is named, and its service, if that is loaded. A service that is not loaded may still have contexts. */
export function keyNamed(env: CallEnv, { key, fluxName: name, package: given }: Address, role: Role) {
  if (key === undefined || name === undefined) throw malformed('contextId must be given, or else key and fluxName')
  const { package: owner, fluxName } = serviceNameOf({ package: given, fluxName: name })
  const flux = owner === undefined ? serviceNamed(env, { fluxName }) : env.catalog.find(owner, fluxName)
  if (flux) requireRole(env, flux, role)
  return { flux, named: { package: flux?.package ?? owner ?? '', fluxName, key } }
}

/**
 * What is named, as far as keys are concerned. @throws FluxError when the service isn't known, or the caller hasn't
 * that role
 */
export const addresseeOf = (env: CallEnv, address: Address, role: Role): Addressee & object =>
  address.contextId === undefined ? keyNamed(env, address, role).named : { contextId: address.contextId }

/**
 * Sends a message to the context that is named. One that ended before the message came, and whose key another context
 * has by now, was not the one that was meant. @throws FluxError when there is no such context
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
    const isOther = outcome.failure.kind === 'versionMismatch'
    const isOver = !isOther && address.key !== undefined && isFinished(outcome.record.status) && followed < MAX_FOLLOWED
    const next = isOver ? await contextIdOf(env, address, 'invoke') : id
    if (next === id) return outcome
    id = next
  }
}
