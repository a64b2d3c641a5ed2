// cli: `actorflux serve`: serves the services until the process is stopped; and what `dev` does in the same way.
import { readTokens } from '../access/tokens.ts'
import type { FolderWatcher } from '../definitions/watcher.ts'
import type { LoadedServices, Server } from '../main.ts'
import { messageOf } from '../model/error-message.ts'
import { asksForToken, startCommand } from '../model/start-command.ts'
import { createLog } from '../observe/log.ts'
import type { Log } from '../ports/log.ts'
import { readSettings, SETTINGS, unknownSettings, type Settings } from '../settings.ts'
import type { CliIo } from './cli-io.ts'
import { command, flagOption, textOption, UsageError, type Given } from './command.ts'
import { aligned, plain } from './remote/text.ts'
import { counted, reportLines, reportSummary } from './report.ts'
import { untilStopped } from './stop.ts'

/** Milliseconds that requests and steps under way get when the server stops. The process must end within 10 seconds. */
const GRACE_MS = 9_000

/** What the commands that serve take. */
export const SERVE_OPTIONS = {
  host: textOption('address', 'the address to listen on; else ACTORFLUX_HOST'),
  port: textOption('port', 'the port to listen on; else ACTORFLUX_PORT'),
}

const PAUSED = {
  paused: flagOption('only serve what reads, take no steps and wake no context, until actorflux server resume'),
}

/** The settings, for help. */
export const SETTINGS_HELP = `Settings (environment variables, with their defaults):
${aligned(SETTINGS.map(({ variable, default: standard, meaning }) => [`  ${variable}`, standard ?? '–', meaning])).join('\n')}

Secrets: ACTORFLUX_SECRET_<NAME> has what services call $secrets.<NAME>, or
ACTORFLUX_SECRET_<NAME>_FILE names the file that has it.`

export const serve = command({
  summary: 'check the services, then serve them until SIGTERM or SIGINT',
  options: { ...SERVE_OPTIONS, ...PAUSED },
  notes: SETTINGS_HELP,
  run: ({ values }, io) => runServer(values, io),
})

type ServeOptions = Given<typeof SERVE_OPTIONS & typeof PAUSED>['values']

/** Options have precedence over the environment. @throws UsageError for a bad option; as `readSettings` */
export function settingsOf({ host, port }: ServeOptions, { env }: CliIo): Settings {
  try {
    readSettings({ ACTORFLUX_PORT: port })
  } catch (error) {
    throw new UsageError(messageOf(error).replace('ACTORFLUX_PORT', '--port'))
  }
  const { ACTORFLUX_HOST, ACTORFLUX_PORT } = env
  return readSettings({ ...env, ACTORFLUX_HOST: host ?? ACTORFLUX_HOST, ACTORFLUX_PORT: port ?? ACTORFLUX_PORT })
}

/**
 * Runs a server until it is stopped; resolves with the exit code.
 * @param started called once the server serves; resolves with a watcher that is closed before the server stops
 */
export async function runServer(
  options: ServeOptions,
  io: CliIo,
  started?: (server: Server, log: Log) => Promise<FolderWatcher>,
): Promise<number> {
  const { env, out, err } = io
  // A misspelt one may be one that was to restrict access.
  for (const variable of unknownSettings(env))
    err(`actorflux: warning: there is no setting ${variable}: it is ignored; serve --help lists them all`)
  const settings = settingsOf(options, io)
  const log = createLog({ level: settings.logLevel, format: settings.logFormat })
  const { LoadError, startServer } = await import('../main.ts')
  let server: Server
  try {
    server = await startServer(settings, { log, env, paused: options.paused })
  } catch (error) {
    log.debug('could not start', { error })
    if (!(error instanceof LoadError)) throw error
    reportLines(error.report).forEach(err)
    throw new Error(`${error.message}: ${reportSummary(error.report)}`, { cause: error })
  }
  const watcher = await started?.(server, log)
  const stopped = untilStopped(async () => {
    await watcher?.close()
    await server.close({ grace: GRACE_MS })
  }, log)
  const { services, report } = server.loaded
  reportLines(report).forEach(out)
  await warnOfMissingToken(settings, services, io)
  startupBanner(server, services, settings.requireAuth).forEach(out)
  if (options.paused) out('paused: nothing changes until actorflux server resume')
  return stopped
}

type Service = Pick<LoadedServices['services'][number], 'package' | 'fluxName' | 'triggers' | 'webhooks' | 'source'>

/** Warns when calls need a token and the file has no valid one, because then no caller can make them. */
export async function warnOfMissingToken(
  { tokens: file, requireAuth }: Settings,
  services: readonly Service[],
  { err }: CliIo,
) {
  const secured = services.filter(asksForToken).length
  if (!requireAuth && secured === 0) return
  const tokens = await readTokens(file).catch(() => null)
  if (tokens === null || tokens.some(({ expires }) => expires === null || expires > Date.now())) return
  const calls = requireAuth ? 'every call' : `each call of ${counted(secured, 'secured service')}`
  err(
    `actorflux: warning: ${calls} needs a token, and ${file} has no valid one; create one with: actorflux token create --name <name>`,
  )
}

/** Names that are printed; further ones are only counted. */
const MAX_SHOWN = 12

/** What is printed when the server is ready: what it loaded, where it listens, and a first request to try. */
export function startupBanner(
  { url, storage }: Pick<Server, 'url' | 'storage'>,
  services: readonly Service[],
  requireAuth: boolean,
): string[] {
  const packages = new Map<string, number>()
  for (const service of services) packages.set(service.package, (packages.get(service.package) ?? 0) + 1)
  const triggers = new Set(services.flatMap((service) => service.triggers.map(({ event }) => event)))
  const webhooks = services.flatMap((service) =>
    service.webhooks.map(({ httpMethods, urlPath }) => `${httpMethods.join('/')} /api${urlPath}`),
  )
  const reachable = url.replace(/\/\/(0\.0\.0\.0|\[::\]):/, '//127.0.0.1:')
  const example = startCommand(services, reachable, requireAuth)
  return [
    `packages   ${shown(Array.from(packages, ([name, size]) => `${name} (${counted(size, 'service')})`))}`,
    `triggers   ${shown([...triggers])}`,
    `webhooks   ${shown(webhooks)}`,
    `data       ${storage}`,
    `pid        ${process.pid}`,
    `listening  ${url}`,
    `inspector  ${reachable}/inspector shows what runs here, ${reachable}/docs the API`,
    ...(example === undefined ? [] : ['', 'Try:', `  ${example}`]),
  ].map(plain)
}

function shown(names: readonly string[]) {
  const more = names.length > MAX_SHOWN ? ` and ${names.length - MAX_SHOWN} more` : ''
  return names.length === 0 ? 'none' : names.slice(0, MAX_SHOWN).join(', ') + more
}
