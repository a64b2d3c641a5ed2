// cli: reads the options that the commands share, and prints the settings as help does.
import { parseArgs } from 'node:util'
import { readSettings, SETTINGS, type Settings } from '../settings.ts'
import { UsageError, type World } from './command.ts'
import { messageOf } from '../model/error-message.ts'

export interface Options {
  readonly help: boolean
  readonly positionals: readonly string[]
  readonly values: { readonly host?: string | undefined; readonly port?: string | undefined }
}

/** @throws UsageError for what no command takes */
export function readOptions(args: string[], { positionals: allowPositionals = false } = {}): Options {
  try {
    const {
      values: { help = false, ...values },
      positionals,
    } = parseArgs({
      args,
      allowPositionals,
      options: { help: { type: 'boolean', short: 'h' }, host: { type: 'string' }, port: { type: 'string' } },
    })
    return { help, values, positionals }
  } catch (error) {
    throw new UsageError(messageOf(error))
  }
}

/** Options win over the environment. @throws UsageError for a bad option; SettingsError */
export function settingsOf({ values: { host, port } }: Options, { env }: World): Settings {
  checkPort(port)
  return readSettings({
    ...env,
    ...(host === undefined ? {} : { ACTORFLUX_HOST: host }),
    ...(port === undefined ? {} : { ACTORFLUX_PORT: port }),
  })
}

/** By the setting's rule, told by the option's name. */
function checkPort(port: string | undefined): void {
  try {
    readSettings({ ACTORFLUX_PORT: port })
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message.replace('ACTORFLUX_PORT', '--port') : String(error))
  }
}

export function settingsHelp(): string {
  const cells = SETTINGS.map(
    ({ variable, default: standard, meaning }) => [variable, standard ?? '–', meaning] as const,
  )
  const widths = [0, 1].map((column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)))
  const lines = cells.map(
    ([variable, standard, meaning]) =>
      `  ${variable.padEnd(widths[0] ?? 0)}  ${standard.padEnd(widths[1] ?? 0)}  ${meaning}`,
  )
  return ['Settings (environment variables, with their defaults):', ...lines].join('\n')
}
