// cli: `actorflux serve`: serves the services until the process is stopped; and what `dev` does in the same way.
import { readTokens } from '../access/tokens.ts'
import type { FolderWatcher } from '../definitions/watcher.ts'
import type { LoadedServices, Server } from '../main.ts'
import { messageOf } from '../model/error-message.ts'
import { asksForToken } from '../model/start-command.ts'
import { createLog } from '../observe/log.ts'
import type { Log } from '../ports/log.ts'
import { readSettings, SETTINGS, unknownSettings, type Settings } from '../settings.ts'
import { command, flagOption, textOption, UsageError, type Given, type World } from './command.ts'
import { greeting } from './greeting.ts'
import { aligned } from './remote/text.ts'
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
export const settingsHelp = (): string =>
  [
    'Settings (environment variables, with their defaults):',
    ...aligned(SETTINGS.map(({ variable, default: standard, meaning }) => [`  ${variable}`, standard ?? '–', meaning])),
    '',
    `Secrets: ACTORFLUX_SECRET_<NAME> has what services call $secrets.<NAME>, or
ACTORFLUX_SECRET_<NAME>_FILE names the file that has it.`,
  ].join('\n')

export const serve = command({
  summary: 'check the services, then serve them until SIGTERM or SIGINT',
  options: { ...SERVE_OPTIONS, ...PAUSED },
  notes: settingsHelp(),
  run: ({ values }, world) => runServer(values, world),
})

type ServeOptions = Given<typeof SERVE_OPTIONS & typeof PAUSED>['values']

/** Options have precedence over the environment. @throws UsageError for a bad option; as `readSettings` */
export function settingsOf({ host, port }: ServeOptions, { env }: World): Settings {
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
  world: World,
  started?: (server: Server, log: Log) => Promise<FolderWatcher>,
): Promise<number> {
  const { env, out, err } = world
  // A misspelt one may be one that was to restrict access.
  for (const variable of unknownSettings(env))
    err(`actorflux: warning: there is no setting ${variable}: it is ignored; serve --help lists them all`)
  const settings = settingsOf(options, world)
  const log = createLog({ level: settings.logLevel, format: settings.logFormat })
  const { LoadError, startServer } = await import('../main.ts')
  let server: Server
  try {
    server = await startServer(settings, { log, env, paused: options.paused })
  } catch (error) {
    log.debug('could not start', { error })
    if (!(error instanceof LoadError)) throw error
    for (const line of reportLines(error.report)) err(line)
    throw new Error(`${error.message}: ${reportSummary(error.report)}`, { cause: error })
  }
  const watcher = await started?.(server, log)
  const stopped = untilStopped({
    log,
    async close() {
      await watcher?.close()
      await server.close({ grace: GRACE_MS })
    },
  })
  const { services, report } = server.loaded
  for (const line of reportLines(report)) out(line)
  await warnOfNobody(settings, services, world)
  for (const line of greeting({ ...server, services, requireAuth: settings.requireAuth, pid: process.pid })) out(line)
  if (options.paused) out('paused: nothing changes until actorflux server resume')
  return stopped
}

/** Warns when calls need a token and the file has no valid one, because then no caller can make them. */
export async function warnOfNobody(
  { tokens: file, requireAuth }: Settings,
  services: readonly Pick<LoadedServices['services'][number], 'package' | 'fluxName' | 'source'>[],
  { err }: World,
) {
  const secured = services.filter(asksForToken)
  const [first] = secured
  if (!requireAuth && first === undefined) return
  const tokens = await readTokens(file).catch(() => null)
  if (tokens === null || tokens.some(({ expires }) => expires === null || expires > Date.now())) return
  const what =
    requireAuth || first === undefined
      ? 'every call'
      : `each call of ${counted(secured.length, 'secured service')} such as ${first.package}/${first.fluxName}`
  err(
    `actorflux: warning: ${what} needs a token, and ${file} has no valid one; create one with: actorflux token create --name <name>`,
  )
}
