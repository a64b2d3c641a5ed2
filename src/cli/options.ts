// cli: the options that commands share, and prints the settings for help.
import { readSettings, SETTINGS, type Settings } from '../settings.ts'
import { UsageError, type World } from './command.ts'

export interface ServeOptions {
  readonly host?: string | undefined
  readonly port?: string | undefined
  readonly paused?: boolean | undefined
}

export const HELP_OPTION = { help: { type: 'boolean', short: 'h' } } as const
/** What the commands that serve take. */
export const SERVE_OPTIONS = { ...HELP_OPTION, host: { type: 'string' }, port: { type: 'string' } } as const

/** Options have precedence over the environment. @throws UsageError for a bad option; as `readSettings` */
export function settingsOf({ host, port }: ServeOptions, { env }: World): Settings {
  checkPort(port)
  return readSettings({
    ...env,
    ...(host === undefined ? {} : { ACTORFLUX_HOST: host }),
    ...(port === undefined ? {} : { ACTORFLUX_PORT: port }),
  })
}

/** Checks the port by the rule of its setting; the error names the option. @throws UsageError */
function checkPort(port: string | undefined): void {
  try {
    readSettings({ ACTORFLUX_PORT: port })
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message.replace('ACTORFLUX_PORT', '--port') : String(error))
  }
}

const SECRETS_HELP = `Secrets: ACTORFLUX_SECRET_<NAME> has what services call $secrets.<NAME>, or
ACTORFLUX_SECRET_<NAME>_FILE names the file that has it.`

export function settingsHelp(): string {
  const cells = SETTINGS.map(
    ({ variable, default: standard, meaning }) => [variable, standard ?? '–', meaning] as const,
  )
  const widths = [0, 1].map((column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)))
  const lines = cells.map(
    ([variable, standard, meaning]) =>
      `  ${variable.padEnd(widths[0] ?? 0)}  ${standard.padEnd(widths[1] ?? 0)}  ${meaning}`,
  )
  return ['Settings (environment variables, with their defaults):', ...lines, '', SECRETS_HELP].join('\n')
}
