// observe: the log, on stderr, so that stdout is free for what a command says: JSON lines, or on a terminal lines for
// people.
import { createRequire } from 'node:module'
import { pino, type DestinationStream } from 'pino'
import type { Log, LogLevel } from '../ports/log.ts'
import { redact } from './redact.ts'

export interface LogOptions {
  readonly level: LogLevel
  /** `auto`, also if left out: readable lines on a terminal, JSON otherwise. */
  readonly format?: LogFormat
  /** Where lines go; stderr if left out. */
  readonly destination?: DestinationStream | undefined
}

export type LogFormat = 'pretty' | 'json' | 'auto'

const STDERR = 2

export function createLog({ level, format = 'auto', destination }: LogOptions): Log {
  const isReadable = format === 'pretty' || (destination === undefined && formatHere(format) === 'pretty')
  // Written at once, not in the background: the last lines before an exit matter most.
  const lines = destination ?? pino.destination({ fd: STDERR, sync: true })
  const logger = pino({ level, base: { pid: process.pid } }, isReadable ? readable(lines) : lines)
  const at = (own: LogLevel) => (message: string, fields?: object) => {
    if (!logger.isLevelEnabled(own)) return
    logger[own](redact(fields ?? {}), String(redact(message)))
  }
  return { trace: at('trace'), debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

/** What `auto` means in this process: a thread can't tell. */
export const formatHere = (format: LogFormat): LogFormat =>
  format !== 'auto' ? format : process.stderr.isTTY === true ? 'pretty' : 'json'

/** In colour where whoever reads can show it (https://no-color.org). */
function readable(lines: DestinationStream): DestinationStream {
  const colorize = process.stderr.isTTY === true && !process.env['NO_COLOR']
  // Loaded here: only people read such lines, and a server that writes JSON starts without it.
  const { prettyFactory }: typeof import('pino-pretty') = createRequire(import.meta.url)('pino-pretty')
  const format = prettyFactory({
    colorize,
    translateTime: 'SYS:HH:MM:ss.l',
    ignore: 'pid,hostname',
    customPrettifiers: { stack: (stack) => String(stack).replaceAll('\n', '\n    ') },
  })
  return {
    write: (line) => {
      lines.write(format(line))
    },
  }
}
