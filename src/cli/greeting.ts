// cli: what a server prints when it is ready: what it loaded, where it listens, and a first request to try.
import { startCommand } from '../model/start-command.ts'
import type { LoadedServices } from '../main.ts'
import { plain } from './remote/text.ts'
import { counted } from './report.ts'

type Service = Pick<LoadedServices['services'][number], 'package' | 'fluxName' | 'triggers' | 'webhooks' | 'source'>

/** Names that are printed; further ones are only counted. */
const MAX_SHOWN = 12

export function greeting({
  url,
  storage,
  services,
  requireAuth,
  pid,
}: {
  readonly url: string
  readonly storage: string
  readonly services: readonly Service[]
  readonly requireAuth: boolean
  readonly pid: number
}): string[] {
  const packages = new Map<string, number>()
  for (const service of services) packages.set(service.package, (packages.get(service.package) ?? 0) + 1)
  const triggers = [...new Set(services.flatMap(({ triggers }) => triggers.map(({ event }) => event)))]
  const webhooks = services.flatMap((service) =>
    service.webhooks.map(({ httpMethods, urlPath }) => `${httpMethods.join('/')} /api${urlPath}`),
  )
  const reachable = url.replace(/\/\/(0\.0\.0\.0|\[::\]):/, '//127.0.0.1:')
  const lines = [
    `packages   ${shown(Array.from(packages, ([name, size]) => `${name} (${counted(size, 'service')})`))}`,
    `triggers   ${shown(triggers)}`,
    `webhooks   ${shown(webhooks)}`,
    `data       ${storage}`,
    `pid        ${pid}`,
    `listening  ${url}`,
    `inspector  ${reachable}/inspector shows what runs here, ${reachable}/docs the API`,
  ]
  const command = startCommand(services, reachable, requireAuth)
  return [...lines, ...(command === undefined ? [] : ['', 'Try:', `  ${command}`])].map(plain)
}

function shown(names: readonly string[]) {
  if (names.length === 0) return 'none'
  return (
    names.slice(0, MAX_SHOWN).join(', ') + (names.length > MAX_SHOWN ? ` and ${names.length - MAX_SHOWN} more` : '')
  )
}
