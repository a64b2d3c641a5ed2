// cli: reads the options that the commands share, and prints the settings for help.
import { parseArgs } from 'node:util'
import { readSettings, SETTINGS, type Settings } from '../settings.ts'
import { UsageError, type World } from './command.ts'
import { messageOf } from '../model/error-message.ts'

export interface Options {
  readonly help: boolean
  readonly positionals: readonly string[]
  readonly values: {
    readonly host?: string | undefined
    readonly port?: string | undefined
    readonly paused?: boolean | undefined
  }
}

/** @throws UsageError for an option that no command accepts */
export function readOptions(
  args: string[],
  { positionals: allowPositionals = false, paused: mayBePaused = false } = {},
): Options {
  try {
    const {
      values: { help = false, ...values },
      positionals,
    } = parseArgs({
      args,
      allowPositionals,
      options: {
        help: { type: 'boolean', short: 'h' },
        host: { type: 'string' },
        port: { type: 'string' },
        paused: { type: 'boolean' },
      },
    })
    if (values.paused !== undefined && !mayBePaused) throw new Error('--paused is an option of serve')
    return { help, values, positionals }
  } catch (error) {
    throw new UsageError(messageOf(error))
  }
}

/** Options have precedence over the environment. @throws UsageError for a bad option; SettingsError */
export function settingsOf({ values: { host, port } }: Options, { env }: World): Settings {
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
