// engine/calls: finds the service that a call names, or says why it is not loaded.
import type { CompiledFlux } from '../../definitions/flux.ts'
import { denial } from '../../model/caller.ts'
import { conflict, notFound } from '../../model/failure.ts'
import { nearestName, suggestion } from '../../model/nearest.ts'
import { serviceNameOf, type NamedService } from '../../model/service-name.ts'
import type { CallEnv } from './call-env.ts'

type Env = Pick<CallEnv, 'catalog' | 'home' | 'caller'>

/** The service of the package that is named, else of that of the caller, else the only one of that name. */
export function serviceNamed(env: Env, named: NamedService): CompiledFlux {
  const { catalog, home } = env
  const { package: given, fluxName } = serviceNameOf(named)
  if (given === undefined)
    return (home === null ? undefined : catalog.find(home, fluxName)) ?? findService(env, fluxName)
  const flux = catalog.find(given, fluxName)
  if (flux) return flux
  const whyNot =
    faultOfService(env, { package: given, fluxName }) ?? nearPackage(env, given) ?? nearService(env, fluxName, given)
  throw notFound(`package '${given}' has no service '${fluxName}'${whyNot}`)
}

/** The loaded service of that name, in whatever package. @throws FluxError when there is none, or several */
function findService(env: Env, fluxName: string): CompiledFlux {
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

/** The first fault that the last load found in the file of a service; null: none that the caller may see. */
export function faultOfService(
  { catalog, caller }: Pick<CallEnv, 'catalog' | 'caller'>,
  service: Pick<CompiledFlux, 'package' | 'fluxName'>,
): string | null {
  const fault = catalog.lastLoad().faultOf(service)
  if (!fault) return null
  const isSecured = fault.service?.secured === true || catalog.find(service.package, service.fluxName)?.secured === true
  if (isSecured && denial(caller, 'read') !== null) return null
  const { file, pointer, line, column, reason } = fault
  const place = line === undefined ? `${file}#${pointer}` : `${file}:${line}:${column ?? 1} #${pointer}`
  return `: its file has a fault: ${place}: ${reason}`
}

/** The loaded services that the caller may see. */
const visible = ({ catalog, caller }: Env): readonly CompiledFlux[] =>
  denial(caller, 'read') === null ? catalog.all() : catalog.all().filter(({ secured }) => !secured)

function nearPackage(env: Env, name: string): string | null {
  const near = nearestName(name, new Set(visible(env).map(({ package: owner }) => owner)))
  return near === null ? null : `; did you mean the package '${near}'?`
}

const nearService = (env: Env, name: string, owner?: string): string =>
  suggestion(
    name,
    visible(env)
      .filter((flux) => owner === undefined || flux.package === owner)
      .map(({ fluxName }) => fluxName),
  )
